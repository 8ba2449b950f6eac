//! Runs the example of a bank.

#[path = "../examples/bank.rs"]
mod bank;

#[test]
fn the_bank_adds_up() {
    bank::main();
}

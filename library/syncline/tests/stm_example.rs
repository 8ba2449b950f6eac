//! The bank runs.

#[path = "../examples/bank.rs"]
mod bank;

#[test]
fn the_bank_adds_up() {
    bank::main();
}

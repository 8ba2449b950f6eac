//! Tests of the tables that grow: with a model, with many threads, with functions, keys and values
//! that panic, with writers that come in the middle of a read, and with recorded histories.

mod bad_input;
mod counted;
mod history;
mod linearizable;
mod model;
mod stress;
mod walk;

/// The next number of a sequence that looks random.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

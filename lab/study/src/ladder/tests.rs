//! The rungs on simulated machines must take the cycles that are computed by hand from the
//! machine's table.

use syncline_sim::Machine;
use syncline_sim::machine::Description;

use super::*;

const SMALL: Size = Size { rounds: 40, seconds: 20e-6, pause: 100e-9, seed: 1 };

/// The Opteron without costs of instructions and without a store buffer, so that only its tables
/// count. Two threads run on one die.
fn tables(change: impl FnOnce(&mut Description)) -> Target {
    let mut description = Machine::named("opteron").unwrap().description;
    (description.instructions, description.store_buffer) = (None, None);
    change(&mut description);
    Target::Simulated(Box::new(Machine::new(description).unwrap()))
}

/// Cycles of a rung with a large number of turns, so that the first one hardly counts.
fn cycles(target: &Target, name: &str) -> f64 {
    let size = Size { rounds: 1_000, ..SMALL };
    run(target, name, &size).expect("it runs") * target.hertz() / 1e9
}

#[track_caller]
fn near(found: f64, by_hand: f64) {
    assert!((found - by_hand).abs() < 0.01 * by_hand, "{found}, and by hand {by_hand}");
}

/// A turn ends with a store to a line that its owner has and the other thread polls (244,
/// `store.owned`). It begins with a load of a changed line (81, `load.modified`).
const TURN: f64 = 244.0 + 81.0;

#[test]
fn rungs_cost_what_the_table_predicts() {
    let opteron = tables(|_| ());
    near(cycles(&opteron, "alone: swap, then store"), 20.0 + 3.0);
    near(cycles(&opteron, "ping-pong"), TURN);
    // Two threads poll the line, and the thread whose turn it is sees the change second (83,
    // `load.owned`).
    near(cycles(&opteron, "three in a ring"), TURN + 83.0);
    // A load of a line that the other thread has changed, and a store to it: the same accesses as
    // those of the turn itself.
    near(cycles(&opteron, "two lines in turn"), TURN + 81.0 + 244.0);
    // An atomic operation on a line that the other thread has changed, and one on a line in the
    // core's own cache.
    near(cycles(&opteron, "own line after a miss"), TURN + 110.0 + 20.0);
    near(cycles(&opteron, "eight lines, exchanged"), TURN + 8.0 * 110.0);
    near(cycles(&opteron, "eight lines, stored to"), TURN + 8.0 * 83.0);
    // In one turn, a thread stores to lines that the other has read; in the next, the other thread
    // loads them.
    near(cycles(&opteron, "one line, loaded"), TURN + (81.0 + 244.0) / 2.0);
    for name in ["eight lines, loaded dependently", "eight lines, loaded"] {
        near(cycles(&opteron, name), TURN + 8.0 * (81.0 + 244.0) / 2.0);
    }
    // The line moves to the other thread for each increment.
    near(cycles(&opteron, "increments"), 110.0);
    near(run(&opteron, "increments in a row", &SMALL).unwrap(), 1.0);
}

#[test]
fn overlapping_accesses_take_as_long_as_one() {
    let many = tables(|d| d.under_way = Some(16));
    near(cycles(&many, "ping-pong"), TURN);
    // Each access begins a cycle after the one before. The store that ends the turn can't begin
    // before the other thread has polled the turn's line, which it does every 43 cycles.
    let all = TURN + 110.0 + 7.0;
    let exchanged = cycles(&many, "eight lines, exchanged");
    assert!((all - 43.0..=all).contains(&exchanged), "{exchanged}");
    // In every second turn, loads whose addresses come from earlier loads wait for each other.
    let dependent = cycles(&many, "eight lines, loaded dependently");
    let more = dependent - cycles(&many, "eight lines, loaded");
    assert!((more - 7.0 * 81.0 / 2.0).abs() < 43.0, "{more}");
}

#[test]
fn every_rung_runs_repeatably_on_every_machine() {
    for name in ["opteron", "xeon", "niagara", "tilera", "clusters"] {
        let target = Target::named(name).unwrap();
        for (rung, _) in names(&target) {
            let found = run(&target, rung, &SMALL).unwrap();
            assert!(found.is_finite() && found > 0.0, "{name}, {rung}: {found}");
            assert_eq!(run(&target, rung, &SMALL), Some(found), "{name}, {rung}");
        }
    }
}

#[test]
fn unknown_rungs_and_rungs_for_more_processors_do_not_run() {
    assert_eq!(run(&tables(|_| ()), "four in a ring", &SMALL), None);
    let two = tables(|d| {
        (d.nodes, d.caches_per_node, d.distances) = (1, 2, vec![vec![0.0]]);
    });
    assert_eq!(run(&two, "three in a ring", &SMALL), None);
    assert!(run(&two, "ping-pong", &SMALL).is_some());
}

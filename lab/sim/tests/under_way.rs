//! Accesses that a core has under way at the same time. The tests check how long these accesses
//! take, what they wait for, and that they take effect in program order.

use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use syncline::lock::{Mcs, RawLock};
use syncline::memory::{Link, Memory, Padded, Word};
use syncline::wait::Spin;
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::machine::State;
use syncline_sim::{Machine, Simulated};

type Line = Padded<<Simulated as Memory>::Word>;

/// Cycles of a load (`LOAD`) and of an atomic operation (`SWAP`) on a line that another core of the
/// die has changed, and of an atomic operation on a line that the core has (`LOCAL`).
const LOAD: u64 = 81;
const SWAP: u64 = 110;
const LOCAL: u64 = 20;

fn opteron(under_way: usize) -> Machine {
    let mut description = Machine::named("opteron").unwrap().description;
    description.under_way = Some(under_way);
    Machine::new(description).unwrap()
}

/// Cycles that a thread needs for `act`, on lines that another core of the die has changed.
fn cycles(machine: &Machine, act: impl Fn(&[Line])) -> u64 {
    let lines: Vec<Line> = (0..8).map(|_| Line::default()).collect();
    let mut engine = Engine::new(machine, 1).accesses_only();
    for line in &lines {
        engine.home(line.address().0..line.address().0 + 1, 0);
        engine.prepare(line.address().0, State::Modified, &[1]);
    }
    let took = Cell::new(0);
    let body: Body<'_> = Box::new(|| {
        let began = engine::now();
        act(&lines);
        took.set(engine::now() - began);
    });
    engine.run(vec![(0, body)]);
    took.get()
}

fn load_all(lines: &[Line]) {
    for line in lines {
        line.load(Relaxed);
    }
}

#[test]
fn loads_under_way_are_limited() {
    assert_eq!(cycles(&opteron(1), load_all), 8 * LOAD);
    // One load begins in each cycle until four are under way. The fifth begins when the first is
    // over.
    assert_eq!(cycles(&opteron(4), load_all), 2 * LOAD + 3);
    assert_eq!(cycles(&opteron(8), load_all), LOAD + 7);
    let swaps = |lines: &[Line]| {
        for line in lines {
            line.swap(1, Relaxed);
        }
    };
    // All swaps are requested within eight cycles, and each is done after the one before.
    assert_eq!(cycles(&opteron(8), swaps), SWAP + 7);
    let stores = |lines: &[Line]| {
        lines.iter().for_each(|line| line.store(1, Release));
        engine::fence();
    };
    let (one, all) = (cycles(&opteron(1), stores), cycles(&opteron(8), stores));
    assert!(all < one / 4, "{all} {one}");
}

#[test]
fn an_own_line_does_not_hide_an_atomic_operation() {
    let twice = |lines: &[Line]| {
        lines[0].swap(1, Relaxed);
        lines[0].swap(2, Relaxed);
    };
    assert_eq!(cycles(&opteron(8), twice), SWAP + LOCAL);
}

#[test]
fn fences_pauses_and_dependences_wait_for_loads() {
    for between in [engine::fence, engine::depends, || engine::delay(0), || Simulated::pause(1)] {
        let two = |lines: &[Line]| {
            lines[0].load(Relaxed);
            between();
            lines[1].load(Relaxed);
        };
        let took = cycles(&opteron(8), two);
        assert!(took >= 2 * LOAD, "{took}");
    }
    // The first load may return the value for which the thread waits, so the core has not begun the
    // second one.
    let waited = |lines: &[Line]| {
        Simulated::pause(1);
        lines[0].load(Relaxed);
        lines[1].load(Relaxed);
    };
    let took = cycles(&opteron(8), waited);
    assert!(took >= 2 * LOAD, "{took}");
}

#[test]
fn prefetch_for_write_does_not_wait_for_the_line() {
    let fetched = |lines: &[Line]| Simulated::prefetch_for_write(&lines[0]);
    assert_eq!(cycles(&opteron(8), fetched), 0);
    let used = |lines: &[Line]| {
        Simulated::prefetch_for_write(&lines[0]);
        engine::delay(50);
        lines[0].load(Relaxed);
    };
    let store = 83;
    assert_eq!(cycles(&opteron(8), used), store + 3);
}

#[test]
fn a_message_is_seen_after_what_was_stored_before_it() {
    let machine = opteron(16);
    for seed in 1..50 {
        let (data, flag) = (Line::default(), Line::default());
        let writer: Body<'_> = Box::new(|| {
            data.store(1, Relaxed);
            flag.store(1, Release);
        });
        let reader: Body<'_> = Box::new(|| {
            while flag.load(Acquire) == 0 {
                Simulated::pause(1);
            }
            assert_eq!(data.load(Relaxed), 1);
        });
        Engine::new(&machine, seed).run(vec![(0, writer), (7, reader)]);
    }
}

#[test]
fn sequentially_consistent_stores_are_seen_by_one_thread_at_least() {
    let machine = opteron(16);
    for seed in 1..50 {
        let (lines, seen) = ([Line::default(), Line::default()], [Cell::new(0), Cell::new(0)]);
        let body = |mine: usize| -> (usize, Body<'_>) {
            let (lines, seen) = (&lines, &seen[mine]);
            let body = Box::new(move || {
                lines[mine].store(1, SeqCst);
                seen.set(lines[1 - mine].load(SeqCst));
            });
            (6 * mine, body)
        };
        Engine::new(&machine, seed).run(vec![body(0), body(1)]);
        assert!(seen[0].get() + seen[1].get() > 0, "seed {seed}");
    }
}

#[test]
fn a_lock_excludes_and_runs_are_repeatable() {
    let run = || {
        let (lock, data) = (Padded::<Mcs<Spin, Simulated>>::default(), Line::default());
        let machine = opteron(16);
        let threads = (0..12).map(|place| {
            let (lock, data) = (&lock, &data);
            let body: Body<'_> = Box::new(move || {
                let node = Padded::default();
                for _ in 0..50 {
                    // SAFETY: the node stays in place, and the thread that releases has acquired.
                    unsafe { lock.acquire(&node) };
                    data.store(data.load(Relaxed) + 1, Relaxed);
                    // SAFETY: as above.
                    unsafe { lock.release(&node) };
                }
            });
            (place, body)
        });
        let outcome = Engine::new(&machine, 3).run(threads.collect());
        assert_eq!(data.load(Relaxed), 12 * 50);
        outcome.cycles
    };
    assert_eq!(run(), run());
}

/// A line with a link to the next line.
#[derive(Default)]
struct Knot {
    next: <Simulated as Memory>::Link<Knot>,
}

#[test]
fn a_linked_node_is_loaded_after_its_link() {
    let walk = |under_way| {
        let knots: Vec<Padded<Knot>> = (0..4).map(|_| Padded::default()).collect();
        for (knot, next) in knots.iter().zip(&knots[1..]) {
            knot.next.store(Some(Simulated::refer(&**next)), Relaxed);
        }
        let machine = opteron(under_way);
        let body: Body<'_> = Box::new(|| {
            let mut at = Some(Simulated::refer(&*knots[0]));
            while let Some(knot) = at {
                // SAFETY: the knots outlive the run.
                at = unsafe { Simulated::follow(knot) }.next.load(Relaxed);
            }
        });
        Engine::new(&machine, 1).accesses_only().run(vec![(0, body)]).cycles
    };
    assert_eq!(walk(16), walk(1));
}

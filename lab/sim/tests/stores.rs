//! Stores that wait in a buffer: the orders in which other threads may see them, and the time that
//! a thread saves by continuing before its store has taken effect. The rules are those of total
//! store order (Sewell et al., x86-TSO, CACM 2010): a load may go ahead of a store to another word,
//! and nothing else is reordered.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

use syncline::memory::{Memory, Padded, Word};
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::{Machine, Simulated};

type Line = Padded<<Simulated as Memory>::Word>;

/// A hardware thread far from hardware thread 0.
fn far(machine: &Machine) -> usize {
    machine.threads() / 2
}

fn swap(word: &Line) {
    word.swap(0, Relaxed);
}

fn look_at(words: &[Line]) {
    for word in words {
        word.load(Relaxed);
    }
}

fn named(name: &str) -> Machine {
    Machine::named(name).unwrap()
}

fn without_buffer() -> Machine {
    let mut description = named("xeon").description;
    description.store_buffer = None;
    Machine::new(description).unwrap()
}

fn lines<const N: usize>() -> [Line; N] {
    std::array::from_fn(|_| Line::default())
}

/// Cycles of `act` on hardware thread 0, after another thread has written to the lines.
fn took<const N: usize>(machine: &Machine, lines: &[Line; N], act: impl Fn(&[Line; N])) -> u64 {
    let cycles = Cell::new(0);
    let other: Body<'_> = Box::new(|| lines.iter().for_each(|line| line.store(1, SeqCst)));
    let one: Body<'_> = Box::new(|| {
        engine::delay(100_000);
        let began = engine::now();
        act(lines);
        cycles.set(engine::now() - began);
    });
    Engine::new(machine, 1).accesses_only().run(vec![(0, one), (far(machine), other)]);
    cycles.get()
}

/// Each of two threads stores to its own word, and then loads the other's word. Returns whether, at
/// any of many offsets in time, neither thread saw the other's store. Each of these stores comes
/// after a store to another line, so that it has to wait in the buffer before it requests its line:
/// a request takes the line from the other cache at once.
fn neither_sees(machine: &Machine, order: Ordering, between: impl Fn(&Line)) -> bool {
    (0..600).step_by(20).any(|offset| {
        let words: [Line; 4] = lines();
        let own: [Line; 2] = lines();
        let seen = [Cell::new(2), Cell::new(2)];
        let body = |mine: usize| -> Body<'_> {
            let (words, own, seen, between) = (&words, &own[mine], &seen, &between);
            Box::new(move || {
                // All lines are in both caches, except those in `own`.
                look_at(words);
                swap(own);
                engine::delay(if mine == 0 { 5_000 } else { 4_700 + offset });
                words[2 + mine].store(1, Relaxed);
                words[mine].store(1, order);
                between(own);
                seen[mine].set(words[1 - mine].load(order_of_load(order)));
            })
        };
        Engine::new(machine, offset + 1).run(vec![(0, body(0)), (far(machine), body(1))]);
        seen[0].get() + seen[1].get() == 0
    })
}

fn order_of_load(order: Ordering) -> Ordering {
    if order == Release { Acquire } else { order }
}

#[test]
fn a_load_may_go_ahead_of_a_store() {
    for name in ["xeon", "opteron", "niagara"] {
        assert!(neither_sees(&named(name), Release, |_| ()), "{name}");
    }
}

#[test]
fn sequential_consistency_fences_and_atomics_keep_loads_behind_stores() {
    for name in ["xeon", "opteron", "niagara"] {
        let machine = named(name);
        assert!(!neither_sees(&machine, SeqCst, |_| ()), "{name}");
        assert!(!neither_sees(&machine, Relaxed, |_| engine::fence()), "{name}");
        assert!(!neither_sees(&machine, Relaxed, swap), "{name}");
    }
    assert!(!neither_sees(&without_buffer(), Relaxed, |_| ()), "without a buffer");
    assert!(!neither_sees(&named("tilera"), Relaxed, |_| ()), "without a buffer");
}

#[test]
fn stores_of_a_thread_are_seen_in_their_order() {
    // The first store needs a line from a distant cache; the others could take effect at once.
    for name in ["xeon", "opteron", "niagara"] {
        let words: [Line; 4] = lines();
        let seen = RefCell::new(Vec::new());
        let machine = named(name);
        let writer: Body<'_> = Box::new(|| {
            words[1..].iter().for_each(swap);
            for round in 1..=200 {
                words.iter().for_each(|word| word.store(round, Relaxed));
                engine::delay(u64::from(round % 7) * 50);
            }
        });
        let reader: Body<'_> = Box::new(|| {
            while words[3].load(Relaxed) < 200 {
                // The words are loaded in reverse order: a reader that sees the store to the last
                // word must see the earlier stores as well.
                let values: Vec<u32> = words.iter().rev().map(|word| word.load(Relaxed)).collect();
                seen.borrow_mut().push(values);
            }
        });
        Engine::new(&machine, 1).run(vec![(0, writer), (far(&machine), reader)]);
        let seen = seen.into_inner();
        assert!(seen.len() > 50, "{name}");
        let mixed = seen.iter().find(|values| !values.is_sorted());
        assert_eq!(mixed, None, "{name}: the last one stored first");
        assert!(seen.iter().any(|values| values[0] != values[3]), "{name}: nothing overlapped");
    }
}

#[test]
fn a_thread_sees_what_it_has_stored() {
    for name in ["xeon", "opteron", "niagara", "tilera"] {
        let words: [Line; 2] = lines();
        let machine = named(name);
        let one: Body<'_> = Box::new(|| {
            for round in 0..50 {
                words[0].store(round, Relaxed);
                words[1].store(round + 1, Relaxed);
                words[0].store(round + 2, Relaxed);
                assert_eq!(
                    (words[0].load(Relaxed), words[1].load(Relaxed)),
                    (round + 2, round + 1)
                );
                assert_eq!(words[0].exchange(round + 2, 7, Relaxed), Ok(round + 2));
            }
        });
        let other: Body<'_> = Box::new(|| {
            for _ in 0..200 {
                look_at(&words);
                engine::delay(70);
            }
        });
        Engine::new(&machine, 1).run(vec![(0, one), (far(&machine), other)]);
    }
}

#[test]
fn a_thread_goes_on_behind_a_store_until_it_needs_the_line() {
    let machine = named("xeon");
    let three: [Line; 3] = lines();
    let all = |end: fn(&[Line; 3])| {
        took(&machine, &three, move |lines| {
            lines[0].store(2, Relaxed);
            lines[1].store(2, Relaxed);
            end(lines);
        })
    };
    let store = took(&machine, &three, |lines| {
        lines[0].store(2, Relaxed);
        engine::fence();
    });
    assert!(store > 300, "table 2 has 320 and 431: {store}");
    let load = 5;
    assert_eq!(all(|_| ()), 0);
    assert_eq!(all(|_| engine::fence()), 2 * store, "one after the other");
    assert_eq!(all(|lines| look_at(&lines[1..2])), 2 * store + load, "then it is there");
    assert_eq!(all(|lines| look_at(&lines[..1])), store + load);
    let other = all(|lines| look_at(&lines[2..]));
    assert!((load + 1..store).contains(&other), "a load of another line goes ahead: {other}");
}

#[test]
fn stores_to_one_line_take_effect_together_where_lines_travel() {
    let machine = named("xeon");
    let lines: [Line; 1] = lines();
    let words = |count: usize| {
        took(&machine, &lines, move |lines| {
            (0..count).for_each(|n| lines[0].store(n as u32, Relaxed));
            engine::fence();
        })
    };
    assert_eq!(words(1), words(7));
}

#[test]
fn a_full_buffer_makes_the_thread_wait() {
    let mut description = named("xeon").description;
    description.store_buffer = Some(2);
    let machine = Machine::new(description).unwrap();
    let lines: [Line; 3] = lines();
    let one = took(&machine, &lines, |lines| {
        lines[0].store(2, Relaxed);
        engine::fence();
    });
    let stores = |count: usize| {
        took(&machine, &lines, move |lines| {
            lines[..count].iter().for_each(|line| line.store(2, Relaxed));
        })
    };
    assert_eq!((stores(2), stores(3)), (0, one));
}

#[test]
fn a_freed_word_drops_its_pending_stores() {
    // A thread stores to words of its own, whose lines distant caches have, and then frees the
    // words. Other threads reuse the memory, and must find only values there that they have stored
    // themselves.
    let machine = named("xeon");
    let body = |own: u32| -> Body<'_> {
        Box::new(move || {
            for round in 0..200 {
                let lines: Vec<Line> = (0..4).map(|_| Line::default()).collect();
                let in_turn = || (0..4).map(|n| &lines[(n + round as usize + own as usize) % 4]);
                for line in in_turn() {
                    assert_eq!(line.load(Relaxed), 0, "what another one stored");
                    line.store(own + round, Relaxed);
                }
                // These loads wait for the stores to the first two lines; those to the other lines
                // are still in the buffer.
                for line in in_turn().take(2) {
                    assert_eq!(line.load(Relaxed), own + round);
                }
                drop(lines);
                engine::delay(30);
            }
        })
    };
    let threads = (0..8).map(|n| (n * 10, body(1000 * (n as u32 + 1)))).collect();
    Engine::new(&machine, 1).run(threads);
}

#[test]
fn a_sleeper_is_not_woken_before_the_store_that_it_waits_for() {
    // The earlier stores take longer than it takes to wake a thread.
    let machine = named("opteron");
    let words: [Line; 31] = lines();
    let sleeper: Body<'_> = Box::new(|| {
        look_at(&words);
        while words[30].load(Acquire) == 0 {
            Simulated::park(&words[30], 0, 0, None);
        }
    });
    let waker: Body<'_> = Box::new(|| {
        look_at(&words);
        engine::delay(100_000);
        words.iter().for_each(|word| word.store(1, Release));
        // If the sleeper did not see the store, it would fall asleep again, for ever.
        Simulated::unpark(words[30].address(), None, 1);
    });
    Engine::new(&machine, 1).run(vec![(0, sleeper), (far(&machine), waker)]);
}

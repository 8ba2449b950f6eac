//! The library's hash tables that grow, on simulated machines.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasherDefault, DefaultHasher};

use syncline::table::{Flat, HashTable};
use syncline_sim::engine::{Body, Engine};
use syncline_sim::{Machine, Simulated};

type Table = HashTable<u64, [u64; 8], BuildHasherDefault<DefaultHasher>, Flat, Simulated>;

/// The number of keys of each thread (`OWN`), and the number of keys that all threads share
/// (`COMMON`).
const OWN: u64 = 60;
const COMMON: u64 = 8;

/// The results of a run: its cycles, the sum of the common counters, and for each thread the number
/// of another thread's keys that it found.
#[derive(Debug, PartialEq)]
struct Run {
    cycles: u64,
    counted: u64,
    found: Vec<u64>,
}

/// Threads fill a table that is small at first, increment counters under common keys, read the
/// values of each other's keys, and remove every second one of their own keys.
fn run(machine: &Machine, threads: u64, seed: u64) -> Run {
    let table = Table::default();
    let small = table.bytes();
    (0..COMMON).for_each(|key| _ = table.insert(key, [0; 8]));
    let found = RefCell::new(vec![0; threads as usize]);
    let bodies = (0..threads).map(|thread| {
        let (table, found) = (&table, &found);
        let place = (thread as usize * 7) % machine.threads();
        let body: Body<'_> = Box::new(move || {
            let own = |number| 1000 * (thread + 1) + number;
            let others = 1000 * ((thread + 1) % threads + 1);
            for number in 0..OWN {
                assert!(table.insert(own(number), [own(number); 8]).is_none());
                table.update(&(number % COMMON), |value| value.map(|word| word + 1));
                if let Some(value) = table.get(&(others + number)) {
                    assert_eq!(*value, [others + number; 8], "a torn copy");
                    found.borrow_mut()[thread as usize] += 1;
                }
            }
            for number in (0..OWN).step_by(2) {
                let taken = table.remove(&own(number)).map(|value| *value);
                assert_eq!(taken, Some([own(number); 8]));
            }
        });
        (place, body)
    });
    let outcome = Engine::new(machine, seed).run(bodies.collect());
    assert!(table.bytes() > 4 * small, "it has grown");
    let counted = (0..COMMON).map(|key| table.get(&key).map_or(0, |value| value[7])).sum();
    let keys = Cell::new(0);
    table.iter().filter(|entry| *entry.key() >= COMMON).for_each(|entry| {
        assert_eq!(*entry, [*entry.key(); 8]);
        assert_eq!(entry.key() % 2, 1, "it was taken out");
        keys.set(keys.get() + 1);
    });
    assert_eq!(keys.get(), threads * OWN / 2, "each that stays is met once");
    Run { cycles: outcome.cycles, counted, found: found.into_inner() }
}

#[test]
fn results_are_right_on_every_machine() {
    for name in Machine::names() {
        let machine = Machine::named(name).unwrap();
        let threads = machine.threads().min(24) as u64;
        let run = run(&machine, threads, 1);
        assert_eq!(run.counted, threads * OWN, "{name}: an update is lost");
    }
}

#[test]
fn one_seed_gives_one_run() {
    let machine = Machine::named("opteron").unwrap();
    let runs = [run(&machine, 12, 3), run(&machine, 12, 3)];
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].found.iter().any(|&found| found > 0), "threads read each other's keys");
}

/// Readers of a table write nothing that other threads read, so readers on many sockets don't slow
/// each other down.
#[test]
fn readers_do_not_slow_each_other_down() {
    let machine = Machine::named("opteron").unwrap();
    let cycles = |threads: usize| {
        let table = Table::default();
        (0..64).for_each(|key| _ = table.insert(key, [key; 8]));
        let bodies = (0..threads).map(|thread| {
            let table = &table;
            let body: Body<'_> = Box::new(move || {
                for look in 0..2000 {
                    let key = look * 5 % 64;
                    assert_eq!(table.get(&key).map(|value| value[0]), Some(key));
                }
            });
            (thread, body)
        });
        Engine::new(&machine, 1).run(bodies.collect()).cycles
    };
    let (one, many) = (cycles(1), cycles(48));
    assert!(many < 2 * one, "one thread takes {one} cycles, each of many {many}");
}

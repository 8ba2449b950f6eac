//! The simulation of a single core: its levels of caches, the instructions that belong to its
//! accesses, and the time for which its accesses keep a line busy for other cores.

use std::cell::Cell;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use syncline::memory::{Memory, Padded, Word};
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::{Machine, Simulated};

type Line = Padded<<Simulated as Memory>::Word>;

fn named(name: &str) -> Machine {
    Machine::named(name).unwrap()
}

fn lines(count: usize) -> Vec<Line> {
    std::iter::repeat_with(Line::default).take(count).collect()
}

/// Average cycles of a load by a core that loads `count` lines in turn.
fn load(machine: &Machine, count: usize) -> f64 {
    const ROUNDS: usize = 3;
    let lines = lines(count);
    let cycles = Cell::new(0);
    let body: Body<'_> = Box::new(|| {
        for round in 0..=ROUNDS {
            let began = engine::now();
            for line in &lines {
                line.load(Relaxed);
            }
            cycles.set(cycles.get() + if round > 0 { engine::now() - began } else { 0 });
        }
    });
    Engine::new(machine, 1).accesses_only().run(vec![(0, body)]);
    cycles.get() as f64 / (ROUNDS * count) as f64
}

#[test]
fn a_load_costs_the_level_that_holds_all_lines() {
    // Each number of lines is at most half of those that fit into its level, and at least twice
    // those that fit into the level before. The cycles are those of SSYNC's table 3.
    for (name, levels) in [
        ("opteron", &[(512, 3.0), (4096, 15.0), (16_384, 40.0)][..]),
        ("xeon", &[(256, 5.0), (2048, 11.0), (8192, 44.0)]),
        ("niagara", &[(64, 3.0), (256, 24.0)]),
        ("tilera", &[(256, 2.0), (2048, 11.0)]),
    ] {
        for &(count, cycles) in levels {
            assert_eq!(load(&named(name), count), cycles, "{name}, {count} lines");
        }
    }
}

#[test]
fn threads_of_a_core_take_turns() {
    const ACCESSES: u64 = 1000;
    let cycles = |machine: &Machine, threads: usize| {
        let words = lines(threads);
        let body = |place: usize| -> Body<'_> {
            let word = &words[place];
            Box::new(move || {
                for _ in 0..ACCESSES {
                    word.load(Relaxed);
                }
            })
        };
        let threads = (0..threads).map(|place| (place, body(place))).collect();
        Engine::new(machine, 1).run(threads).cycles / ACCESSES
    };
    // Each thread's loads are of one line and follow each other directly, so only their
    // instructions count. On the Niagara, four threads keep a core busy.
    let niagara = named("niagara");
    assert_eq!((cycles(&niagara, 1), cycles(&niagara, 2)), (3, 3));
    assert_eq!((cycles(&niagara, 4), cycles(&niagara, 8)), (3, 6));
    assert_eq!(cycles(&named("xeon"), 10), 1, "cores of their own");
}

#[test]
fn instructions_are_no_part_of_an_access() {
    let word = Line::default();
    let body: Body<'_> = Box::new(|| {
        let began = engine::now();
        word.swap(1, Relaxed);
        let first = engine::now();
        assert_eq!(first - began, 176, "from memory");
        word.swap(1, Relaxed);
        assert_eq!(engine::now() - first, 3 + 95);
    });
    Engine::new(&named("niagara"), 1).run(vec![(0, body)]);
}

/// Cycles from one access to the next, if two cores do nothing but access one line.
fn apart(machine: &Machine, other: usize, access: fn(&Line)) -> u64 {
    const ACCESSES: u64 = 1000;
    let word = Line::default();
    let body = || -> Body<'_> { Box::new(|| (0..ACCESSES).for_each(|_| access(&word))) };
    let threads = vec![(0, body()), (other, body())];
    Engine::new(machine, 1).accesses_only().run(threads).cycles / (2 * ACCESSES)
}

#[test]
fn a_line_is_busy_while_it_travels_and_not_while_it_stays() {
    let swap: fn(&Line) = |word| {
        word.swap(1, Relaxed);
    };
    assert_eq!(apart(&named("xeon"), 1, swap), 120);
    // A swap takes 90 cycles from another core. During 24 of these, as many as a load takes, the
    // request and the answer travel, and the line is not busy. In place of these 24 cycles, the
    // line is busy for the 3 cycles of a load from a core's own cache.
    assert_eq!(apart(&named("niagara"), 8, swap), 69);
}

#[test]
fn prefetch_for_write_costs_nothing_where_unsupported() {
    let fetched = |name: &str| {
        let word = Line::default();
        let cycles = Cell::new(0);
        let body: Body<'_> = Box::new(|| {
            word.load(Relaxed);
            let began = engine::now();
            Simulated::prefetch_for_write(&word);
            cycles.set(engine::now() - began);
        });
        let other: Body<'_> = Box::new(|| {
            word.load(Relaxed);
        });
        let machine = named(name);
        let far = machine.threads() - 1;
        Engine::new(&machine, 1).run(vec![(far, other), (0, body)]);
        cycles.get()
    };
    assert_eq!((fetched("niagara"), fetched("tilera")), (0, 0));
    assert!(fetched("opteron") > 200, "a broadcast");
}

#[test]
fn instructions_take_turns_as_accesses_do() {
    let cycles = |name: &str, threads: usize| {
        let body = || -> Body<'_> { Box::new(|| engine::execute(120)) };
        let threads = (0..threads).map(|place| (place, body())).collect();
        let machine = named(name);
        Engine::new(&machine, 1).run(threads).cycles
    };
    // The Opteron executes three instructions per cycle. A thread of the Niagara executes one per
    // cycle, as long as at most four threads of its core run; more threads take turns.
    assert_eq!((cycles("opteron", 1), cycles("opteron", 48)), (40, 40));
    assert_eq!((cycles("niagara", 1), cycles("niagara", 4), cycles("niagara", 8)), (120, 120, 240));
    assert_eq!(cycles("clusters", 1), 0, "a description without instructions");
}

/// Cycles of a load by core 1 from a line that core 0 has changed, and cycles of a store to the
/// line right after the load.
fn load_and_store(fetches: bool) -> (u64, u64) {
    let word = Line::default();
    let cycles = Cell::new((0, 0));
    let first: Body<'_> = Box::new(|| word.store(1, SeqCst));
    let second: Body<'_> = Box::new(|| {
        engine::delay(10_000);
        let began = engine::now();
        assert_eq!(word.load(Relaxed), 1);
        let loaded = engine::now();
        word.store(2, SeqCst);
        cycles.set((loaded - began, engine::now() - loaded));
    });
    let opteron = named("opteron");
    let engine = Engine::new(&opteron, 1).accesses_only();
    engine.fetching_for_writing(fetches).run(vec![(0, first), (1, second)]);
    cycles.get()
}

#[test]
fn a_line_that_is_fetched_for_writing_can_be_written_at_once() {
    // The cycles are those of SSYNC's table 2, column "same die": 81 for a load of a changed line,
    // 244 for a store to an owned one, and 83 for a store to a changed one.
    assert_eq!(load_and_store(false), (81, 244));
    let (load, store) = load_and_store(true);
    assert!((83..83 + 10).contains(&load) && store <= 3, "{load}, {store}");
}

#[test]
fn a_warm_machine_has_lines_where_they_are_used() {
    let accesses = |threads: usize, warm: bool| {
        let word = Line::default();
        let cycles = Cell::new((0, 0));
        let first: Body<'_> = Box::new(|| {
            let began = engine::now();
            word.load(Relaxed);
            let loaded = engine::now();
            word.store(1, SeqCst);
            cycles.set((loaded - began, engine::now() - loaded));
        });
        let mut bodies = vec![(0, first)];
        bodies.extend((1..threads).map(|place| (place, Box::new(|| ()) as Body<'_>)));
        let (opteron, threads) = (named("opteron"), bodies);
        let engine = Engine::new(&opteron, 1).accesses_only();
        if warm {
            engine.warm().run(threads)
        } else {
            engine.run(threads)
        };
        cycles.get()
    };
    assert_eq!(accesses(1, false).0, 136, "from memory");
    assert_eq!(accesses(1, true), (3, 3), "its own alone");
    assert_eq!(accesses(2, true), (3, 246), "shared");
}

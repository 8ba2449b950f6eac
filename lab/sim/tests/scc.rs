//! The SCC: uncached shared memory at four controllers, and registers as the only atomic
//! operations.

use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use syncline::lock::{Mcs, RawLock, Ticket};
use syncline::memory::{Memory, Padded, Word as _};
use syncline::wait::Spin;
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::uncached::{Plain, Register};
use syncline_sim::{Machine, Simulated};

const CORES: usize = 48;

fn scc() -> Machine {
    Machine::named("scc").unwrap()
}

/// Cycles that a core needs for `what` if it is alone on the machine.
fn alone(core: usize, what: impl Fn()) -> u64 {
    let cycles = Cell::new(0);
    let body: Body<'_> = Box::new(|| {
        let began = engine::now();
        what();
        cycles.set(engine::now() - began);
    });
    Engine::new(&scc(), 1).run(vec![(core, body)]);
    cycles.get()
}

#[test]
fn memory_and_registers_cost_what_the_formulas_of_the_guide_say() {
    // All numbers are cycles of a core at 533 MHz; the mesh and the memory run at 800 MHz. A core's
    // own memory is at the nearest controller: for core 0, this is on the core's own tile; for core
    // 16, which is on tile 8, it is three hops away.
    let mesh = 533.0 / 800.0;
    for (core, hops) in [(0, 0.0), (10, 0.0), (4, 2.0), (16, 3.0), (47, 1.0)] {
        let word = Padded::<Plain>::default();
        let expected = 40.0 + 46.0 * mesh + 8.0 * hops * mesh;
        for _ in 0..2 {
            let cycles = alone(core, || assert_eq!(word.load(), 0)) as f64;
            assert!((cycles - expected).abs() < 1.0, "core {core}: {cycles}, not {expected}");
        }
    }
    for (core, register, hops) in
        [(0, 0, 1.0), (0, 1, 1.0), (0, 47, 8.0), (13, 0, 1.0), (13, 2, 2.0)]
    {
        let expected = 45.0 + 8.0 * hops * mesh;
        let take = || assert!(Register::of(register).test_and_set());
        let cycles = alone(core, take) as f64;
        assert!((cycles - expected).abs() < 1.0, "{core} {register}: {cycles}, not {expected}");
    }
}

#[test]
fn an_atomic_operation_is_a_load_and_a_store_under_a_register() {
    type Word = <Simulated as Memory>::Word;
    let word = Padded::<Word>::default();
    let (memory, register) = (71, 50);
    assert_eq!(alone(0, || word.store(7, Release)), memory);
    assert_eq!(alone(0, || assert_eq!(word.load(Acquire), 7)), memory);
    let add = || assert_eq!(word.fetch_add(1, AcqRel), 7);
    assert_eq!(alone(0, add), register + memory + memory + register);
    // A compare-and-swap that fails needs no store.
    let fail = || assert_eq!(word.exchange(7, 9, AcqRel), Err(8));
    assert_eq!(alone(0, fail), register + memory + register);
    assert_eq!(alone(0, || Simulated::prefetch_for_write(&word)), 0);
}

#[test]
fn each_quadrant_has_a_controller() {
    let machine = scc();
    let mut cores = [0; 24];
    for core in 0..CORES {
        cores[machine.memory_near(machine.node_of(core))] += 1;
    }
    assert_eq!((cores[0], cores[5], cores[12], cores[17]), (12, 12, 12, 12));
}

#[test]
fn a_register_is_a_lock() {
    let (word, inside) = (Padded::<Plain>::default(), Cell::new(false));
    let threads = (0..CORES).map(|core| {
        let (word, inside) = (&word, &inside);
        let body: Body<'_> = Box::new(move || {
            for _ in 0..20 {
                Register::of(7).acquire();
                assert!(!inside.replace(true), "two cores have the register");
                word.store(word.load() + 1);
                inside.set(false);
                Register::of(7).reset();
            }
        });
        (core, body)
    });
    Engine::new(&scc(), 1).run(threads.collect());
    assert_eq!(word.load(), 20 * CORES as u32);
}

/// The speedup of `cores` cores over one core, in a loop of work on private data and accesses to
/// synchronization words. If `spread`, each core's word is at the controller next to the core;
/// otherwise all words are at core 0's controller.
fn speedup(cores: usize, spread: bool) -> f64 {
    /// Cycles of work between two accesses. It stands for the memory-bound part of a stencil, which
    /// uses only private memory.
    const WORK: u64 = 60;
    const ROUNDS: usize = 2_000;
    let words: Vec<Padded<Plain>> = (0..cores).map(|_| Padded::default()).collect();
    let machine = scc();
    let mut engine = Engine::new(&machine, 1);
    for (core, word) in words.iter().enumerate() {
        let at = std::ptr::from_ref(word).addr();
        engine.home(at..at + 1, if spread { machine.node_of(core) } else { 0 });
    }
    let threads = words.iter().enumerate().map(|(core, word)| {
        let body: Body<'_> = Box::new(move || {
            for round in 0..ROUNDS / cores {
                word.load();
                engine::delay(WORK);
                word.store(round as u32);
            }
        });
        (core, body)
    });
    let cycles = engine.run(threads.collect()).cycles;
    alone(0, || {
        let word = Padded::<Plain>::default();
        for round in 0..ROUNDS {
            word.load();
            engine::delay(WORK);
            word.store(round as u32);
        }
    }) as f64
        / cycles as f64
}

#[test]
fn synchronization_data_scales_if_spread_over_the_controllers() {
    // Claim M5: the speedup is linear if the words are spread, but not if they are at one
    // controller.
    for cores in [12, 24, 48] {
        let (spread, central) = (speedup(cores, true), speedup(cores, false));
        println!("{cores} cores: {spread:.1} spread, {central:.1} in one place");
        assert!(spread > 0.8 * cores as f64, "spread over {cores} cores: {spread}");
        assert!(central < spread, "{cores} cores: {central} {spread}");
    }
    let (half, all) = (speedup(24, false), speedup(48, false));
    assert!(all < 1.3 * half, "a controller that is busy serves no more: {half} {all}");
    assert!(all < 0.6 * speedup(48, true));
}

#[test]
fn the_librarys_locks_run_with_atomics_made_under_registers() {
    fn run<L: RawLock<Memory = Simulated>>() {
        let (lock, inside, sections) = (Padded::<L>::default(), Cell::new(false), Cell::new(0));
        let threads = (0..CORES).map(|core| {
            let (lock, inside, sections) = (&lock, &inside, &sections);
            let body: Body<'_> = Box::new(move || {
                let node = Padded::<L::Node>::default();
                for _ in 0..10 {
                    // SAFETY: the node stays in place, and the thread that releases has acquired.
                    unsafe { lock.acquire(&node) };
                    assert!(!inside.replace(true), "two threads hold the lock");
                    engine::delay(100);
                    sections.set(sections.get() + 1);
                    inside.set(false);
                    // SAFETY: as above.
                    unsafe { lock.release(&node) };
                }
            });
            (core, body)
        });
        Engine::new(&scc(), 1).run(threads.collect());
        assert_eq!(sections.get(), 10 * CORES);
    }
    run::<Ticket<Spin, Simulated>>();
    run::<Mcs<Spin, Simulated>>();
}

#[test]
#[should_panic(expected = "no register 3")]
fn a_machine_with_caches_has_no_registers() {
    let xeon = Machine::named("xeon").unwrap();
    Engine::new(&xeon, 1).run(vec![(0, Box::new(|| Register::of(3).reset()))]);
}

//! The library's locks on simulated machines: they exclude, every run ends, and runs with the same
//! seed are equal.

use std::cell::Cell;

use syncline::lock::{Clh, Futex, Mcs, RawLock, Tas, Ticket};
use syncline::memory::{Memory, Padded};
use syncline::wait::{Park, Spin, Yield};
use syncline_sim::engine::{self, Body, Engine, Outcome};
use syncline_sim::{Machine, Simulated};

/// Runs a thread on each of the hardware threads `places`. Each acquires a lock `rounds` times, and
/// holds it for 100 cycles each time.
fn run<L>(machine: &Machine, places: &[usize], rounds: u64, seed: u64) -> Outcome
where
    L: RawLock<Memory = Simulated> + Default,
{
    let lock = Padded::<L>::default();
    let (inside, sections) = (Cell::new(false), Cell::new(0));
    let threads = places.iter().map(|&place| {
        let (lock, inside, sections) = (&lock, &inside, &sections);
        let body: Body<'_> = Box::new(move || {
            let node = Padded::<L::Node>::default();
            for _ in 0..rounds {
                // SAFETY: the node stays in place, and the thread that releases has acquired.
                unsafe { lock.acquire(&node) };
                assert!(!inside.replace(true), "two threads hold the lock");
                engine::delay(100);
                sections.set(sections.get() + 1);
                inside.set(false);
                // SAFETY: as above.
                unsafe { lock.release(&node) };
                engine::delay(50);
            }
        });
        (place, body)
    });
    let outcome = Engine::new(machine, seed).run(threads.collect());
    assert_eq!(sections.get(), rounds * places.len() as u64);
    outcome
}

fn all_locks(machine: &Machine, places: &[usize], rounds: u64) {
    run::<Tas<Park, Simulated>>(machine, places, rounds, 1);
    run::<Ticket<Yield, Simulated>>(machine, places, rounds, 1);
    run::<Ticket<Park, Simulated>>(machine, places, rounds, 1);
    run::<Mcs<Yield, Simulated>>(machine, places, rounds, 1);
    run::<Mcs<Park, Simulated>>(machine, places, rounds, 1);
    run::<Futex<Park, Simulated>>(machine, places, rounds, 1);
}

#[test]
fn locks_exclude_and_end_on_every_machine() {
    for name in Machine::names() {
        let machine = Machine::named(name).unwrap();
        let places: Vec<usize> = (0..machine.threads()).collect();
        all_locks(&machine, &places, 20);
        run::<Ticket<Spin, Simulated>>(&machine, &places, 20, 1);
        run::<Mcs<Spin, Simulated>>(&machine, &places, 20, 1);
    }
}

#[test]
fn more_threads_than_processors() {
    let machine = Machine::named("xeon").unwrap();
    let places: Vec<usize> = (0..16).map(|thread| thread % 2).collect();
    all_locks(&machine, &places, 50);
    run::<Ticket<Spin, Simulated>>(&machine, &places, 5, 1);
}

#[test]
fn a_queue_lock_that_spins_waits_for_time_slices_when_oversubscribed() {
    let mut description = Machine::named("xeon").unwrap().description;
    description.scheduler.slice = 1e-5;
    let machine = Machine::new(description).unwrap();
    let slice = machine.in_cycles(1e-5);
    let cycles = |places: &[usize]| run::<Mcs<Spin, Simulated>>(&machine, places, 500, 1).cycles;
    // With a processor for each thread, the run takes some slices. With two threads per processor,
    // nearly every section costs a slice.
    let (alone, crowded) = (cycles(&[0, 1, 2, 3]), cycles(&[0, 0, 1, 1]));
    assert!(alone < 50 * slice && crowded > 500 * slice, "{alone} {crowded} {slice}");
}

#[test]
fn threads_of_one_cache_see_each_others_writes() {
    // A write in progress has already notified the threads that watch the line. A thread of the
    // same cache that polls before the write is done sees the old value. This thread must not start
    // watching the line, since it would miss the notification. This is tested with a cache that
    // writes through, and with one that does not.
    let mut description = Machine::named("xeon").unwrap().description;
    (description.caches_per_node, description.threads_per_cache) = (2, 8);
    let hyperthreads = Machine::new(description).unwrap();
    for machine in [&Machine::named("niagara").unwrap(), &hyperthreads] {
        let places: Vec<usize> = (0..32).map(|thread| thread % 4 * 8 + thread / 4).collect();
        run::<Clh<Spin, Simulated>>(machine, &places, 600, 1);
        run::<Mcs<Spin, Simulated>>(machine, &places, 600, 1);
        run::<Ticket<Spin, Simulated>>(machine, &places, 100, 1);
    }
}

#[test]
fn a_preempted_threads_stores_are_seen() {
    let mut description = Machine::named("xeon").unwrap().description;
    description.scheduler.slice = 5e-6;
    let machine = Machine::new(description).unwrap();
    let places: Vec<usize> = (0..9).map(|thread| thread % 3 * 10).collect();
    run::<Mcs<Spin, Simulated>>(&machine, &places, 300, 1);
}

#[test]
fn threads_that_are_not_pinned_spread_over_the_nodes_and_find_idle_processors() {
    let machine = Machine::named("xeon").unwrap();
    let nodes = std::cell::RefCell::new(Vec::new());
    let threads = (0..16).map(|_| {
        let body: Body<'_> = Box::new(|| nodes.borrow_mut().push(Simulated::group(0)));
        (engine::ANYWHERE, body)
    });
    Engine::new(&machine, 1).run(threads.collect());
    let mut nodes = nodes.into_inner();
    nodes.sort_unstable();
    let twice_each: Vec<usize> = (0..16).map(|n| n / 2).collect();
    assert_eq!(nodes, twice_each);
}

/// Converts seconds to cycles of a machine.
fn cycles(machine: &Machine, seconds: f64) -> u64 {
    machine.in_cycles(seconds)
}

/// Two nodes have twelve hardware threads each. There are 13 threads on the first node and 12 on
/// the second; `end_here` of the former and `end_there` of the latter end after 10 ms. One thread
/// on the first node is not pinned and computes for 100 ms. Returns the time at which this thread
/// is done, and the time at which it first ran on the second node (`None` if it never did), both in
/// milliseconds.
fn crowded(end_here: usize, end_there: usize) -> (u64, Option<u64>) {
    let mut description = Machine::named("xeon-x5660").unwrap().description;
    description.threads_per_cache = 2;
    let machine = Machine::new(description).unwrap();
    let ms = cycles(&machine, 1e-3);
    let (done, moved) = (Cell::new(0), Cell::new(None));
    let pinned = |place: usize, early: bool| -> (usize, Body<'_>) {
        (place, Box::new(move || engine::delay(if early { 10 } else { 400 } * ms)))
    };
    let mut threads: Vec<_> = (0..11).map(|place| pinned(place, place < end_here)).collect();
    threads.extend((12..24).map(|place| pinned(place, place - 12 < end_there)));
    let free: Body<'_> = Box::new(|| {
        for _ in 0..1000 {
            engine::delay(ms / 10);
            if Simulated::group(0) == 1 && moved.get().is_none() {
                moved.set(Some(engine::now() / ms));
            }
        }
        done.set(engine::now() / ms);
    });
    // This thread starts on the only idle processor. Then a pinned thread starts on the same
    // processor.
    threads.push((engine::ANYWHERE, free));
    threads.push(pinned(11, false));
    Engine::new(&machine, 1).run(threads);
    (done.get(), moved.get())
}

#[test]
fn idle_processors_look_for_waiting_threads_now_and_then() {
    // Linux 2.6.32 would not move a thread from a node with 13 threads to one with 11 although a
    // processor is idle there, since 13 is not more than 125 % of 11. So the two threads share
    // their processor to the end.
    let (done, moved) = crowded(0, 1);
    assert!(moved.is_none() && done > 190, "{done} {moved:?}");
    // 13 is more than 125 % of 10, so the thread is moved when an idle processor of the other node
    // next looks for work.
    let (done, moved) = crowded(0, 2);
    let moved = moved.unwrap();
    assert!(moved >= 32 && moved % 32 < 2, "{moved}");
    assert!(done < 100 + moved, "{done}");
    // Idle processors of the thread's own node look sooner.
    let (done, moved) = crowded(1, 0);
    assert!(moved.is_none() && (105..120).contains(&done), "{done} {moved:?}");
}

#[test]
fn threads_that_begin_on_one_node_have_a_processor_each_soon() {
    let machine = Machine::named("opteron").unwrap();
    let work = cycles(&machine, 0.2);
    // For a moment, each other node has more threads than the first one, so that all threads that
    // are not pinned begin on the first node.
    let elsewhere = (6..48).flat_map(|place| [place; 7]);
    let brief = elsewhere.map(|place| -> (usize, Body<'_>) { (place, Box::new(|| ())) });
    let nodes = std::cell::RefCell::new(vec![0; 8]);
    let free = (0..36).map(|_| -> (usize, Body<'_>) {
        let body = || {
            (0..1000).for_each(|_| engine::delay(work / 1000));
            nodes.borrow_mut()[Simulated::group(0)] += 1;
        };
        (engine::ANYWHERE, Box::new(body))
    });
    let ends = Engine::new(&machine, 1).run(brief.chain(free).collect()).cycles;
    // If all stayed, six threads on each processor would take six times as long. 64 ms are two
    // intervals between looks of idle processors at other nodes.
    assert!(ends < work + cycles(&machine, 64e-3), "{ends}");
    assert!(nodes.borrow().iter().all(|threads| (4..=6).contains(threads)), "{nodes:?}");
}

#[test]
fn a_pinned_run_is_faster_than_one_that_is_not_where_sockets_are_far() {
    // Claim S17: the throughput of a contended hash table is four to six times lower if threads are
    // not pinned. This tests the effect on a lock.
    let machine = Machine::named("xeon").unwrap();
    let cycles = |places: &[usize]| run::<Ticket<Spin, Simulated>>(&machine, places, 300, 1).cycles;
    let (pinned, free) = (cycles(&[0, 1, 2, 3, 4, 5, 6, 7]), cycles(&[engine::ANYWHERE; 8]));
    assert!(free > 2 * pinned, "{free} {pinned}");
}

#[test]
fn one_seed_gives_one_run() {
    let machine = Machine::named("opteron").unwrap();
    let places: Vec<usize> = (0..48).collect();
    let run = |seed| run::<Mcs<Spin, Simulated>>(&machine, &places, 30, seed);
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
#[should_panic(expected = "no thread is left to wake them")]
fn a_deadlock_panics() {
    let machine = Machine::named("xeon").unwrap();
    let lock = Futex::<Park, Simulated>::default();
    let body: Body<'_> = Box::new(|| {
        // SAFETY: the lock has no node, and it is not released: the second acquisition never
        // returns.
        unsafe { lock.acquire(&()) };
        // SAFETY: as above.
        unsafe { lock.acquire(&()) };
    });
    Engine::new(&machine, 1).run(vec![(0, body)]);
}

#[test]
#[should_panic(expected = "no hardware thread 99")]
fn a_missing_hardware_thread_is_refused() {
    let machine = Machine::named("xeon").unwrap();
    Engine::new(&machine, 1).run(vec![(99, Box::new(|| {}))]);
}

#[test]
fn a_panic_in_a_thread_ends_the_run_and_the_next_one_works() {
    let machine = Machine::named("xeon").unwrap();
    let outcome = std::panic::catch_unwind(|| {
        let sleeps: Body<'_> = Box::new(|| engine::delay(1_000_000));
        let panics: Body<'_> = Box::new(|| {
            engine::delay(10);
            panic!("on purpose");
        });
        Engine::new(&machine, 1).run(vec![(0, sleeps), (1, panics)])
    });
    assert!(outcome.is_err());
    run::<Ticket<Spin, Simulated>>(&machine, &[0, 1], 10, 1);
}

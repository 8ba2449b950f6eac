//! A line stays with its owner while another thread's request is on its way. The tests check how
//! long it stays, how often its owner uses it meanwhile, and that no update is lost.

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

use syncline::lock::{RawLock, Ticket, Ttas};
use syncline::memory::{Memory, Padded, Word};
use syncline::wait::Spin;
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::{Machine, Simulated};

type Line = Padded<<Simulated as Memory>::Word>;

/// The number of increments of each thread.
const CALLS: u32 = 500;
/// Cycles of an atomic operation on a line that the core has (`LOCAL`), and on a line that another
/// core of the die has (`REMOTE`).
const LOCAL: u64 = 20;
const REMOTE: u64 = 110;

fn opteron(stays: Option<f64>) -> Machine {
    let mut description = Machine::named("opteron").unwrap().description;
    description.stays = stays;
    Machine::new(description).unwrap()
}

/// Two threads of a die increment one word. Returns for each thread the values that its increments
/// returned, each with the cycle.
fn increments(machine: &Machine) -> [Vec<(u32, u64)>; 2] {
    let word = Line::default();
    let given = [RefCell::new(Vec::new()), RefCell::new(Vec::new())];
    let body = |mine: usize| -> (usize, Body<'_>) {
        let (word, given) = (&word, &given[mine]);
        let body = Box::new(move || {
            for _ in 0..CALLS {
                let value = word.fetch_add(1, Relaxed);
                given.borrow_mut().push((value, engine::now()));
            }
        });
        (mine, body)
    };
    Engine::new(machine, 1).accesses_only().run(vec![body(0), body(1)]);
    assert_eq!(word.load(Relaxed), 2 * CALLS, "none is lost");
    given.map(RefCell::into_inner)
}

/// A thread's runs of increments without an increment by the other thread in between. For each run,
/// the number of increments, and the cycles of the first and the last one.
fn runs(given: &[(u32, u64)]) -> Vec<(u64, u64, u64)> {
    let mut runs: Vec<(u64, u64, u64)> = Vec::new();
    let mut last = None;
    for &(value, at) in given {
        match runs.last_mut() {
            Some(run) if last == Some(value.wrapping_sub(1)) => *run = (run.0 + 1, run.1, at),
            _ => runs.push((1, at, at)),
        }
        last = Some(value);
    }
    runs
}

#[test]
fn each_increment_is_a_transfer_where_lines_do_not_stay() {
    let [one, _] = increments(&opteron(None));
    let ours = runs(&one);
    assert!(ours[1..ours.len() / 2].iter().all(|run| run.0 == 1), "{ours:?}");
}

#[test]
fn a_line_is_used_again_and_again_until_the_request_has_come() {
    let share = 0.6;
    let [one, other] = increments(&opteron(Some(share)));
    let stays = (share * REMOTE as f64) as u64;
    for given in [&one, &other] {
        let all = runs(given);
        // The first run is left out, since the other thread begins during it. The second half of
        // the runs is left out, since the other thread may have ended during it.
        for &(count, from, to) in &all[1..all.len() / 2] {
            assert_eq!(count, 1 + stays / LOCAL, "as many as fit: {all:?}");
            assert!(to - from <= stays);
        }
        // The line still needs two transfers: one to the other thread, and one back.
        let (first, second) = (all[1].1, all[2].1);
        assert_eq!(second - first, 2 * REMOTE);
    }
    let mut values: Vec<u32> = one.iter().chain(&other).map(|&(value, _)| value).collect();
    values.sort_unstable();
    assert!(values.into_iter().eq(0..2 * CALLS), "each is given once");
}

#[test]
fn increments_take_effect_in_time_order() {
    let [one, other] = increments(&opteron(Some(0.9)));
    let mut all: Vec<(u64, u32)> =
        one.iter().chain(&other).map(|&(value, at)| (at, value)).collect();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].1), "{all:?}");
}

/// The final value of a counter that each holder of a lock increments, with a load and a store.
fn counted<L: RawLock<Memory = Simulated>>(machine: &Machine, threads: usize) -> u32 {
    let (lock, word) = (Padded::<L>::default(), Line::default());
    let body = |place: usize| -> (usize, Body<'_>) {
        let (lock, word) = (&lock, &word);
        let body = Box::new(move || {
            let node = Padded::<L::Node>::default();
            for _ in 0..CALLS {
                // SAFETY: the node stays in place, and the thread that releases has acquired.
                unsafe { lock.acquire(&node) };
                word.store(word.load(Relaxed) + 1, Relaxed);
                // SAFETY: as above.
                unsafe { lock.release(&node) };
            }
        });
        (place, body)
    };
    Engine::new(machine, 1).run((0..threads).map(body).collect());
    word.load(Relaxed)
}

#[test]
fn locks_exclude_where_lines_stay() {
    for share in [0.1, 0.5, 1.0] {
        let machine = opteron(Some(share));
        for threads in [2, 13] {
            let all = threads as u32 * CALLS;
            assert_eq!(counted::<Ttas<Spin, Simulated>>(&machine, threads), all, "{share}");
            assert_eq!(counted::<Ticket<Spin, Simulated>>(&machine, threads), all, "{share}");
        }
    }
}

//! The light and the heavy barrier. Each of two threads stores a word, executes a barrier (one
//! thread the light barrier, the other the heavy one), and then loads the other's word. At least
//! one of them sees the other's store, even if the system call `membarrier` is forbidden, from the
//! beginning or later.
//!
//! The registration for `membarrier` concerns a whole process, so each case has a process of its
//! own.

#![cfg(target_os = "linux")]

use std::env;
use std::hint::{black_box, spin_loop};
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;
use std::time::Duration;

use syncline::channel::{self, Duplex};
use syncline::memory::{Memory, Native, Padded};

const ROUNDS: u32 = 20_000;
/// Each side of a round is delayed by fewer than this many steps of an empty loop.
const APART: u32 = 60;
const CASE: &str = "SYNCLINE_TEST_BARRIER";

/// From now on, `membarrier` fails with `EPERM` in this thread, and in those that it starts.
fn forbid() {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jt| libc::sock_filter { code, jt, jf: 0, k };
    let mut steps = [
        // The data that the filter sees begin with the number of the system call.
        step(LOAD, 0, 0),
        step(EQUAL, libc::SYS_membarrier as u32, 1),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0),
        step(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter is of that length, and lives until the calls are over; the last call takes
    // numbers only.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter, 0, 0), 0);
        let asked = libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0);
        assert_eq!(asked, -1, "it is forbidden");
    }
}

#[derive(Default)]
struct Side {
    word: Padded<AtomicU32>,
    /// The round that this side has reached.
    ready: Padded<AtomicU32>,
    /// The round that this side has finished.
    done: Padded<AtomicU32>,
    seen: Padded<AtomicU32>,
}

fn wait_for(word: &AtomicU32, round: u32) {
    let mut looks = 0;
    while word.load(Acquire) < round {
        looks += 1;
        if looks % 200 == 0 { thread::yield_now() } else { spin_loop() }
    }
}

/// Plays one side in all rounds. `late` gives the number of steps by which this side is delayed in
/// a round.
fn play(own: &Side, other: &Side, late: impl Fn(u32) -> u32, barrier: impl Fn(u32)) {
    for round in 1..=ROUNDS {
        own.ready.store(round, Release);
        wait_for(&other.ready, round);
        for step in 0..late(round) {
            black_box(step);
        }
        own.word.store(round, Relaxed);
        barrier(round);
        own.seen.store(other.word.load(Relaxed), Relaxed);
        own.done.store(round, Release);
        wait_for(&other.done, round);
        let (one, two) = (own.seen.load(Relaxed), other.seen.load(Relaxed));
        // Both sides compare before either side changes its `seen` in the next round.
        assert!(one == round || two == round, "in round {round}, neither saw the other");
    }
}

/// Plays both sides. If `forbidden_in` is given, the heavy side may not use `membarrier` from that
/// round on.
fn litmus(forbidden_in: Option<u32>) {
    let sides = [Side::default(), Side::default()];
    let [one, two] = &sides;
    thread::scope(|scope| {
        scope.spawn(|| {
            play(one, two, |round| round % APART, |_| Native::light_barrier());
        });
        scope.spawn(|| {
            let barrier = |round| {
                if Some(round) == forbidden_in {
                    forbid();
                }
                Native::heavy_barrier();
            };
            play(two, one, |round| round / APART % APART, barrier);
        });
    });
}

/// Sends messages through channels whose ends fall asleep between messages.
fn sleepers() {
    let (mut asks, mut answers) = Duplex::<u64, u64>::over(1);
    let (mut sender, mut receiver) = channel::bounded(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Ok(number) = answers.receiver.recv() {
                thread::sleep(Duration::from_micros(number % 3 * 100));
                answers.sender.send(number + 1).expect("it waits");
                sender.send(number).expect("it waits");
            }
        });
        for number in 0..500 {
            assert_eq!(asks.round_trip(number), Ok(number + 1));
            thread::sleep(Duration::from_micros(number % 5 * 50));
            assert_eq!(receiver.recv(), Ok(number));
        }
        drop(asks);
    });
}

/// Runs a case in a process of its own.
fn alone(test: &str, case: impl Fn()) {
    if env::var_os(CASE).is_some_and(|name| name == test) {
        return case();
    }
    // One case at a time: the two sides of a case need both processors of a small machine.
    static TURNS: Mutex<()> = Mutex::new(());
    let _turn = TURNS.lock();
    let this = env::current_exe().expect("it runs");
    let child = Command::new(this).args(["--exact", test]).env(CASE, test).output();
    let child = child.expect("it runs again");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[test]
fn one_sees_the_other() {
    alone("one_sees_the_other", || {
        litmus(None);
        sleepers();
    });
}

#[test]
fn one_sees_the_other_without_the_kernel() {
    alone("one_sees_the_other_without_the_kernel", || {
        forbid();
        litmus(None);
        sleepers();
    });
}

#[test]
fn one_sees_the_other_when_the_kernel_stops_helping() {
    alone("one_sees_the_other_when_the_kernel_stops_helping", || {
        litmus(Some(ROUNDS / 2));
        sleepers();
    });
}

/// A forked child inherits its parent's registration with the kernel.
#[test]
fn one_sees_the_other_in_a_fork() {
    alone("one_sees_the_other_in_a_fork", || {
        Native::heavy_barrier();
        // SAFETY: this process has two threads, this one and the one that waits for it. The waiting
        // thread holds no lock that the child needs.
        match unsafe { libc::fork() } {
            -1 => panic!("it can't fork"),
            0 => {
                let passed = catch_unwind(|| litmus(None)).is_ok();
                // SAFETY: the call ends this process at once, and nothing is left to be done.
                unsafe { libc::_exit(i32::from(!passed)) };
            }
            child => {
                let mut status = 0;
                // SAFETY: the status is there to be written.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert_eq!(status, 0, "the child failed");
            }
        }
    });
}

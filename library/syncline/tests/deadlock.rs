//! Debug builds report threads that wait for each other. One thread of the cycle panics, with a
//! message that names all threads of the cycle, and the others continue. Waits that end by
//! themselves are not reported.

#![cfg(all(debug_assertions, feature = "std"))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, Builder};
use std::time::Duration;

use syncline::lock::{Mcs, RawLock, Upgradable};
use syncline::{Condvar, Mutex, MutexGuard, ReentrantMutex, RwLock, RwLockUpgradableReadGuard};

/// Long enough for all threads of a test to start waiting.
const SOON: Duration = Duration::from_millis(50);

type Step<'a> = Box<dyn Fn() + Send + Sync + 'a>;

/// The message of a call's panic; `None` if it does not panic.
fn message(call: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(call)).err()?;
    Some(panic.downcast_ref::<String>().expect("a message with arguments").clone())
}

/// Runs each step in a thread of its own, with this name, and returns the messages of all panics.
/// If the threads wait for each other forever, the process ends.
fn messages<'a>(steps: Vec<(&'a str, Step<'a>)>) -> Vec<String> {
    let (done, waits) = mpsc::channel::<()>();
    thread::spawn(move || {
        if waits.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("a deadlock was not reported");
            process::abort();
        }
    });
    let messages = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (name, step) in steps {
            let thread = Builder::new().name(name.to_owned());
            let thread = thread.spawn_scoped(scope, move || message(step));
            threads.push(thread.expect("a thread"));
        }
        threads.into_iter().filter_map(|thread| thread.join().expect("it is caught")).collect()
    });
    drop(done);
    messages
}

/// Runs two threads: `ada` and `bob`. Each first acquires something. When both have done so, each
/// goes on with its second function. Returns the messages of all panics.
fn ada_and_bob<A, B>(
    ada: (impl Fn() -> A + Sync, impl Fn(A) + Sync),
    bob: (impl Fn() -> B + Sync, impl Fn(B) + Sync),
) -> Vec<String> {
    let both = Barrier::new(2);
    messages(vec![
        (
            "ada",
            Box::new(|| {
                let held = ada.0();
                both.wait();
                ada.1(held);
            }),
        ),
        (
            "bob",
            Box::new(|| {
                let held = bob.0();
                both.wait();
                bob.1(held);
            }),
        ),
    ])
}

/// Checks that there is one message, and that it has all these words.
fn assert_told(messages: &[String], words: &[&str]) {
    let [message] = messages else { panic!("one of them is to panic: {messages:#?}") };
    for word in words {
        assert!(message.contains(word), "{word} in: {message}");
    }
}

fn two_mutexes<L: RawLock>() {
    let (first, second) =
        (Mutex::<u32, L>::from_raw(L::default(), 1), Mutex::<String, L>::default());
    let messages = ada_and_bob(
        (|| first.lock(), |_first| second.with(|_| ())),
        (|| second.lock(), |_second| drop(first.lock())),
    );
    let addresses = [&raw const first as usize, &raw const second as usize];
    let addresses = addresses.map(|address| format!("{address:#x}"));
    assert_told(
        &messages,
        &[
            "deadlock: 2 threads would wait for each other forever",
            "(ada) waits at ",
            "(bob) waits at ",
            &format!("for the Mutex<u32> at {}, which ThreadId", addresses[0]),
            &format!("for the Mutex<alloc::string::String> at {}, which ThreadId", addresses[1]),
        ],
    );
    // The four lines in the message, two for each thread, are all in this file.
    assert_eq!(messages[0].matches("deadlock.rs:").count(), 4, "{}", messages[0]);
    // The panic has broken nothing.
    drop((first.lock(), second.lock()));
}

#[test]
fn two_threads_and_two_mutexes() {
    two_mutexes::<syncline::lock::Gate>();
    two_mutexes::<Mcs>();
}

#[test]
fn the_lines_are_those_of_the_waits_and_the_acquisitions() {
    let (first, second) = (Mutex::new(()), Mutex::new(()));
    let start = line!();
    let take_first = || first.lock();
    let take_second = || second.lock();
    let wait_for_first = |_second| drop(first.lock());
    let wait_for_second = |_first| drop(second.lock());
    let messages = ada_and_bob((take_first, wait_for_second), (take_second, wait_for_first));
    let words = [1, 2, 3, 4].map(|line| format!("deadlock.rs:{}:", start + line));
    assert_told(&messages, &words.each_ref().map(String::as_str));
}

#[test]
fn one_thread_of_a_cycle_reports_it() {
    let locks = [Mutex::new(0), Mutex::new(1)];
    for _ in 0..if cfg!(miri) { 2 } else { 200 } {
        let both = AtomicUsize::new(0);
        let step = |mine: usize| -> Step<'_> {
            let (locks, both) = (&locks, &both);
            Box::new(move || {
                let _mine = locks[mine].lock();
                // Both threads begin to wait at the same time, as far as possible.
                both.fetch_add(1, SeqCst);
                while both.load(SeqCst) < 2 {
                    std::hint::spin_loop();
                }
                drop(locks[1 - mine].lock());
            })
        };
        assert_told(&messages(vec![("ada", step(0)), ("bob", step(1))]), &["2 threads"]);
    }
}

#[test]
fn three_threads() {
    let locks = [Mutex::new(0), Mutex::new(1), Mutex::new(2)];
    let all = Barrier::new(3);
    let step = |mine: usize| -> Step<'_> {
        let (locks, all) = (&locks, &all);
        Box::new(move || {
            let _mine = locks[mine].lock();
            all.wait();
            drop(locks[(mine + 1) % 3].lock());
        })
    };
    let messages = messages(vec![("ada", step(0)), ("bob", step(1)), ("cyd", step(2))]);
    assert_told(&messages, &["deadlock: 3 threads", "(ada) waits", "(bob) waits", "(cyd) waits"]);
}

#[test]
fn a_cycle_through_a_writer_or_a_reader() {
    let (lock, mutex) = (RwLock::new(0), Mutex::new(0));
    // A reader waits for the writer, a writer for another writer.
    for step in [(|lock| drop(lock.read())) as fn(&RwLock<i32>), |lock| drop(lock.write())] {
        let messages = ada_and_bob(
            (|| lock.write(), |_writer| drop(mutex.lock())),
            (|| mutex.lock(), |_mutex| step(&lock)),
        );
        let words = ["2 threads", "for the RwLock<i32> at ", "for the Mutex<i32> at ", " holds "];
        assert_told(&messages, &words);
    }
    // A writer waits for a reader.
    let messages = ada_and_bob(
        (|| lock.read(), |_reader| drop(mutex.lock())),
        (|| mutex.lock(), |_mutex| drop(lock.write())),
    );
    assert_told(&messages, &["2 threads", "(ada) shares since "]);
}

#[test]
fn a_cycle_through_an_upgrade() {
    let lock = RwLock::<i32, Upgradable>::with_lock(0);
    let mutex = Mutex::new(0);
    let messages = ada_and_bob(
        (
            || (mutex.lock(), lock.upgradable_read()),
            |(_mutex, seen)| drop(RwLockUpgradableReadGuard::upgrade(seen)),
        ),
        (|| lock.read(), |_reader| drop(mutex.lock())),
    );
    assert_told(&messages, &["2 threads", "for the RwLock<i32> at ", "(bob) shares since "]);
    *lock.write() += 1;
}

#[test]
fn a_cycle_through_a_reentrant_mutex() {
    let (reentrant, mutex) = (ReentrantMutex::new(0), Mutex::new(0));
    let outer = || {
        let outer = reentrant.lock();
        drop(reentrant.lock());
        outer
    };
    let messages = ada_and_bob(
        (outer, |_outer| drop(mutex.lock())),
        (|| mutex.lock(), |_mutex| drop(reentrant.lock())),
    );
    assert_told(&messages, &["2 threads", "for the ReentrantMutex<i32> at "]);
    assert_eq!(*reentrant.lock(), 0);
}

/// Notifies all when dropped.
struct Notify<'a>(&'a Condvar);

impl Drop for Notify<'_> {
    fn drop(&mut self) {
        self.0.notify_all();
    }
}

#[test]
fn a_cycle_through_a_condition_variable() {
    let (queue, mutex) = (Mutex::new(0), Mutex::new(0));
    let filled = Condvar::new();
    let fill = |()| {
        // The other thread needs the queue's lock to return from its wait, even after a
        // notification.
        let _notify = Notify(&filled);
        let mut queue = queue.lock();
        *queue = 1;
        drop(mutex.lock());
    };
    let messages = ada_and_bob(
        (
            || (mutex.lock(), queue.lock()),
            |(_mutex, mut queue)| filled.wait_while(&mut queue, |queue| *queue == 0),
        ),
        (|| (), fill),
    );
    assert_told(&messages, &["2 threads", "(ada) waits", "(bob) holds"]);
    assert!(messages[0].matches("deadlock.rs:").count() == 4, "{}", messages[0]);
}

/// `unlocked` can't panic, since its guard must hold the mutex again. So the other thread has to wait
/// later.
#[test]
fn a_cycle_through_a_mutex_that_was_unlocked_for_a_while() {
    let (lent, other) = (Mutex::new(0_u32), Mutex::new(0_u64));
    let line = AtomicUsize::new(0);
    let taken = Barrier::new(2);
    let ada = || {
        let mut guard = lent.lock();
        let lend = || {
            let held = other.lock();
            taken.wait();
            taken.wait();
            held
        };
        line.store(line!() as usize + 1, SeqCst);
        let _held = MutexGuard::unlocked(&mut guard, lend);
        *guard += 1;
    };
    let bob = || {
        taken.wait();
        let _lent = lent.lock();
        taken.wait();
        thread::sleep(SOON);
        drop(other.lock());
    };
    let messages = messages(vec![("ada", Box::new(ada)), ("bob", Box::new(bob))]);
    let line = format!("deadlock.rs:{}:", line.load(SeqCst));
    assert_told(&messages, &["2 threads", "(ada) waits at ", &line, "for the Mutex<u32>"]);
    assert_eq!(*lent.lock(), 1);
}

#[test]
fn a_thread_that_needs_its_own_share_back() {
    let lock = RwLock::<i32, Upgradable>::with_lock(0);
    let reader = lock.read();
    let own = message(|| drop(lock.write())).expect("it would wait for itself");
    assert!(own.contains("this thread shares the RwLock<i32> at "), "{own}");
    assert!(own.contains("already, since ") && own.contains("for itself forever"), "{own}");
    let upgrade = || drop(RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()));
    assert!(message(upgrade).is_some_and(|own| own.contains("shares the RwLock<i32>")));
    drop(reader);
    let _upgradable = lock.upgradable_read();
    // A second ordinary share needs no waiting.
    drop(lock.read());
    let twice = message(|| drop(lock.upgradable_read()));
    assert!(twice.is_some_and(|own| own.contains("shares upgradably")));
}

#[test]
fn a_wait_that_ends_by_itself_is_not_reported() {
    let (first, second) = (Mutex::new(0), Mutex::new(0));
    let wait = |_second| {
        thread::sleep(SOON);
        drop(first.lock());
    };
    let messages = ada_and_bob(
        (|| first.lock(), |_first| assert!(second.try_lock_for(2 * SOON).is_none())),
        (|| second.lock(), wait),
    );
    assert_eq!(messages, [""; 0]);
}

#[test]
fn holders_that_wait_for_nothing_are_not_reported() {
    let lock = RwLock::new(0);
    let both = Barrier::new(2);
    let step = |write: bool| -> Step<'_> {
        let (lock, both) = (&lock, &both);
        Box::new(move || {
            if write {
                both.wait();
                *lock.write() += 1;
            } else {
                let reader = lock.read();
                both.wait();
                thread::sleep(SOON);
                drop(reader);
            }
        })
    };
    assert_eq!(messages(vec![("ada", step(false)), ("bob", step(true))]), [""; 0]);
    assert_eq!(lock.into_inner(), 1);
}

#[test]
fn a_forgotten_guard_is_not_one_of_another_lock_there() {
    let (mut lock, mutex) = (RwLock::new(0), Mutex::new(0));
    std::mem::forget(lock.read());
    // A new lock, at the address of the old one.
    lock = RwLock::new(1);
    let (lock, mutex, all) = (&lock, &mutex, &Barrier::new(3));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _reader = lock.read();
            all.wait();
            thread::sleep(2 * SOON);
        });
        scope.spawn(|| {
            let _mutex = mutex.lock();
            all.wait();
            *lock.write() += 1;
        });
        all.wait();
        thread::sleep(SOON);
        *mutex.lock() += 1;
    });
    assert_eq!(*lock.read(), 2);
}

/// Threads acquire random locks, always in one order, so there can't be a cycle.
#[test]
fn locks_in_a_fixed_order_are_never_reported() {
    const THREADS: usize = 4;
    const ROUNDS: u64 = if cfg!(miri) { 5 } else { 3_000 };
    let mutexes: [Mutex<u64>; 3] = Default::default();
    let queued: [Mutex<u64, Mcs>; 2] = std::array::from_fn(|_| Mutex::with_lock(0));
    let shared: [RwLock<u64>; 2] = Default::default();
    let sections = AtomicUsize::new(0);
    let round = |bits: u64| {
        let is_set = |bit: u64| bits >> bit & 1 != 0;
        let _first = is_set(0).then(|| mutexes[0].lock());
        let _second = is_set(1).then(|| shared[0].read());
        let _third = is_set(2).then(|| queued[0].lock());
        let _fourth = is_set(3).then(|| mutexes[1].lock());
        let _fifth = is_set(4).then(|| shared[1].write());
        let _sixth = is_set(5).then(|| queued[1].lock());
        let _seventh = is_set(6).then(|| mutexes[2].lock());
        sections.fetch_add(1, SeqCst);
    };
    thread::scope(|scope| {
        for thread in 1..=THREADS as u64 {
            let round = &round;
            scope.spawn(move || {
                let mut bits = thread;
                for _ in 0..ROUNDS {
                    bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    round(bits >> 33);
                }
            });
        }
    });
    assert_eq!(sections.into_inner(), THREADS * usize::try_from(ROUNDS).expect("few"));
}

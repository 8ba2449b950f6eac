//! Each lock on the machine itself, with few and with many threads, under each waiting policy.
//! These tests need nothing but `syncline`, so that they can be built for a sanitizer too.
//!
//! The lock protects two plain numbers that are always changed together. So lost increments show,
//! and so do readers that see only one of the two changed.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use syncline::lock::{RawLock, RawSharedLock, TimedLock, TimedSharedLock, TryLock, TrySharedLock};
use syncline::memory::{Memory, Native};
use syncline::wait::{Park, Spin, Yield};

/// How long a lock is under stress with each number of threads.
const SHORT: Duration = Duration::from_millis(20);
/// A run that takes longer counts as hung. Fair locks that spin are slow with many threads.
const HUNG: Duration = Duration::from_secs(60);
const FEW: usize = 2;
const MANY: usize = 16;
/// The number of threads that arrive, one after the other, at a lock that serves in order of
/// arrival.
const QUEUE: usize = 4;
/// The time between the starts of two threads that arrive one after the other.
const GAP: Duration = Duration::from_millis(3);
/// The most attempts to see threads served in order of arrival. An attempt fails if a thread is
/// late.
const ATTEMPTS: usize = 20;

/// A lock over two numbers.
struct Scene<L> {
    lock: L,
    numbers: UnsafeCell<[u64; 2]>,
    done: AtomicBool,
}

// SAFETY: the numbers are accessed only while the lock is held. The tests check that this is
// enough.
unsafe impl<L: Sync> Sync for Scene<L> {}

impl<L: RawLock<Memory = Native>> Scene<L> {
    /// Runs threads that call `act` again and again. `act` returns how often it has incremented the
    /// numbers; no increment must be lost.
    fn stress(name: &str, threads: usize, act: impl Fn(&Self, u64) -> u64 + Sync)
    where
        L: Sync,
    {
        let scene = Self {
            lock: L::default(),
            numbers: UnsafeCell::default(),
            done: AtomicBool::default(),
        };
        let scene = &scene;
        let act = &act;
        let expected: u64 = guarded(name, || {
            thread::scope(|scope| {
                let run = move || {
                    let mut increments = 0;
                    let mut round = 0;
                    while !scene.done.load(Relaxed) {
                        increments += act(scene, round);
                        round += 1;
                    }
                    increments
                };
                let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
                thread::sleep(SHORT);
                scene.done.store(true, Relaxed);
                threads.into_iter().map(|thread| thread.join().expect("a thread ends")).sum()
            })
        });
        // SAFETY: all threads have ended.
        let numbers = unsafe { *scene.numbers.get() };
        assert_eq!(numbers, [expected, expected], "{name} lost increments");
    }

    /// Adds one to both numbers. The lock must be held.
    fn increment(&self) {
        // SAFETY: the lock is held.
        let numbers = unsafe { &mut *self.numbers.get() };
        numbers[0] += 1;
        numbers[1] += 1;
    }

    fn exclusively(&self) -> u64 {
        let node = L::Node::default();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock.acquire(&node);
            self.increment();
            self.lock.release(&node);
        }
        1
    }
}

impl<L: TryLock<Memory = Native>> Scene<L> {
    fn if_free(&self) -> u64 {
        let node = L::Node::default();
        // SAFETY: the node stays until the release.
        unsafe {
            if !self.lock.try_acquire(&node) {
                return 0;
            }
            self.increment();
            self.lock.release(&node);
        }
        1
    }
}

impl<L: TimedLock<Memory = Native>> Scene<L> {
    fn until(&self, patience: Duration) -> u64 {
        let node = L::Node::default();
        // SAFETY: the node stays until the release.
        unsafe {
            if !self.lock.acquire_until(&node, Native::now() + patience) {
                return 0;
            }
            self.increment();
            self.lock.release(&node);
        }
        1
    }
}

impl<L: RawSharedLock<Memory = Native>> Scene<L> {
    /// Checks that the numbers are equal. A share of the lock must be held.
    fn look(&self) {
        // SAFETY: the lock is shared.
        let [first, second] = unsafe { *self.numbers.get() };
        assert_eq!(first, second, "a reader saw half of a change");
    }

    fn shared(&self) {
        let node = L::SharedNode::default();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock.acquire_shared(&node);
            self.look();
            self.lock.release_shared(&node);
        }
    }
}

impl<L: TrySharedLock<Memory = Native>> Scene<L> {
    fn shared_if_free(&self) {
        let node = L::SharedNode::default();
        // SAFETY: the node stays until the release.
        unsafe {
            if self.lock.try_acquire_shared(&node) {
                self.look();
                self.lock.release_shared(&node);
            }
        }
    }
}

impl<L: TimedSharedLock<Memory = Native>> Scene<L> {
    fn shared_until(&self, patience: Duration) {
        let node = L::SharedNode::default();
        // SAFETY: the node stays until the release.
        unsafe {
            if self.lock.acquire_shared_until(&node, Native::now() + patience) {
                self.look();
                self.lock.release_shared(&node);
            }
        }
    }
}

/// Runs a function that might hang. If it does, the process reports `name`, and ends.
fn guarded<R>(name: &str, what: impl FnOnce() -> R) -> R {
    let done = Arc::new(AtomicBool::new(false));
    let watched = Arc::clone(&done);
    let watched_name = name.to_owned();
    let dog = thread::spawn(move || {
        let start = Instant::now();
        while !watched.load(Relaxed) {
            if start.elapsed() > HUNG {
                eprintln!("{watched_name} hangs");
                std::process::abort();
            }
            thread::park_timeout(HUNG / 8);
        }
    });
    let result = what();
    done.store(true, Relaxed);
    dog.thread().unpark();
    dog.join().expect("the watchdog ends");
    result
}

fn exclusive<L: RawLock<Memory = Native>>(name: &str) {
    for threads in [FEW, MANY] {
        Scene::<L>::stress(name, threads, |scene, _| scene.exclusively());
    }
}

fn tries<L: TryLock<Memory = Native>>(name: &str) {
    Scene::<L>::stress(name, FEW + 1, |scene, round| {
        if round % 3 == 0 { scene.exclusively() } else { scene.if_free() }
    });
}

fn timed<L: TimedLock<Memory = Native>>(name: &str) {
    for threads in [FEW, MANY] {
        Scene::<L>::stress(name, threads, |scene, round| match round % 3 {
            0 => scene.exclusively(),
            1 => scene.until(Duration::from_micros(round % 50)),
            _ => scene.until(Duration::from_millis(1)),
        });
    }
}

fn shared<L: RawSharedLock<Memory = Native>>(name: &str) {
    for threads in [FEW, MANY] {
        Scene::<L>::stress(name, threads, |scene, round| {
            if round % 4 == 0 {
                return scene.exclusively();
            }
            scene.shared();
            0
        });
    }
}

fn tries_shared<L: TrySharedLock<Memory = Native>>(name: &str) {
    Scene::<L>::stress(name, FEW + 1, |scene, round| match round % 4 {
        0 => scene.exclusively(),
        1 => scene.if_free(),
        _ => {
            scene.shared_if_free();
            0
        }
    });
}

fn timed_shared<L: TimedSharedLock<Memory = Native>>(name: &str) {
    Scene::<L>::stress(name, FEW + 1, |scene, round| match round % 4 {
        0 => scene.exclusively(),
        1 => scene.until(Duration::from_micros(round % 50)),
        _ => {
            scene.shared_until(Duration::from_micros(round % 50));
            0
        }
    });
}

/// Threads that arrive one after the other must get the lock in this order. A thread that was
/// started earlier may arrive later, so one attempt in order is enough. A lock without an order is
/// unlikely to have such an attempt.
fn fifo<L: RawLock<Memory = Native>>(name: &str) {
    let in_order = || {
        let lock = L::default();
        let served = AtomicUsize::new(0);
        let (lock, served) = (&lock, &served);
        thread::scope(|scope| {
            let node = L::Node::default();
            // SAFETY: the node stays until the release.
            unsafe { lock.acquire(&node) };
            let come = |number| {
                thread::sleep(GAP);
                scope.spawn(move || {
                    let node = L::Node::default();
                    // SAFETY: the node stays until the release.
                    unsafe {
                        lock.acquire(&node);
                        let before = served.fetch_add(1, Relaxed);
                        lock.release(&node);
                        before == number
                    }
                })
            };
            let threads: Vec<_> = (0..QUEUE).map(come).collect();
            thread::sleep(GAP);
            // SAFETY: acquired above with this node.
            unsafe { lock.release(&node) };
            let served = threads.into_iter().map(|thread| thread.join().expect("a thread ends"));
            served.filter(|served| !served).count() == 0
        })
    };
    let found = guarded(name, || (0..ATTEMPTS).any(|_| in_order()));
    assert!(found, "{name} never served in order of arrival");
}

macro_rules! lock {
    ($name:ident, $Lock:ident, $kind:ident $($feature:ident)*) => {
        #[test]
        fn $name() {
            lock! { @ $name, $Lock, Spin, $kind $($feature)* }
            lock! { @ $name, $Lock, Yield, $kind $($feature)* }
            lock! { @ $name, $Lock, Park, $kind $($feature)* }
        }
    };
    (@ $name:ident, $Lock:ident, $Wait:ident, $kind:ident $($feature:ident)*) => {
        {
            type Lock = syncline::lock::$Lock<$Wait, Native>;
            let name = concat!(stringify!($name), " ", stringify!($Wait));
            lock!(= Lock, name, $kind);
            $(lock!(= Lock, name, $feature $kind);)*
        }
    };
    (= $Lock:ident, $n:ident, exclusive) => { exclusive::<$Lock>($n); };
    (= $Lock:ident, $n:ident, try exclusive) => { tries::<$Lock>($n); };
    (= $Lock:ident, $n:ident, timed exclusive) => { timed::<$Lock>($n); };
    (= $Lock:ident, $n:ident, fifo exclusive) => { fifo::<$Lock>($n); };
    (= $Lock:ident, $n:ident, fifo shared) => { fifo::<$Lock>($n); };
    (= $Lock:ident, $n:ident, queues exclusive) => {};
    (= $Lock:ident, $n:ident, queues shared) => {{
        type Gated = syncline::lock::RwGate<$Lock>;
        let name = format!("{} behind a gate", $n);
        shared::<Gated>(&name);
        tries::<Gated>(&name);
        tries_shared::<Gated>(&name);
    }};
    (= $Lock:ident, $n:ident, near $kind:ident) => {};
    (= $Lock:ident, $n:ident, parks $kind:ident) => {};
    (= $Lock:ident, $n:ident, spins $kind:ident) => {};
    (= $Lock:ident, $n:ident, waits $kind:ident) => {};
    (= $Lock:ident, $n:ident, shared) => {
        exclusive::<$Lock>($n);
        shared::<$Lock>($n);
    };
    (= $Lock:ident, $n:ident, try shared) => {
        tries::<$Lock>($n);
        tries_shared::<$Lock>($n);
    };
    (= $Lock:ident, $n:ident, timed shared) => {
        timed::<$Lock>($n);
        timed_shared::<$Lock>($n);
    };
}

syncline::for_each_lock!(lock);

//! For every lock whose waiters can give up: while the lock is held and others wait for it, a
//! thread that gives up again and again uses a bounded amount of memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use syncline::lock::{TimedLock, TimedSharedLock};
use syncline::{Mutex, RwLock, for_each_form};

/// The number of bytes that are allocated.
static LIVE: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: all calls are passed on to the system's allocator, with their results.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Relaxed);
        // SAFETY: our caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Relaxed);
        // SAFETY: our caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TIMES: isize = 3_000;
/// A leak of one line for each attempt would be six times as much.
const BOUND: isize = TIMES / 6 * 128;

/// Gives up `TIMES` times in one thread, while this thread holds the lock and another waits for it.
fn bounded<G>(name: &str, held: G, attempt: impl Fn() -> bool + Sync, wait: impl Fn() + Sync) {
    let coming = AtomicBool::new(false);
    let (attempt, wait, coming) = (&attempt, &wait, &coming);
    thread::scope(|scope| {
        scope.spawn(move || {
            coming.store(true, Relaxed);
            wait();
        });
        while !coming.load(Relaxed) {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(1));
        let before = LIVE.load(Relaxed);
        let attempts = scope.spawn(move || (0..TIMES).for_each(|_| assert!(!attempt(), "{name}")));
        attempts.join().unwrap();
        let more = LIVE.load(Relaxed) - before;
        drop(held);
        assert!(more < BOUND, "{name}: {more} bytes for {TIMES} attempts");
    });
}

fn exclusive<L: TimedLock>(name: &str) {
    let mutex: Mutex<(), L> = Mutex::from_raw(L::default(), ());
    let attempt = || mutex.try_lock_for(Duration::ZERO).is_some();
    bounded(name, mutex.lock(), attempt, || drop(mutex.lock()));
    assert!(mutex.try_lock().is_some(), "{name}");
}

fn shared<L: TimedSharedLock>(name: &str) {
    let lock: RwLock<(), L> = RwLock::from_raw(L::default(), ());
    let attempt = || lock.try_write_for(Duration::ZERO).is_some();
    bounded(name, lock.read(), attempt, || drop(lock.write()));
    let attempt = || lock.try_read_for(Duration::ZERO).is_some();
    bounded(name, lock.write(), attempt, || drop(lock.read()));
    assert!(lock.try_write().is_some(), "{name}");
}

#[test]
fn who_gives_up_again_and_again_needs_no_memory_with_any_lock() {
    macro_rules! form {
        ($name:expr, $waiting:ident, $type:ty, $lock:ident,
            exclusive $forms:ident try timed $($feature:ident)*) => {
            exclusive::<$type>($name);
        };
        ($name:expr, $waiting:ident, $type:ty, $lock:ident,
            shared $forms:ident try timed $($feature:ident)*) => {
            shared::<$type>($name);
        };
        ($name:expr, $waiting:ident, $type:ty, $lock:ident, $($feature:ident)*) => {};
    }
    for_each_form!(form);
}

//! For every lock of the catalogue: in debug builds, a thread that holds a lock exclusively panics
//! if it locks the lock again. In any build, the thread is refused if it only tries. Rust's types
//! rule out all other misuse of a lock, except that a reader may lock again the lock that it
//! shares: see the examples of `Mutex` and `RwLock` that don't compile. The C interface has tests
//! of its own for all of it (`library/capi/tests/c/misuse.c`).

#[cfg(debug_assertions)]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use syncline::delegation::{self, Delegated, RawDelegation};
use syncline::lock::{self, RawLock, RawSharedLock, TimedLock, TryLock, TrySharedLock};
use syncline::wait::{Park, Spin, Yield};
use syncline::{Mutex, RwLock, for_each_delegation, for_each_form};

/// Whether the call panics with the words that all these messages share.
#[cfg(debug_assertions)]
fn is_told(call: impl FnOnce()) -> bool {
    let panic = catch_unwind(AssertUnwindSafe(call)).err();
    let words = panic.as_ref().and_then(|panic| {
        panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str))
    });
    words.is_some_and(|words| words.contains("for itself forever"))
}

/// In a release build most of these calls would wait forever, so none is made.
#[cfg(not(debug_assertions))]
fn is_told(_: impl FnOnce()) -> bool {
    true
}

fn exclusive<L: RawLock>(name: &str) {
    let mutex: Mutex<u32, L> = Mutex::from_raw(L::default(), 1);
    let guard = mutex.lock();
    assert!(is_told(|| drop(mutex.lock())), "{name}");
    assert!(is_told(|| mutex.with(|_| ())), "{name}");
    drop(guard);
    mutex.with(|_| assert!(is_told(|| drop(mutex.lock())), "{name}"));
    // The panics break nothing, and another thread that waits for the lock does not panic.
    thread::scope(|scope| {
        let guard = mutex.lock();
        let other = scope.spawn(|| *mutex.lock());
        drop(guard);
        assert_eq!(other.join().expect("it waits"), 1, "{name}");
    });
}

fn exclusive_try<L: TryLock>(name: &str) {
    let mutex: Mutex<u32, L> = Mutex::from_raw(L::default(), 1);
    let guard = mutex.lock();
    assert!(mutex.try_lock().is_none(), "{name}");
    drop(guard);
    let guard = mutex.try_lock();
    assert!(guard.is_some() && is_told(|| drop(mutex.lock())), "{name}");
}

fn exclusive_timed<L: TimedLock>(name: &str) {
    let mutex: Mutex<u32, L> = Mutex::from_raw(L::default(), 1);
    let guard = mutex.lock();
    assert!(is_told(|| drop(mutex.try_lock_for(Duration::ZERO))), "{name}");
    drop(guard);
    let guard = mutex.try_lock_for(Duration::ZERO);
    assert!(guard.is_some() && is_told(|| drop(mutex.lock())), "{name}");
}

fn shared<L: RawSharedLock>(name: &str) {
    let lock: RwLock<u32, L> = RwLock::from_raw(L::default(), 1);
    let writer = lock.write();
    assert!(is_told(|| drop(lock.write())), "{name}");
    assert!(is_told(|| drop(lock.read())), "{name}");
    assert!(is_told(|| lock.with_write(|_| ())), "{name}");
    assert!(is_told(|| lock.with_read(|_| ())), "{name}");
    drop(writer);
    lock.with_write(|_| assert!(is_told(|| drop(lock.read())), "{name}"));
    // A reader is not the lock's owner.
    drop(lock.read());
    thread::scope(|scope| {
        let writer = lock.write();
        let reader = scope.spawn(|| *lock.read());
        drop(writer);
        assert_eq!(reader.join().expect("it waits"), 1, "{name}");
    });
}

fn shared_try<L: TrySharedLock>(name: &str) {
    let lock: RwLock<u32, L> = RwLock::from_raw(L::default(), 1);
    let writer = lock.write();
    assert!(lock.try_read().is_none() && lock.try_write().is_none(), "{name}");
    drop(writer);
    let reader = lock.read();
    assert!(lock.try_write().is_none(), "{name}");
    drop(reader);
    let writer = lock.try_write();
    assert!(writer.is_some() && is_told(|| drop(lock.read())), "{name}");
}

fn shared_timed<L: lock::TimedSharedLock>(name: &str) {
    let lock: RwLock<u32, L> = RwLock::from_raw(L::default(), 1);
    let writer = lock.try_write_for(Duration::ZERO);
    assert!(writer.is_some(), "{name}");
    assert!(is_told(|| drop(lock.try_write_for(Duration::ZERO))), "{name}");
    assert!(is_told(|| drop(lock.try_read_for(Duration::ZERO))), "{name}");
}

#[test]
fn locking_again_what_one_holds_is_told_with_every_lock() {
    macro_rules! form {
        ($name:expr, $waiting:ident, $type:ty, $lock:ident, exclusive $($feature:ident)*) => {
            exclusive::<$type>($name);
            $(form! { = $feature, exclusive_try, exclusive_timed, $type, $name })*
        };
        ($name:expr, $waiting:ident, $type:ty, $lock:ident, shared $($feature:ident)*) => {
            exclusive::<$type>($name);
            shared::<$type>($name);
            $(form! { = $feature, exclusive_try, exclusive_timed, $type, $name })*
            $(form! { = $feature, shared_try, shared_timed, $type, $name })*
        };
        (= try, $try:ident, $timed:ident, $type:ty, $name:expr) => { $try::<$type>($name); };
        (= timed, $try:ident, $timed:ident, $type:ty, $name:expr) => { $timed::<$type>($name); };
        (= $feature:ident, $try:ident, $timed:ident, $type:ty, $name:expr) => {};
    }
    for_each_form!(form);
}

fn delegating<D: RawDelegation + 'static>(name: &str)
where
    Delegated<u32, D>: Send,
{
    let lock = Delegated::<u32, D>::from(1);
    lock.with(|_| {
        assert!(is_told(|| lock.with(|_| ())), "{name}");
        assert!(is_told(|| drop(lock.delegate(|_| ()))), "{name}");
    });
    // A section may call another lock, and the first lock still works.
    lock.with(|_| Delegated::<u32, D>::from(1).with(|_| ()));
    assert_eq!(lock.with(|value| *value), 1, "{name}");
}

#[test]
fn a_section_that_calls_its_own_lock_is_told() {
    macro_rules! each {
        ($name:ident, $Lock:ident, $($feature:ident)*) => {
            delegating::<delegation::$Lock<Spin>>(stringify!($name));
            delegating::<delegation::$Lock<Yield>>(stringify!($name));
            delegating::<delegation::$Lock<Park>>(stringify!($name));
        };
    }
    for_each_delegation!(each);
}

//! Every lock, even one that can be shared, held by one thread at a time: with guards, with
//! closures, with tries, and with waits that are given up.

use syncline::Mutex;
use syncline::lock::{Gate, RawLock, RwGate, TimedLock, TryLock};
use syncline::wait::{Park, Spin, Yield};

use crate::{AT_ONCE, ROUNDS, THREADS, behind, fail, fails, together};

type Count<L> = Mutex<Box<u64>, L>;

fn add(count: &mut Box<u64>) {
    let next = Box::new(**count + 1);
    *count = next;
}

fn exclusive<L: RawLock>() {
    let mut mutex: Count<L> = Mutex::from_raw(L::default(), Box::new(0));
    together(|number| {
        for round in 0..ROUNDS {
            if round % 2 == number % 2 {
                mutex.with(add);
            } else {
                add(&mut mutex.lock());
            }
        }
    });
    assert_eq!(**mutex.get_mut(), THREADS * ROUNDS);
    // All threads wait, and each hands the lock over to the next. The lock is at a new address,
    // since a free lock may be moved.
    let moved = Box::new(mutex);
    behind(moved.lock(), |_| add(&mut moved.lock()));
    assert_eq!(*moved.into_inner(), THREADS * (ROUNDS + 1));
    panics::<L>();
}

fn panics<L: RawLock>() {
    let mutex: Count<L> = Mutex::from_raw(L::default(), Box::new(0));
    fails(|| mutex.with(|_| fail()));
    fails(|| {
        let mut count = mutex.lock();
        add(&mut count);
        fail()
    });
    assert_eq!(**mutex.lock(), 1);
}

fn tries<L: TryLock>() {
    let mutex: Count<L> = Mutex::from_raw(L::default(), Box::new(0));
    let got = Mutex::new(0);
    together(|_| {
        for _ in 0..ROUNDS {
            if let Some(mut count) = mutex.try_lock() {
                add(&mut count);
                *got.lock() += 1;
            }
        }
        add(&mut mutex.lock());
    });
    behind(mutex.lock(), |_| {
        drop(mutex.try_lock());
        add(&mut mutex.lock());
    });
    assert!(mutex.try_lock().is_some(), "nobody holds it");
    assert_eq!(*mutex.into_inner(), got.into_inner() + 2 * THREADS);
}

fn timed<L: TimedLock>() {
    let mutex: Count<L> = Mutex::from_raw(L::default(), Box::new(0));
    // Threads that give up wait among threads that don't, and then wait again.
    behind(mutex.lock(), |number| {
        for _ in 0..ROUNDS {
            if number != 1 {
                drop(mutex.try_lock_for(AT_ONCE));
            }
        }
        add(&mut mutex.lock());
    });
    behind(mutex.lock(), |_| {
        let count = mutex.try_lock_for(100 * AT_ONCE);
        if let Some(mut count) = count {
            add(&mut count);
        }
    });
    assert!(mutex.try_lock_for(AT_ONCE).is_some(), "nobody holds it");
    assert!(**mutex.lock() >= THREADS);
}

/// Debug builds identify threads by numbers that later threads may reuse.
#[test]
fn threads_that_ended() {
    let mutex = Mutex::new(0);
    for _ in 0..20 * ROUNDS {
        together(|_| *mutex.lock() += 1);
    }
    assert_eq!(mutex.into_inner(), 20 * ROUNDS * THREADS);
}

macro_rules! lock {
    ($name:ident, $Lock:ident, $kind:ident $($feature:ident)*) => {
        mod $name {
            use super::*;
            use syncline::lock::$Lock;

            #[test]
            fn exclusive() {
                super::exclusive::<$Lock<Spin>>();
                super::exclusive::<$Lock<Yield>>();
                super::exclusive::<$Lock<Park>>();
            }
            $(lock! { = $feature $kind $Lock })*
        }
    };
    (= try $kind:ident $Lock:ident) => {
        #[test]
        fn tries() {
            super::tries::<$Lock<Spin>>();
            super::tries::<$Lock<Yield>>();
            super::tries::<$Lock<Park>>();
        }
    };
    (= timed $kind:ident $Lock:ident) => {
        #[test]
        fn timed() {
            super::timed::<$Lock<Spin>>();
            super::timed::<$Lock<Yield>>();
            super::timed::<$Lock<Park>>();
        }
    };
    // Queue locks are also tested behind a gate, at which their waiters park.
    (= queues exclusive $Lock:ident) => { lock! { @ Gate $Lock } };
    (= queues shared $Lock:ident) => { lock! { @ RwGate $Lock } };
    (= fifo $kind:ident $Lock:ident) => {};
    (= near $kind:ident $Lock:ident) => {};
    (= waits $kind:ident $Lock:ident) => {};
    (= parks $kind:ident $Lock:ident) => {};
    (= spins $kind:ident $Lock:ident) => {};
    (@ $Gate:ident $Lock:ident) => {
        #[test]
        fn behind_a_gate() {
            super::exclusive::<$Gate<$Lock<Park>>>();
            super::tries::<$Gate<$Lock<Park>>>();
        }
    };
}

syncline::for_each_lock!(lock);

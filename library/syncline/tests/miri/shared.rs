//! Every lock that readers can share.

use syncline::RwLock;
use syncline::lock::{RawSharedLock, RwGate, TimedSharedLock, TrySharedLock};
use syncline::wait::{Park, Spin, Yield};

use crate::{AT_ONCE, ROUNDS, THREADS, behind, fail, fails, together};

/// Two numbers. Only writers change them, always both.
type Pair<L> = RwLock<[Box<u64>; 2], L>;

fn pair<L: RawSharedLock>() -> Pair<L> {
    RwLock::from_raw(L::default(), [Box::new(0), Box::new(0)])
}

fn add(pair: &mut [Box<u64>; 2]) {
    *pair = [Box::new(*pair[0] + 1), Box::new(*pair[1] + 1)];
}

fn look(pair: &[Box<u64>; 2]) {
    assert_eq!(pair[0], pair[1], "a reader saw half of a change");
}

fn shared<L: RawSharedLock>() {
    let lock = pair::<L>();
    together(|number| {
        for round in 0..ROUNDS {
            match (round + number) % 4 {
                0 => lock.with_write(add),
                1 => lock.with_read(look),
                2 => add(&mut lock.write()),
                _ => look(&lock.read()),
            }
        }
    });
    let moved = Box::new(lock);
    let use_it = |number| if number == 0 { add(&mut moved.write()) } else { look(&moved.read()) };
    behind(moved.write(), use_it);
    behind(moved.read(), use_it);
    fails(|| moved.with_read(|_| fail()));
    fails(|| moved.with_write(|_| fail()));
    // All readers hold the lock at the same time.
    let met = std::sync::Barrier::new(THREADS as usize);
    together(|_| {
        let pair = moved.read();
        _ = met.wait();
        look(&pair);
    });
    look(&moved.into_inner());
}

fn tries<L: TrySharedLock>() {
    let lock = pair::<L>();
    let use_it = |number: u64| {
        for round in 0..ROUNDS {
            match (round + number) % 3 {
                0 => lock.with_write(add),
                1 => drop(lock.try_write().map(|mut pair| add(&mut pair))),
                _ => drop(lock.try_read().map(|pair| look(&pair))),
            }
        }
    };
    together(use_it);
    behind(lock.write(), use_it);
    behind(lock.read(), use_it);
    assert!(lock.try_read().is_some() && lock.try_write().is_some(), "nobody holds it");
}

fn timed<L: TimedSharedLock>() {
    let lock = pair::<L>();
    let use_it = |number| {
        match number {
            0 => drop(lock.try_write_for(AT_ONCE)),
            1 => drop(lock.try_read_for(AT_ONCE)),
            _ => add(&mut lock.write()),
        }
        lock.with_read(look);
    };
    behind(lock.write(), use_it);
    behind(lock.read(), use_it);
    behind(lock.read(), |number| match number {
        0 => drop(lock.try_write_for(100 * AT_ONCE).map(|mut pair| add(&mut pair))),
        _ => drop(lock.try_read_for(100 * AT_ONCE).map(|pair| look(&pair))),
    });
    assert!(lock.try_write_for(AT_ONCE).is_some() && lock.try_read_for(AT_ONCE).is_some());
}

macro_rules! lock {
    ($name:ident, $Lock:ident, exclusive $($feature:ident)*) => {};
    ($name:ident, $Lock:ident, shared $($feature:ident)*) => {
        mod $name {
            use super::*;
            use syncline::lock::$Lock;

            #[test]
            fn shared() {
                super::shared::<$Lock<Spin>>();
                super::shared::<$Lock<Yield>>();
                super::shared::<$Lock<Park>>();
            }
            $(lock! { = $feature $Lock })*
        }
    };
    (= try $Lock:ident) => {
        #[test]
        fn tries() {
            super::tries::<$Lock<Spin>>();
            super::tries::<$Lock<Yield>>();
            super::tries::<$Lock<Park>>();
        }
    };
    (= timed $Lock:ident) => {
        #[test]
        fn timed() {
            super::timed::<$Lock<Spin>>();
            super::timed::<$Lock<Yield>>();
            super::timed::<$Lock<Park>>();
        }
    };
    (= queues $Lock:ident) => {
        #[test]
        fn behind_a_gate() {
            super::shared::<RwGate<$Lock<Park>>>();
            super::tries::<RwGate<$Lock<Park>>>();
        }
    };
    (= fifo $Lock:ident) => {};
    (= waits $Lock:ident) => {};
    (= parks $Lock:ident) => {};
    (= spins $Lock:ident) => {};
}

syncline::for_each_lock!(lock);

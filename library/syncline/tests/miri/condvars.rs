//! A condition variable with every lock.

use syncline::lock::RawLock;
use syncline::wait::{Park, Spin, Yield};
use syncline::{Condvar, Mutex};

use crate::{AT_ONCE, ROUNDS, SOON, together};

/// One thread puts boxes into a slot, and two take them out and wake all threads that wait for an
/// empty slot.
fn slot<L: RawLock<Memory = syncline::memory::Native>>() {
    let slot: Mutex<Option<Box<u64>>, L> = Mutex::from_raw(L::default(), None);
    let (filled, emptied) = (Condvar::new(), Condvar::new());
    together(|number| {
        for round in 0..2 * ROUNDS {
            let mut slot = slot.lock();
            if number == 0 {
                emptied.wait_while(&mut slot, |slot| slot.is_some());
                *slot = Some(Box::new(round));
                filled.notify_one();
            } else if round < ROUNDS {
                filled.wait_while(&mut slot, |slot| slot.is_none());
                drop(slot.take());
                emptied.notify_all();
            }
        }
    });
    let mut slot = slot.lock();
    assert!(slot.is_none() && !filled.has_waiters());
    while !filled.wait_for(&mut slot, AT_ONCE).timed_out() {}
}

macro_rules! lock {
    ($name:ident, $Lock:ident, $($feature:ident)*) => {
        #[test]
        fn $name() {
            slot::<syncline::lock::$Lock<Spin>>();
            slot::<syncline::lock::$Lock<Yield>>();
            slot::<syncline::lock::$Lock<Park>>();
        }
    };
}

syncline::for_each_lock!(lock);

#[test]
fn a_gated_lock() {
    slot::<syncline::lock::GatedClh>();
}

#[test]
fn a_condition_variable_is_dropped_as_soon_as_its_last_waiter_is_woken() {
    for _ in 0..ROUNDS {
        let go = Mutex::new(false);
        let changed = Box::new(Condvar::new());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| changed.wait_while(&mut go.lock(), |go| !*go));
            std::thread::sleep(SOON);
            *go.lock() = true;
            changed.notify_one();
            waiting.join().expect("it is woken");
        });
        drop(changed);
    }
}

// A mutex of parking_lot's.

use peer::{MappedMutexGuard, Mutex, MutexGuard, ReentrantMutex};
use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

static EVENTS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn last(events: &Mutex<Vec<u32>>) -> Option<MappedMutexGuard<'_, u32>> {
    MutexGuard::try_map(events.lock(), |events| events.last_mut()).ok()
}

#[test]
fn a_part_is_handed_out() {
    assert!(last(&EVENTS).is_none());
    EVENTS.lock().push(1);
    *last(&EVENTS).unwrap() += 1;
    let first = MutexGuard::map(EVENTS.lock(), |events| &mut events[..]);
    let first = MappedMutexGuard::map(first, |events| &mut events[0]);
    assert_eq!(*first, 2);
}

#[test]
fn waiting_ends() {
    let busy = Mutex::new(());
    let guard = busy.lock();
    thread::scope(|scope| {
        scope.spawn(|| {
            let soon = Duration::from_millis(5);
            assert!(busy.try_lock().is_none() && busy.is_locked());
            assert!(busy.try_lock_for(soon).is_none());
            assert!(busy.try_lock_until(Instant::now() + soon).is_none());
        });
    });
    drop(guard);
    assert!(busy.try_lock_for(Duration::ZERO).is_some());
}

#[test]
fn a_guard_lets_others_in() {
    let turns = Mutex::new(0);
    let mut guard = turns.lock();
    MutexGuard::unlocked(&mut guard, || *turns.lock() += 1);
    *guard += 1;
    drop(guard);
    assert_eq!(turns.into_inner(), 2);
}

#[test]
fn a_function_locks_what_its_caller_has_locked() {
    fn add(to: &ReentrantMutex<RefCell<Vec<u32>>>, what: u32) {
        to.lock().borrow_mut().push(what);
    }
    let list = ReentrantMutex::new(RefCell::new(vec![]));
    let guard = list.lock();
    add(&list, 1);
    add(&list, 2);
    assert!(list.is_owned_by_current_thread() && list.try_lock().is_some());
    thread::scope(|scope| {
        scope.spawn(|| assert!(list.is_locked() && list.try_lock().is_none()));
    });
    assert_eq!(*guard.borrow(), [1, 2]);
}

// Guards of parking_lot's that own their lock (its feature `arc_lock`).

use peer::{Mutex, RwLock};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn guards_outlive_the_name_of_their_lock() {
    let mut guard = {
        let mutex = Arc::new(Mutex::new(1));
        assert!(mutex.try_lock_arc().is_some());
        assert!(mutex.try_lock_arc_for(Duration::ZERO).is_some());
        mutex.lock_arc()
    };
    *guard += 1;
    assert_eq!(*guard, 2);
    let lock = Arc::new(RwLock::new(vec![1]));
    lock.write_arc().push(2);
    let (first, second) = (lock.read_arc(), lock.try_read_arc());
    assert!(lock.try_write_arc().is_none());
    assert_eq!(*first, *second.unwrap());
}

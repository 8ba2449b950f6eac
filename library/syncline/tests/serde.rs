//! A value under a lock is serialized and deserialized like the value itself.
#![cfg(feature = "serde")]

use syncline::lock::{FairRw, Mcs};
use syncline::{Mutex, ReentrantMutex, RwLock};

#[test]
fn a_lock_is_written_as_its_value() {
    let mutex: Mutex<_, Mcs> = Mutex::with_lock(vec![1, 2]);
    assert_eq!(serde_json::to_string(&mutex).unwrap(), "[1,2]");
    assert!(!mutex.is_locked());
    let lock: RwLock<_, FairRw> = RwLock::with_lock("a");
    assert_eq!(serde_json::to_string(&lock).unwrap(), "\"a\"");
    assert_eq!(serde_json::to_string(&ReentrantMutex::new(5)).unwrap(), "5");
}

#[test]
fn a_deserialized_lock_is_free_and_has_the_value() {
    let mutex: Mutex<Vec<u32>, Mcs> = serde_json::from_str("[1,2]").unwrap();
    assert_eq!(*mutex.try_lock().unwrap(), [1, 2]);
    let lock: RwLock<String> = serde_json::from_str("\"a\"").unwrap();
    assert_eq!(*lock.read(), "a");
    let mutex: ReentrantMutex<u32> = serde_json::from_str("5").unwrap();
    assert_eq!(mutex.into_inner(), 5);
}

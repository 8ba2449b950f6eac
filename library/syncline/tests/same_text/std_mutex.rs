// A mutex of the standard library's: shared by threads, moved, taken apart.

use peer::{Mutex, MutexGuard};
use std::sync::Arc;
use std::thread;

static TOTAL: Mutex<u32> = Mutex::new(0);

#[test]
fn threads_add_up() {
    let sum = Arc::new(Mutex::new(0));
    let adders = (1..=8).map(|share| {
        let sum = Arc::clone(&sum);
        thread::spawn(move || {
            *held!(sum.lock()) += share;
            *held!(TOTAL.lock()) += share;
        })
    });
    for adder in adders.collect::<Vec<_>>() {
        adder.join().unwrap();
    }
    assert_eq!((*held!(sum.lock()), *held!(TOTAL.lock())), (36, 36));
}

#[test]
fn what_is_locked_is_not_shown() {
    let stock = Mutex::new(vec!["bolts"]);
    let mut shelf = held!(stock.lock());
    assert!(format!("{stock:?}").contains("<locked>"));
    shelf.push("nuts");
    drop(shelf);
    thread::scope(|scope| {
        scope.spawn(|| held!(stock.lock()).retain(|what| what.len() == 4));
    });
    assert_eq!(held!(stock.into_inner()), ["nuts"]);
}

#[test]
fn the_only_owner_needs_no_lock() {
    let mut name = Mutex::from(String::from("a"));
    held!(name.get_mut()).push('b');
    assert_eq!(format!("{}", held!(name.lock())), "ab");
    let empty: Mutex<String> = Mutex::default();
    assert!(held!(empty.lock()).is_empty());
}

#[test]
fn a_guard_is_passed_on() {
    fn double(mut number: MutexGuard<'_, u64>) -> u64 {
        *number *= 2;
        *number
    }
    let number = Mutex::new(21);
    assert_eq!(double(held!(number.lock())), 42);
}

#[test]
fn a_value_may_be_a_slice_or_a_trait() {
    let numbers: &Mutex<[i32]> = &Mutex::new([3, 1, 2]);
    held!(numbers.lock()).sort_unstable();
    assert_eq!(*held!(numbers.lock()), [1, 2, 3]);
    let shown: Box<Mutex<dyn std::fmt::Debug + Send>> = Box::new(Mutex::new(7));
    assert_eq!(format!("{:?}", &*held!(shown.lock())), "7");
}

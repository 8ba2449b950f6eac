// A reader-writer lock of the standard library's.

use peer::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::BTreeMap;
use std::thread;

static PRICES: RwLock<BTreeMap<&str, u32>> = RwLock::new(BTreeMap::new());

fn price<'a>(prices: &'a RwLockReadGuard<'_, BTreeMap<&str, u32>>, of: &str) -> Option<&'a u32> {
    prices.get(of)
}

fn set(prices: &mut RwLockWriteGuard<'_, BTreeMap<&'static str, u32>>, of: &'static str, to: u32) {
    prices.insert(of, to);
}

#[test]
fn many_read_and_one_writes() {
    set(&mut held!(PRICES.write()), "tea", 3);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(price(&held!(PRICES.read()), "tea") >= Some(&3)));
        }
        scope.spawn(|| set(&mut held!(PRICES.write()), "tea", 4));
    });
    let (one, other) = (held!(PRICES.read()), held!(PRICES.read()));
    assert_eq!((one["tea"], other.len()), (4, 1));
}

#[test]
fn the_only_owner_needs_no_lock() {
    let mut limit = RwLock::from(5);
    *held!(limit.get_mut()) += 1;
    assert_eq!(held!(limit.into_inner()), 6);
    assert_eq!(*held!(RwLock::<u8>::default().read()), 0);
}

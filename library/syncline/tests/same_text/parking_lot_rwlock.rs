// A reader-writer lock of parking_lot's.

use peer::{MappedRwLockReadGuard, MappedRwLockWriteGuard};
use peer::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

struct Settings {
    name: String,
    size: RwLock<(u32, u32)>,
}

impl Settings {
    fn width(&self) -> MappedRwLockReadGuard<'_, u32> {
        RwLockReadGuard::map(self.size.read(), |size| &size.0)
    }

    fn height_mut(&self) -> MappedRwLockWriteGuard<'_, u32> {
        RwLockWriteGuard::map(self.size.write(), |size| &mut size.1)
    }
}

#[test]
fn parts_are_handed_out() {
    let settings = Settings { name: "a".to_owned(), size: RwLock::new((80, 25)) };
    *settings.height_mut() *= 2;
    assert_eq!((settings.name.len(), *settings.width(), settings.size.read().1), (1, 80, 50));
    let wide = |size: &RwLock<(u32, u32)>| {
        RwLockReadGuard::try_map(size.read(), |size| (size.0 > 100).then_some(&size.0)).is_ok()
    };
    assert!(!wide(&settings.size));
    settings.size.write().0 = 200;
    assert!(wide(&settings.size));
}

#[test]
fn waiting_ends() {
    let lock = RwLock::new(0);
    let reader = lock.read();
    thread::scope(|scope| {
        scope.spawn(|| {
            let soon = Duration::from_millis(5);
            assert!(lock.try_read().is_some() && lock.try_write().is_none());
            assert!(lock.try_write_for(soon).is_none());
            assert!(lock.try_write_until(Instant::now() + soon).is_none());
            assert!(lock.try_read_for(soon).is_some());
            assert!(lock.try_read_until(Instant::now()).is_some());
        });
    });
    assert!(lock.is_locked() && !lock.is_locked_exclusive());
    drop(reader);
    let writer = lock.write();
    assert!(lock.is_locked_exclusive());
    let reader = RwLockWriteGuard::downgrade(writer);
    assert!(lock.try_read().is_some());
    assert_eq!(*reader, 0);
}

//! The shared locks under native threads: readers share, writers exclude, and no thread waits
//! forever. If a thread waits forever, its test doesn't end.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use bytemuck::Zeroable;
use syncline::RwLock;
use syncline::lock::{
    CompactRw, FairRw, FlagRw, RawSharedLock, ReadersFirst, TimedSharedLock, TrySharedLock,
    WritersFirst,
};
use syncline::wait::{Park, Spin, Yield};

/// Makes a module of tests for each lock under each policy. The number of threads, and that of each
/// thread's sections, suit the policy.
macro_rules! under_each_policy {
    ($tests:tt $($name:ident $lock:ident,)*) => { $(
        mod $name {
            use super::*;
            under_each_policy! { @as spin, $lock<Spin>, 2, 300, $tests }
            under_each_policy! { @as yields, $lock<Yield>, 6, 500, $tests }
            under_each_policy! { @as park, $lock<Park>, 16, 2000, $tests }
        }
    )* };
    (@as $policy:ident, $lock:ty, $threads:literal, $sections:literal, [$($test:ident)*]) => {
        mod $policy {
            use super::*;
            $(
                #[test]
                fn $test() {
                    crate::$test::<$lock>($threads, $sections);
                }
            )*
        }
    };
}

under_each_policy! { [writers_exclude readers_share mixed_guards]
    compact CompactRw, flag FlagRw, fair FairRw, readers ReadersFirst, writers WritersFirst,
}

mod trying {
    use super::*;
    under_each_policy! { [tries_and_waits]
        compact CompactRw, flag FlagRw, readers ReadersFirst, writers WritersFirst,
    }
}

mod timed {
    use super::*;
    under_each_policy! { [giving_up_loses_nobody expires writer_that_gives_up_lets_readers_in]
        compact CompactRw, flag FlagRw,
    }
}

/// Two counters. Only writers change them, always both.
type Pair = (u64, u64);

/// Whether the thread writes in this section. About one section in four writes. Which sections
/// write differs from thread to thread.
fn writes(thread: u32, section: u32) -> bool {
    (thread * 7 + section).wrapping_mul(0x9E37_79B9) >> 30 == 0
}

fn all_writes(threads: u32, sections: u32) -> u64 {
    let of = |thread| (0..sections).filter(|&section| writes(thread, section)).count() as u64;
    (0..threads).map(of).sum()
}

fn writers_exclude<L: RawSharedLock + Zeroable>(threads: u32, sections: u32) {
    let lock: RwLock<Pair, L> = RwLock::from_raw(L::default(), (0, 0));
    thread::scope(|scope| {
        for thread in 0..threads {
            let lock = &lock;
            scope.spawn(move || {
                for section in 0..sections {
                    if writes(thread, section) {
                        lock.with_write(|pair| {
                            pair.0 += 1;
                            if section % 64 == 0 {
                                thread::yield_now();
                            }
                            pair.1 += 1;
                            assert_eq!(pair.0, pair.1);
                        });
                    } else {
                        lock.with_read(|pair| {
                            let first = pair.0;
                            if section % 64 == 0 {
                                thread::yield_now();
                            }
                            assert_eq!((first, first), *pair);
                        });
                    }
                }
            });
        }
    });
    assert_eq!(lock.into_inner().0, all_writes(threads, sections));
}

fn readers_share<L: RawSharedLock + Zeroable>(_: u32, _: u32) {
    let lock: RwLock<(), L> = RwLock::from_raw(L::default(), ());
    let inside = Barrier::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20 {
                    lock.with_read(|()| inside.wait());
                }
            });
        }
    });
}

fn mixed_guards<L: RawSharedLock + Zeroable>(threads: u32, sections: u32) {
    let mut lock: RwLock<Pair, L> = RwLock::from_raw(L::default(), (0, 0));
    thread::scope(|scope| {
        for thread in 0..threads {
            let lock = &lock;
            scope.spawn(move || {
                for section in 0..sections / 4 {
                    if writes(thread, section) {
                        let mut pair = lock.write();
                        pair.0 += 1;
                        pair.1 += 1;
                    } else {
                        let pair = lock.read();
                        assert_eq!(pair.0, pair.1);
                    }
                }
            });
        }
    });
    assert_eq!(lock.get_mut().1, all_writes(threads, sections / 4));
}

fn tries_and_waits<L: TrySharedLock + Zeroable>(threads: u32, sections: u32) {
    let lock: RwLock<Pair, L> = RwLock::from_raw(L::default(), (0, 0));
    let refused = AtomicU32::new(0);
    let check = |pair: &Pair| assert_eq!(pair.0, pair.1);
    let count = |pair: &mut Pair| {
        pair.0 += 1;
        pair.1 += 1;
    };
    thread::scope(|scope| {
        for thread in 0..threads {
            let (lock, refused) = (&lock, &refused);
            scope.spawn(move || {
                for section in 0..sections {
                    match (writes(thread, section), section % 2) {
                        (true, 0) => lock.with_write(count),
                        (false, 0) => lock.with_read(check),
                        (true, _) => match lock.try_write() {
                            Some(mut pair) => count(&mut pair),
                            None => _ = refused.fetch_add(1, Relaxed),
                        },
                        (false, _) => _ = lock.try_read().map(|pair| check(&pair)),
                    }
                }
            });
        }
    });
    assert!(lock.try_write().is_some() && lock.try_read().is_some());
    let refused = u64::from(refused.into_inner());
    assert_eq!(lock.into_inner().0, all_writes(threads, sections) - refused);
}

fn giving_up_loses_nobody<L: TimedSharedLock + Zeroable>(threads: u32, sections: u32) {
    let lock: RwLock<Pair, L> = RwLock::from_raw(L::default(), (0, 0));
    let refused = AtomicU32::new(0);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (lock, refused) = (&lock, &refused);
            scope.spawn(move || {
                for section in 0..sections {
                    let patience = Duration::from_micros(u64::from(section % 200));
                    let stays = section % 2 == 0;
                    if writes(thread, section) {
                        let pair =
                            if stays { Some(lock.write()) } else { lock.try_write_for(patience) };
                        let Some(mut pair) = pair else {
                            refused.fetch_add(1, Relaxed);
                            continue;
                        };
                        pair.0 += 1;
                        if section % 8 == 0 {
                            thread::yield_now();
                        }
                        pair.1 += 1;
                    } else {
                        let pair =
                            if stays { Some(lock.read()) } else { lock.try_read_for(patience) };
                        if let Some(pair) = pair {
                            assert_eq!(pair.0, pair.1);
                        }
                    }
                }
            });
        }
    });
    let refused = u64::from(refused.into_inner());
    assert_eq!(lock.into_inner().0, all_writes(threads, sections) - refused);
}

fn expires<L: TimedSharedLock + Zeroable>(_: u32, _: u32) {
    const PATIENCE: Duration = Duration::from_millis(5);
    let lock: RwLock<(), L> = RwLock::from_raw(L::default(), ());
    let another = |timed: &(dyn Fn() -> bool + Sync)| {
        thread::scope(|scope| scope.spawn(timed).join().unwrap())
    };
    let reader = lock.read();
    assert!(!another(&|| lock.try_write_for(PATIENCE).is_some()));
    assert!(another(&|| lock.try_read_for(Duration::ZERO).is_some()));
    drop(reader);
    let writer = lock.write();
    assert!(!another(&|| lock.try_write_for(PATIENCE).is_some()));
    assert!(!another(&|| lock.try_read_for(PATIENCE).is_some()));
    drop(writer);
    assert!(another(&|| lock.try_write_until(Duration::ZERO).is_some()));
    assert!(another(&|| lock.try_read_until(Duration::ZERO).is_some()));
}

fn writer_that_gives_up_lets_readers_in<L: TimedSharedLock + Zeroable>(_: u32, _: u32) {
    let lock: RwLock<(), L> = RwLock::from_raw(L::default(), ());
    let _reader = lock.read();
    thread::scope(|scope| {
        scope.spawn(|| assert!(lock.try_write_for(Duration::from_millis(50)).is_none()));
        // The first readers may come before the writer waits. Nearly all others wait until the
        // writer gives up.
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2 {
                    thread::yield_now();
                    drop(lock.read());
                }
            });
        }
    });
}

#[test]
fn a_panic_releases() {
    let lock = RwLock::new(0);
    let panics = |section: &(dyn Fn() + Sync)| {
        thread::scope(|scope| assert!(scope.spawn(section).join().is_err()));
    };
    panics(&|| lock.with_write(|_| panic!("on purpose")));
    panics(&|| lock.with_read(|_| panic!("on purpose")));
    assert_eq!(format!("{lock:?}"), "RwLock { data: 0, .. }");
    let mut value = lock.try_write().unwrap();
    *value = 1;
    assert_eq!(format!("{lock:?} {value:?}"), "RwLock { data: <locked>, .. } 1");
}

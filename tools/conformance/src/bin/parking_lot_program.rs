//! A program to be recorded, which uses the locks of `parking_lot`. A recording shows only those
//! waits for these locks that sleep in the kernel.

use parking_lot::{Condvar, Mutex, ReentrantMutex, RwLock};
use std::thread;
use std::time::Duration;

const THREADS: u64 = 4;
const ROUNDS: u64 = 20_000;

fn contend() {
    let (mutex, rwlock, reentrant) = (Mutex::new(0), RwLock::new((0, 0)), ReentrantMutex::new(()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    *mutex.lock() += 1;
                    let _outer = reentrant.lock();
                    let _inner = reentrant.lock();
                    if round % 8 == 0 {
                        let mut both = rwlock.write();
                        both.0 += 1;
                        both.1 += 1;
                    } else {
                        let both = rwlock.read();
                        assert_eq!(both.0, both.1);
                    }
                }
            });
        }
    });
    println!("mutex {}, rwlock {:?}", mutex.into_inner(), rwlock.into_inner());
}

/// Waits in ways that certainly sleep in the kernel: for a lock whose holder sleeps, and for a
/// condition.
fn block() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        let mut guard = mutex.lock();
        scope.spawn(|| {
            *mutex.lock() += 1;
            condvar.notify_one();
        });
        thread::sleep(Duration::from_millis(20));
        condvar.wait(&mut guard);
        println!("blocked {}", *guard);
        println!(
            "timed out {}",
            condvar.wait_for(&mut guard, Duration::from_millis(2)).timed_out()
        );
    });
}

fn main() {
    contend();
    block();
    let pid = std::process::id();
    println!("@{pid} 0 ThreadCreate * {}", THREADS + 1);
    println!("@{pid} 0 FutexWait * 2+");
    println!("@{pid} 0 FutexWake * 1+");
}

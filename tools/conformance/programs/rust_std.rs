//! The locks of Rust's std. They are a part of the program, so only their waits in the kernel are
//! visible to a recorder.

use std::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::Duration;

const THREADS: u64 = 4;
const ROUNDS: u64 = 20_000;

fn contend() {
    let (mutex, rwlock) = (Mutex::new(0), RwLock::new((0, 0)));
    let barrier = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                for round in 0..ROUNDS {
                    *mutex.lock().unwrap() += 1;
                    if round % 8 == 0 {
                        let mut both = rwlock.write().unwrap();
                        both.0 += 1;
                        both.1 += 1;
                    } else {
                        let both = rwlock.read().unwrap();
                        assert_eq!(both.0, both.1);
                    }
                }
            });
        }
    });
    println!("mutex {}, rwlock {:?}", mutex.into_inner().unwrap(), rwlock.into_inner().unwrap());
}

/// Has waits that block for certain, because the holder of the lock sleeps.
fn block() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.lock().unwrap();
    let waiter = thread::spawn({
        let mutex = Arc::clone(&mutex);
        move || *mutex.lock().unwrap() += 1
    });
    thread::sleep(Duration::from_millis(20));
    drop(guard);
    waiter.join().unwrap();
    println!("blocked {}", mutex.lock().unwrap());
}

fn condvar_and_park() {
    let pair = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        let parked = scope.spawn(thread::park);
        scope.spawn(|| {
            let mut stage = pair.0.lock().unwrap();
            while *stage < 10 {
                stage = pair.1.wait(stage).unwrap();
            }
            println!("stage {stage}");
        });
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(1));
            *pair.0.lock().unwrap() += 1;
            pair.1.notify_all();
        }
        parked.thread().unpark();
    });
    let (lock, condvar) = pair;
    let timeout = condvar.wait_timeout(lock.lock().unwrap(), Duration::from_millis(2)).unwrap().1;
    println!("timed out {}", timeout.timed_out());
}

fn others() {
    static ONCE: Once = Once::new();
    static CELL: OnceLock<u64> = OnceLock::new();
    let (send, receive) = mpsc::sync_channel(1);
    let sender = thread::spawn(move || {
        for value in 0..1000_u64 {
            ONCE.call_once(|| println!("once"));
            send.send(value + CELL.get_or_init(|| 1)).unwrap();
        }
    });
    println!("received {}", receive.iter().sum::<u64>());
    sender.join().unwrap();
    let panicked = thread::spawn(|| {
        std::panic::set_hook(Box::new(|_| ()));
        panic!("in a thread")
    });
    println!("panicked {}", panicked.join().is_err());
}

fn main() {
    contend();
    block();
    condvar_and_park();
    others();
    let pid = std::process::id();
    println!("@{pid} 0 ThreadCreate * {}", THREADS + 5);
    println!("@{pid} 0 ThreadJoin * 3+");
    println!("@{pid} 0 FutexWait * 2+");
    println!("@{pid} 0 FutexWake * 2+");
}

//! The memory of a lock: its own size, the size of a waiter's node, and the memory that it
//! allocates.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::contender::Contender;
use super::work::{Work, loops_per_nanosecond};
use crate::heap;

/// The memory of a lock. All sizes are in bytes.
pub struct Footprint {
    pub name: String,
    /// The bytes of the lock itself.
    pub lock: usize,
    /// The bytes of the node that each waiter and holder needs.
    pub node: usize,
    /// The bytes allocated for each lock that has been used.
    pub heap_per_lock: usize,
    /// The bytes allocated for each of the threads that have contended for one lock.
    pub heap_per_thread: usize,
}

const LOCKS: usize = 64;
/// The number of threads. The second number is for locks with which 8 threads would use up each
/// other's time slices.
const THREADS: [usize; 2] = [8, 2];
const SLOT: Duration = Duration::from_millis(5);
const SECTION_NANOSECONDS: f64 = 20_000.0;

impl Footprint {
    /// Measures a lock's memory. No other thread may allocate at that time.
    pub fn of(contender: &Contender) -> Footprint {
        Footprint {
            name: contender.name.clone(),
            lock: contender.bytes,
            node: contender.node_bytes,
            heap_per_lock: per_lock(contender),
            heap_per_thread: per_thread(contender),
        }
    }
}

/// The mean number of bytes that the first use of a lock allocates. Memory that a thread allocates
/// only once is divided among many locks.
fn per_lock(contender: &Contender) -> usize {
    let taken_by = |locks: usize| {
        let before = heap::in_use();
        let rows: Vec<_> = (0..locks).map(|_| (contender.row)(1)).collect();
        rows.iter().for_each(|row| row.pairs(1));
        heap::in_use().saturating_sub(before)
    };
    let unused = |locks: usize| {
        // These bytes are subtracted below, so that the benchmark's own cells, and the lists that
        // hold them, are not counted.
        let before = heap::in_use();
        let rows: Vec<_> = (0..locks).map(|_| (contender.row)(1)).collect();
        let taken = heap::in_use().saturating_sub(before);
        drop(rows);
        taken
    };
    let own = unused(LOCKS);
    taken_by(LOCKS).saturating_sub(own) / LOCKS
}

fn per_thread(contender: &Contender) -> usize {
    let threads = THREADS[usize::from(contender.starves_oversubscribed())];
    let row = (contender.row)(1);
    row.pairs(1);
    let stop = AtomicBool::new(false);
    let [ready, go, done, leave] = [(); 4].map(|()| Barrier::new(threads + 1));
    thread::scope(|scope| {
        let mut handles = Vec::with_capacity(threads);
        for thread in 0..threads {
            let (row, stop) = (&row, &stop);
            let (ready, go, done, leave) = (&ready, &go, &done, &leave);
            handles.push(scope.spawn(move || {
                let mut work = Work::new(thread, 1, stop);
                work.section = (SECTION_NANOSECONDS * loops_per_nanosecond()) as u32;
                work.reserve();
                ready.wait();
                go.wait();
                row.work(&mut work);
                done.wait();
                leave.wait();
            }));
        }
        ready.wait();
        let before = heap::in_use();
        go.wait();
        thread::sleep(SLOT);
        stop.store(true, Relaxed);
        done.wait();
        let taken = heap::in_use().saturating_sub(before) / threads;
        leave.wait();
        // The last memory of a thread is freed when the thread is joined.
        handles.into_iter().for_each(|handle| handle.join().expect("no thread panics"));
        taken
    })
}

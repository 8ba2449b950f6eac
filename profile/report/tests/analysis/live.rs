//! Test of two readings of a recording that grows.

use syncline_analysis::{Live, Options};
use syncline_recording::Op;
use syncline_recording::layout::THREAD_RUNNING;
use tempfile::TempDir;

use crate::fixture::{Fixture, MS, SECOND};

fn recording(calls: u64, waits: &[u64]) -> Fixture {
    let mut f = Fixture::new(&["/bin/app"], 5);
    let stack = f.stack(&[0x1010]);
    let thread = f.thread("worker", 0..SECOND);
    f.row(thread, Op::MutexLock, 0x500, stack, calls).waited(waits);
    f.row(thread, Op::MutexLock, 0x600, stack, 7);
    f
}

#[test]
fn rates_cover_the_time_between_two_looks() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("1.syncline");
    recording(100, &[MS]).write(&path);
    let mut live = Live::new(folder.path(), &Options::default());
    let first = live.look().unwrap();
    assert!(first[0].locks.is_empty(), "nothing to compare with");

    let mut later = recording(300, &[MS, 2 * MS, 2 * MS]);
    let record = &mut later.threads[0];
    (record.state, record.ended) = (THREAD_RUNNING, 0);
    (record.waiting_op, record.waiting_lock) = (Op::MutexLock as u32, 0x500);
    later.write(&path);
    let [process] = &live.look().unwrap()[..] else { panic!("one process") };
    let [lock] = &process.locks[..] else { panic!("only one lock was used since") };
    assert_eq!((lock.address, lock.waiting, process.threads), (0x500, 1, 1));
    // The time between the readings is not known, but the ratios are.
    assert!((lock.calls / lock.waits - 100.0).abs() < 1e-6);
    assert!((lock.waited / lock.waits - 0.002).abs() < 1e-9);
    assert_eq!(lock.place, "0x100f");
    assert_eq!((process.waiting[0].tid, process.waiting[0].address), (4711, 0x500));
}

//! Figures compared with numbers computed by hand.

use syncline_analysis::model::{Kind, Note, Quadrant, State};
use syncline_recording::layout::{PROCESS_RUNNING, THREAD_RUNNING};
use syncline_recording::{Op, Primitive};

use crate::fixture::{Fixture, MS, SECOND, START, US};

const LOCK: u64 = 0x5000;

/// A mutex that two threads take at one call site, and that one of them also takes at another.
fn contended() -> Fixture {
    let mut f = Fixture::new(&["/bin/app", "-v"], 10);
    let (push, pop) = (f.stack(&[0x1010, 0x1900]), f.stack(&[0x1020, 0x1900]));
    let main = f.thread("main", 0..10 * SECOND);
    let worker = f.thread("worker", 2 * SECOND..7 * SECOND);
    f.row(main, Op::MutexLock, LOCK, push, 100)
        .waited(&[MS, 3 * MS])
        .held(8, 80 * US)
        .held_after_waiting(2, 50 * US)
        .blocked_by(pop, worker, 2, 4 * MS);
    f.row(worker, Op::MutexLock, LOCK, push, 50);
    f.row(worker, Op::MutexLock, LOCK, pop, 300).waited(&[2 * MS; 28]).blocked_by(
        push,
        main,
        28,
        56 * MS,
    );
    f
}

#[test]
fn a_lock_is_added_up_over_threads_and_sites() {
    let process = &contended().load().processes[0];
    let [lock] = &process.locks[..] else { panic!("one lock") };
    assert_eq!((lock.address, lock.primitive, lock.kind), (LOCK, Primitive::Mutex, Kind::Lock));
    let figures = &lock.figures;
    assert_eq!((figures.calls, figures.waits), (450, 30));
    close(figures.waited, 0.060);
    close(figures.waited_max, 0.003);
    close(figures.contention, 30.0 / 450.0);
    close(figures.calls_per_second, 45.0);
    assert_eq!(lock.quadrant, Some(Quadrant::Q3));
    assert_eq!(figures.histogram.buckets.iter().map(|b| b.waits).sum::<u64>(), 30);
    assert_eq!(lock.sites.iter().map(|s| s.calls).collect::<Vec<_>>(), [300, 150]);
}

#[test]
fn time_held_is_what_was_timed_plus_the_samples_mean_for_the_rest() {
    let process = &contended().load().processes[0];
    // The two acquisitions that waited were held for 50 us in all, and each of the other 98 for 10
    // us. Nothing is known of the other rows.
    close(process.locks[0].figures.held, 50e-6 + 98.0 * 10e-6);
    assert_eq!(process.locks[0].figures.held_timed, 10);
}

#[test]
fn a_process_has_its_time_and_lost_share() {
    let process = &contended().load().processes[0];
    assert_eq!(process.arguments, ["/bin/app", "-v"]);
    close(process.seconds, 10.0);
    close(process.thread_seconds, 15.0);
    close(process.waiting.locks, 0.060);
    close(process.lock_share, 0.004);
    assert_eq!(process.state, State::Exited { status: None });
    assert_eq!(process.notes.iter().find(|n| matches!(n, Note::NoEnd)), None);
    close(process.threads[1].waiting.locks, 0.056);
    assert_eq!(process.threads[1].acquisitions, 350);
}

#[test]
fn blocking_pairs_are_sites_of_waiter_and_holder() {
    let process = &contended().load().processes[0];
    let [first, second] = &process.blocking[..] else { panic!("two pairs") };
    let place = |site: usize| process.sites[site].place.as_str();
    assert_eq!((place(first.waiter), first.holder.map(place)), ("0x101f", Some("0x100f")));
    assert_eq!((first.waits, first.locks), (28, 1));
    close(first.waited, 0.056);
    assert_eq!((place(second.waiter), second.holder.map(place)), ("0x100f", Some("0x101f")));
    assert_eq!(process.locks[0].blockers[0].thread, Some(0));
}

#[test]
fn a_blocker_is_the_thread_that_was_waited_for_longest() {
    let mut f = Fixture::new(&["/bin/app"], 10);
    let (hold, wait) = (f.stack(&[0x1010]), f.stack(&[0x1020]));
    let threads = ["a", "b", "c", "d"].map(|name| f.thread(name, 0..10 * SECOND));
    let [a, b, c, d] = threads;
    for (waiter, holder, waited) in [(a, b, 20 * MS), (c, b, 20 * MS), (b, c, 30 * MS), (d, a, MS)]
    {
        f.row(waiter, Op::MutexLock, LOCK, wait, 10)
            .waited(&[waited])
            .blocked_by(hold, holder, 1, waited);
    }
    let process = &f.load().processes[0];
    let [blocker] = &process.locks[0].blockers[..] else { panic!("one stack") };
    assert_eq!((blocker.thread, blocker.waits), (Some(b), 4));
}

#[test]
fn many_quiet_locks_of_one_call_site_are_one_busy_site() {
    let mut f = Fixture::new(&["/bin/app"], 1);
    let stack = f.stack(&[0x1010]);
    let other_way = f.stack(&[0x1010, 0x2000]);
    let thread = f.thread("main", 0..SECOND);
    for n in 0..500 {
        let stack = if n % 2 == 0 { stack } else { other_way };
        f.row(thread, Op::MutexLock, 0x10_0000 + 64 * n, stack, 3);
    }
    let process = &f.load().processes[0];
    assert_eq!(process.lock_quadrants.q3, 500);
    let [site] = &process.sites[..] else { panic!("one site") };
    assert_eq!((site.locks, site.threads, site.stacks.len()), (500, 1, 2));
    assert_eq!((site.figures.calls, site.quadrant), (1500, Some(Quadrant::Q4)));
}

#[test]
fn refused_tries_are_contention_and_timeouts_are_no_acquisitions() {
    let mut f = Fixture::new(&["/bin/app"], 1);
    let stack = f.stack(&[0x1010]);
    let thread = f.thread("main", 0..SECOND);
    f.row(thread, Op::MutexTrylock, LOCK, stack, 20).refused(60);
    f.row(thread, Op::MutexTimedlock, 0x6000, stack, 10).waited(&[MS; 5]).timeouts(4);
    let process = &f.load().processes[0];
    let lock = |address| process.locks.iter().find(|l| l.address == address).expect("used");
    close(lock(LOCK).figures.contention, 60.0 / 80.0);
    assert_eq!((lock(LOCK).figures.refused, lock(LOCK).figures.calls), (60, 20));
    close(lock(0x6000).figures.contention, 5.0 / 14.0);
    assert_eq!(lock(0x6000).figures.timeouts, 4);
}

#[test]
fn waiting_for_events_is_kept_apart_from_waiting_for_locks() {
    let mut f = Fixture::new(&["/bin/app"], 1);
    let stack = f.stack(&[0x1010]);
    let thread = f.thread("main", 0..SECOND);
    f.row(thread, Op::CondWait, 0x100, stack, 2).waited(&[100 * MS, 50 * MS]);
    f.row(thread, Op::CondSignal, 0x100, stack, 9);
    f.row(thread, Op::ThreadJoin, 0x7000, stack, 1).waited(&[200 * MS]);
    f.row(thread, Op::SemWait, 0x300, stack, 4).waited(&[25 * MS]);
    f.row(thread, Op::FutexWait, 0x400, stack, 1).waited(&[10 * MS]);
    let process = &f.load().processes[0];
    close(process.waiting.events, 0.375);
    close(process.waiting.futexes, 0.010);
    close(process.waiting.locks, 0.0);
    close(process.lock_share, 0.0);
    close(process.threads[0].waited_for[&Primitive::Thread], 0.2);
    assert!(process.notes.contains(&Note::FutexesOnly));
    let condvar = process.locks.iter().find(|l| l.primitive == Primitive::Condvar).unwrap();
    assert_eq!((condvar.figures.calls, condvar.wake_ups, condvar.quadrant), (2, 9, None));
    assert!(process.locks.iter().all(|l| l.primitive != Primitive::Thread));
}

#[test]
fn a_wait_that_has_not_ended_counts_until_the_end() {
    let mut f = Fixture::new(&["/bin/app"], 10);
    let stack = f.stack(&[0x1010]);
    let thread = f.thread("main", 0..10 * SECOND);
    f.row(thread, Op::MutexLock, LOCK, stack, 1);
    let record = &mut f.threads[thread];
    (record.state, record.ended) = (THREAD_RUNNING, 0);
    (record.waiting_op, record.waiting_lock) = (Op::MutexLock as u32, LOCK);
    (record.waiting_since, record.waiting_stack) = (START + 4 * SECOND, stack);
    let process = &f.load().processes[0];
    close(process.waiting.locks, 6.0);
    let figures = &process.locks[0].figures;
    assert_eq!((figures.calls, figures.waits, figures.unfinished), (1, 0, 1));
    close(figures.contention, 0.5);
    let now = process.threads[0].waiting_now.as_ref().expect("it waits");
    assert_eq!((now.lock, now.op), (Some(0), Op::MutexLock));
    close(now.seconds, 6.0);
}

#[test]
fn dropped_records_have_notes() {
    let mut f = Fixture::new(&["/bin/app"], 1);
    f.thread("main", 0..SECOND);
    f.header.dropped_operations = 7;
    f.header.disk_full = 1;
    f.header.threads.dropped = 3;
    f.header.state = PROCESS_RUNNING;
    f.header.ended = 0;
    let notes = &f.load().processes[0].notes;
    for note in [
        Note::DroppedOperations { count: 7 },
        Note::DroppedThreads { count: 3 },
        Note::DiskFull,
        Note::NoEnd,
    ] {
        assert!(notes.contains(&note), "{note:?} in {notes:?}");
    }
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{found}, not {expected}");
}

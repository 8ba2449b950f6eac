//! Tests of the records, other than counts and times, with which a report explains waits: which
//! lock was held when another was taken, which wake-ups found nothing to do, and whether a holder
//! was on a processor.

use syncline_conformance::{Both, Case, Program, Recording};
use syncline_recording::layout::{NestRecord, WaitRecord};
use syncline_recording::{Op, Row};

fn nest(both: &Both, op: Op, lock: &str) -> Option<NestRecord> {
    let rows = both.recording.rows(op, both.truth.value(lock));
    let mut nests = rows.iter().filter_map(|row| row.nest.as_deref().copied());
    let nest = nests.next();
    assert!(nests.next().is_none(), "one place, so one record");
    nest
}

fn seen(nest: &NestRecord) -> Vec<(u64, u32)> {
    nest.locks.iter().filter(|n| n.lock != 0).map(|n| (n.lock, n.seen)).collect()
}

/// With `--timeline` every acquisition is examined, so the numbers are exactly the program's own.
#[test]
fn nested_acquisitions_name_the_outer_lock() {
    let both = Case::new(&Program::compile("nested.c")).option("--timeline").exact();
    let value = |name| both.truth.value(name);
    let rounds = value("rounds") as u32;

    let inner = nest(&both, Op::MutexLock, "inner").expect("a record");
    assert_eq!((inner.alone, inner.others), (0, 0));
    assert_eq!(seen(&inner), [(value("middle"), rounds)], "the innermost that is held");
    let middle = nest(&both, Op::RwlockRead, "middle").expect("a record");
    assert_eq!(seen(&middle), [(value("outer"), rounds)]);

    let later = nest(&both, Op::MutexLock, "later").expect("a record");
    assert_eq!(later.alone, value("alone") as u32, "those before the record was made");
    assert_eq!(seen(&later), [(value("outer"), rounds - later.alone)]);
    let outer_stack = both.recording.only().stack(later.locks[0].stack);
    assert!(!outer_stack.is_empty(), "where the outer lock was taken");

    let many = nest(&both, Op::MutexLock, "many").expect("a record");
    let each = rounds / value("outers") as u32;
    assert_eq!(seen(&many).iter().map(|s| s.1).collect::<Vec<_>>(), [each; 3]);
    assert_eq!((many.alone, many.others), (0, rounds - 3 * each));

    assert!(nest(&both, Op::MutexLock, "again").is_none(), "a lock is not inside itself");
}

/// Without `--timeline`, only the acquisitions that are timed are examined.
#[test]
fn sampled_nested_acquisitions_name_the_outer_lock() {
    let both = Case::new(&Program::compile("nested.c")).exact();
    let value = |name| both.truth.value(name);
    let rows = both.recording.rows(Op::MutexLock, value("inner"));
    let inner = nest(&both, Op::MutexLock, "inner").expect("a record");
    assert_eq!(seen(&inner), [(value("middle"), rows[0].counts.held_samples)]);
    let later = nest(&both, Op::MutexLock, "later").expect("a record");
    let rows = both.recording.rows(Op::MutexLock, value("later"));
    assert!(later.alone > 0);
    assert_eq!(later.alone + later.locks[0].seen, rows[0].counts.held_samples);
}

fn futile(both: &Both, object: &str) -> u64 {
    let object = both.truth.value(object);
    let ops = [Op::CondWait, Op::CondTimedwait];
    let rows = ops.iter().flat_map(|&op| both.recording.rows(op, object));
    rows.filter_map(|row| row.waits.as_ref()).map(|waits| waits.futile).sum()
}

#[test]
fn futile_wake_ups_are_counted() {
    let both = Case::new(&Program::compile("herd.c")).exact();
    let (found, done) = (futile(&both, "moved"), both.truth.value("futile"));
    assert!(done > 500, "{done}: there was no herd");
    // A thread that is preempted between its wake-up and its next wait seems to have done some
    // work, so its wake-up may not be recorded as futile.
    assert!(found <= done && found * 10 >= done * 9, "{found} recorded, {done} done");
    assert_eq!(futile(&both, "passed0") + futile(&both, "passed1"), 0, "each passed the turn on");
    assert_eq!(futile(&both, "job"), 0, "each did work");
    assert_eq!(futile(&both, "never"), 0, "nobody woke it");
}

fn waits<'a>(both: &'a Both, lock: &str) -> Vec<&'a WaitRecord> {
    let rows: Vec<&'a Row> = both.recording.rows(Op::MutexLock, both.truth.value(lock));
    rows.into_iter().filter_map(|row| row.waits.as_deref()).collect()
}

fn sum(waits: &[&WaitRecord], field: fn(&WaitRecord) -> u64) -> u64 {
    waits.iter().map(|&waits| field(waits)).sum()
}

#[track_caller]
fn off_processor(recording: &Recording, waits: &[&WaitRecord]) -> (f64, f64, u64) {
    let looked_at = sum(waits, |w| w.held_looked_at);
    assert!(looked_at > 0, "no hold was looked at");
    let seconds = |ticks| recording.only().seconds(ticks) / looked_at as f64 * 1e6;
    let held = seconds(sum(waits, |w| w.held_looked_at_ticks));
    (seconds(sum(waits, |w| w.held_off_cpu_ticks)), held, looked_at)
}

#[test]
fn holders_off_their_processors_are_counted() {
    let both = Case::new(&Program::compile("sleeps_inside.c")).option("--timeline").exact();
    let value = |name| both.truth.value(name) as f64;
    let rounds = 2 * both.truth.value("rounds");

    let sleeper = waits(&both, "slept_under");
    let (off, held, looked_at) = off_processor(&both.recording, &sleeper);
    assert!(looked_at * 2 > rounds, "{looked_at} of {rounds} holds were looked at");
    assert!(off >= value("sleep_us") && off <= held && off > held * 0.9, "{off} of {held} us");
    assert!(sum(&sleeper, |w| u64::from(w.held_slept)) >= looked_at, "it slept in each");

    // `own` is the share of the holds' time in which the thread, by the program's own clock, was
    // off its processor. The recorder does not examine the first holds, so the recorded share
    // differs a little.
    let computer = waits(&both, "computed_under");
    let (off, held, looked_at) = off_processor(&both.recording, &computer);
    let own = value("off_processor_us") / (value("off_processor_us") + value("on_processor_us"));
    assert!((off / held - own).abs() < 0.25, "{off} of {held} us, and {own} by its own clock");
    assert!(sum(&computer, |w| u64::from(w.held_slept)) * 10 < looked_at, "it never sleeps");
    let preempted = sum(&computer, |w| u64::from(w.held_preempted));
    assert!(preempted > 0 || off < held * 0.05, "off its processor, and never preempted");

    // The wait on the condition variable counts neither as part of the hold nor as sleep in it.
    let waiter = waits(&both, "waited_under");
    let (off, held, looked_at) = off_processor(&both.recording, &waiter);
    let around = value("off_around_wait_us") / looked_at as f64;
    assert!(off < around + value("wait_us") / 4.0, "{off} us off the processor, {around} around");
    assert!(held < 2200.0 + around + value("wait_us") / 4.0, "held for {held} us");
    assert!(
        sum(&waiter, |w| u64::from(w.held_slept)) * 10 < looked_at,
        "it slept only in the wait"
    );
}

//! Tests that a recording says which thread held a lock, for how long other threads waited for the
//! lock, and at which call sites. Times are compared with the program's own clock, call sites with
//! the addresses that `nm` prints.

use std::path::Path;

use syncline_conformance::{Both, Case, Functions, Program, Recording};
use syncline_recording::{Op, Row};

/// Checks that a recorded time is near a measured one: it may differ by a fifth plus a scheduler's
/// time slice.
#[track_caller]
fn assert_near(what: &str, recorded: f64, measured_us: u64) {
    let measured = measured_us as f64 / 1e6;
    let allowed = measured * 0.2 + 0.005;
    let difference = (recorded - measured).abs();
    assert!(difference <= allowed, "{what}: {recorded:.4} s recorded, {measured:.4} s measured");
}

fn functions_of(both: &Both, program: &Program, stack: u32) -> Vec<String> {
    let functions = Functions::of(program.path());
    let files = [(program.path(), &functions)];
    Functions::of_stack(&files, both.recording.only(), stack)
}

fn waits(row: &Row) -> u64 {
    row.waits.as_ref().map_or(0, |w| w.waits)
}

#[test]
fn the_holder_is_blamed_and_times_are_right() {
    let program = Program::compile("holder.c");
    let both = Case::new(&program).exact();
    let (process, rounds) = (both.recording.only(), both.truth.value("rounds"));
    let rows = both.recording.rows(Op::MutexLock, both.truth.value("lock"));
    let place = |row: &Row| functions_of(&both, &program, row.counts.stack)[0].clone();
    let find = |name| rows.iter().find(|r| place(r) == name).expect("a row at that function");
    let (victim, holder) = (find("victim"), find("slow_holder"));

    assert_eq!(waits(victim), rounds, "the victim waits each time");
    let record = victim.waits.as_ref().expect("waits");
    assert_near("waited", process.seconds(record.ticks), both.truth.value("waited_us"));
    assert_near("longest wait", process.seconds(record.max), both.truth.value("longest_us"));
    let in_histogram: u64 = record.histogram.iter().map(|&n| u64::from(n)).sum();
    assert_eq!(in_histogram, rounds);

    let blockers = Recording::blockers(victim);
    assert_eq!(blockers.len(), 1, "{blockers:?}");
    assert_eq!(blockers[0].waits, rounds);
    assert_eq!(functions_of(&both, &program, blockers[0].stack)[0], "slow_holder");
    let blamed = process.threads.iter().find(|t| t.index == blockers[0].thread).expect("a thread");
    assert!(blamed.rows.iter().any(|r| r.counts.stack == holder.counts.stack));

    // Not every hold is timed. The mean of the timed holds is between the shortest and the longest
    // hold.
    let (held, samples) = both.recording.held(holder);
    assert!(samples > 0);
    let (mean, bound) = (held / samples as f64 * 1e6, |name| both.truth.value(name) as f64);
    let bounds = bound("shortest_held_us") * 0.99..bound("longest_held_us") * 1.2 + 5000.0;
    assert!(bounds.contains(&mean), "held for {mean} us, not {bounds:?}");
}

/// The time of a yield counts either as polling or as a wait for the threads that ran meanwhile, so
/// both are added here.
#[test]
fn yields_and_sleeps_take_their_time() {
    let program = Program::compile("pause.c");
    let both = Case::new(&program).exact();
    let process = both.recording.only();
    let ticks = |op: Op, function: &str| -> u64 {
        let rows = process.threads.iter().flat_map(|thread| &thread.rows);
        let here = rows.filter(|row| row.op == op);
        let here =
            here.filter(|row| functions_of(&both, &program, row.counts.stack)[0] == function);
        here.filter_map(|row| row.waits.as_ref()).map(|waits| waits.ticks + waits.spun_ticks).sum()
    };
    let took = |op, function| process.seconds(ticks(op, function));
    assert_near("yields", took(Op::Yield, "yields"), both.truth.value("yielded_us"));
    assert_near("sleeps", took(Op::Sleep, "sleeps"), both.truth.value("slept_us"));
}

/// The time between two refused tries is polling only if the thread has released no lock meanwhile.
#[test]
fn only_tries_with_nothing_in_between_are_polling() {
    let program = Program::compile("tries.c");
    let both = Case::new(&program).exact();
    let process = both.recording.only();
    let spun = |function: &str| {
        let rows = process.threads.iter().flat_map(|thread| &thread.rows);
        let tries = rows.filter(|row| row.op == Op::MutexTrylock);
        let here =
            tries.filter(|row| functions_of(&both, &program, row.counts.stack)[0] == function);
        process.seconds(here.filter_map(|row| row.waits.as_ref()).map(|w| w.spun_ticks).sum())
    };
    assert_near("polls", spun("polls"), both.truth.value("polled_us"));
    let (between, worked) = (spun("works_between"), both.truth.value("worked_us") as f64 / 1e6);
    assert!(between < 0.05 * worked, "{between} s of {worked} s");
}

/// A thread that has released a lock and now waits for an event does not count as the lock's
/// holder.
#[test]
fn a_sleeping_thread_is_not_blamed_for_a_released_lock() {
    let program = Program::compile("left.c");
    let both = Case::new(&program).exact();
    let rows = both.recording.rows(Op::MutexLock, both.truth.value("lock"));
    let blamed: Vec<String> = rows
        .iter()
        .flat_map(|row| Recording::blockers(row))
        .map(|blocker| functions_of(&both, &program, blocker.stack)[0].clone())
        .collect();
    assert!(blamed.iter().all(|function| function == "others"), "{blamed:?}");
}

/// The recorder reads the scheduler's counts at a thread's end, a little after the thread itself
/// has printed them, so the recorded times are at least the printed ones.
#[test]
fn ready_time_differs_from_running_and_sleeping() {
    let both = Case::new(&Program::compile("ready.c")).both();
    for number in 0..=4 {
        let thread = both.recording.thread(both.truth.value(&format!("tid_{number}")));
        let said = both.truth.value(&format!("ready_{number}"));
        let (ready, ran) = (thread.record.ready_ns as u64, thread.record.cpu_ns as u64);
        let lived = both.recording.only().seconds(thread.record.ended - thread.record.started);
        assert!(ready >= said, "thread {number}: {ready} ns, {said} ns before");
        // The thread was already ready before its first instruction, at which the recorder first
        // sees it.
        let process = both.recording.only();
        let all = process.seconds(process.ended() - process.header.started);
        assert!((ready + ran) as f64 <= all * 1e9, "thread {number}: {ready}, {ran}");
        // Four of the threads share one processor for 200 ms; the fifth sleeps for as long.
        match number {
            4 => assert!(lived - (ready + ran) as f64 / 1e9 > 0.15, "it sleeps"),
            _ => assert!(ready > 50_000_000, "thread {number}: {ready} ns"),
        }
    }
}

/// Holds for which no thread waits are timed by sampling. The length of the longest hold is due to
/// the scheduler. So the recorded mean leaves it out, and the program prints the median.
#[test]
fn uncontended_holds_are_timed() {
    let program = Program::compile("holds.c");
    let both = Case::new(&program).exact();
    let process = both.recording.only();
    let of = |lock| both.recording.rows(Op::MutexLock, both.truth.value(lock));
    for row in ["lock", "first", "second"].into_iter().flat_map(of) {
        let place = functions_of(&both, &program, row.counts.stack)[0].clone();
        let samples = row.counts.held_samples;
        assert!(samples >= 3, "{samples} samples of 300 holds");
        let held = process.seconds(row.counts.held_ticks - row.counts.held_max);
        let mean = held * 1e9 / f64::from(samples - 1);
        let ratio = mean / both.truth.value(&format!("{place}_ns")) as f64;
        assert!((0.5..2.0).contains(&ratio), "{place}: {ratio} of what the program measured");
    }
}

/// The more often a lock was taken, the smaller is the share of its acquisitions that are timed,
/// and the more acquisitions each timed one stands for. So long holds at the beginning do not weigh
/// more than their number warrants. The longest hold is left out. The scheduler may make another
/// hold long, so the program runs three times, and one ratio must be right.
#[test]
fn holds_that_become_short_are_not_overestimated() {
    let program = Program::compile("phases.c");
    let ratio = || {
        let both = Case::new(&program).exact();
        let process = both.recording.only();
        let rows = both.recording.rows(Op::MutexLock, both.truth.value("lock"));
        let (mut held, mut samples) = (0.0, 0.0);
        for row in rows {
            held += process.seconds(row.counts.held_ticks - row.counts.held_max) * 1e9;
            samples += f64::from(row.counts.held_samples - 1);
        }
        // Timing one in 128 of 1,016,000 acquisitions would give 7,937.
        assert!((6000.0..10_000.0).contains(&samples), "{samples} timed");
        held * 128.0 / both.truth.value("total_ns") as f64
    };
    let ratios: Vec<f64> = (0..3).map(|_| ratio()).collect();
    let is_right = |ratio: &f64| (0.4..2.2).contains(ratio);
    assert!(ratios.iter().any(is_right), "{ratios:?} of what the program measured");
}

/// Two stacks of a call site are distinguished even if they have the same depth. This holds for the
/// first locks of the call site, which have a row each, and for locks that are found by sampling.
#[test]
fn stacks_of_one_depth_are_distinguished() {
    let program = Program::compile("paths.c");
    let both = Case::new(&program).exact();
    let other = both.truth.value("first_of_other");
    let rows = || both.recording.only().threads.iter().flat_map(|thread| &thread.rows);
    let taken = rows().filter(|row| row.op == Op::MutexLock && row.counts.lock != 0);
    let functions = Functions::of(program.path());
    let files = [(program.path(), &functions)];
    let mut ways = [0, 0];
    for row in taken {
        let way = usize::from(row.counts.lock >= other);
        let functions = Functions::of_stack(&files, both.recording.only(), row.counts.stack);
        assert_eq!(functions[..2], ["take", ["one_way", "other_way"][way]]);
        ways[way] += 1;
    }
    assert!(ways.iter().all(|&rows| rows > 300), "{ways:?} rows");
}

#[test]
fn a_waiter_on_a_condition_variable_holds_nothing() {
    let program = Program::compile("holder.c");
    let both = Case::new(&program).exact();
    for row in both.recording.rows(Op::MutexLock, both.truth.value("with_cond")) {
        let place = functions_of(&both, &program, row.counts.stack);
        let (held, _) = both.recording.held(row);
        assert!(held < 0.03, "held for {held} s at {place:?}, though it slept on the condition");
        let blamed = Recording::blockers(row);
        let waited: u64 = blamed.iter().map(|b| b.ticks).sum();
        assert!(both.recording.only().seconds(waited) < 0.03, "{blamed:?} at {place:?}");
    }
    let rows = both.recording.rows(Op::CondWait, both.truth.value("woken"));
    let waits: u64 = rows.iter().filter_map(|r| r.waits.as_ref()).map(|w| w.ticks).sum();
    let waited = both.recording.only().seconds(waits);
    assert_near("condition wait", waited, both.truth.value("in_cond_us"));
}

#[test]
fn stacks_through_executable_and_library_without_frame_pointers() {
    const FLAGS: [&str; 2] = ["-fomit-frame-pointer", "-fno-optimize-sibling-calls"];
    let program = Program::compile_with("deep.c", &FLAGS);
    let library = Program::compile_with("deep_library.c", &[FLAGS[0], "-shared", "-fPIC"]);
    let both = Case::new(&program).arg(library.path()).exact();
    let of_files = [program.path(), library.path()].map(|p| (p, Functions::of(p)));
    let files: Vec<(&Path, &Functions)> = of_files.iter().map(|(p, f)| (*p, f)).collect();

    let rows = both.recording.rows(Op::MutexLock, both.truth.value("lock"));
    let expected = [
        "take_lock",
        "inner_three",
        "inner_two",
        "inner_one",
        "library_three",
        "library_two",
        "library_one",
        "enter_library",
        "through_library",
        "outer_three",
        "outer_two",
        "outer_one",
        "main",
    ];
    for row in rows {
        let names = Functions::of_stack(&files, both.recording.only(), row.counts.stack);
        assert!(names.len() >= expected.len(), "{names:?}");
        assert_eq!(names[..expected.len()], expected);
    }
}

//! The log of events has each wait and, with `--timeline`, each hold. If it has no room for all
//! events, it keeps only the events of some windows of time.
//!
//! Every other test that needs a complete recording also checks that every wait is logged.

use syncline_conformance::{Both, Case, Counter, Program, Recording};
use syncline_recording::layout::{EVENT_HOLD, EVENT_WAIT, EventRecord, NOBODY};
use syncline_recording::{Class, Op, ProcessFile, Row, Thread};

/// The number of slots of a full log without `--timeline`.
const FULL: usize = 16_384;

fn logged(waits: u64, rounds: u64, options: &[&str]) -> Both {
    let case =
        Case::new(&Program::compile("logged.c")).args([waits.to_string(), rounds.to_string()]);
    options.iter().fold(case, |case, option| case.option(option)).exact()
}

fn of_kind(thread: &Thread, kind: u8) -> impl DoubleEndedIterator<Item = &EventRecord> + Clone {
    thread.log.iter().filter(move |event| event.kind == kind)
}

fn timed_waits(both: &Both) -> Vec<&EventRecord> {
    let waiter = both.recording.thread(both.truth.value("waiter"));
    of_kind(waiter, EVENT_WAIT).filter(|event| event.op == Op::SemTimedwait as u8).collect()
}

/// Checks that `events` belong to the last of the program's `waits` waits, in order.
#[track_caller]
fn assert_in_order(both: &Both, events: &[&EventRecord], waits: u64) {
    let value = |name| both.truth.value(name);
    let first = waits - events.len() as u64;
    for (number, event) in (first..).zip(events) {
        let semaphore = number % value("semaphore_count");
        let address = value("semaphores") + semaphore * value("semaphore_size");
        assert_eq!(event.lock, address, "wait {number} of {waits}");
        assert_eq!(event.who, NOBODY, "nobody posted");
    }
    assert!(events.windows(2).all(|two| two[0].ended <= two[1].began), "one after the other");
}

#[test]
fn a_log_grows_until_it_is_full() {
    for waits in [1, 127, 128, 129, 1024, 1025, 8193] {
        let both = logged(waits, 0, &[]);
        let events = timed_waits(&both);
        assert_eq!(events.len() as u64, waits);
        assert_in_order(&both, &events, waits);
    }
}

/// A full log keeps windows that are spread over the whole run, with all their events, and drops
/// all other events. The program waits for one semaphore after another in a fixed order, so the
/// test knows which events were dropped.
#[test]
fn a_full_log_keeps_windows_of_the_whole_run() {
    const WAITS: u64 = 200_000;
    let both = logged(WAITS, 0, &[]);
    let process = both.recording.only();
    let waiter = both.recording.thread(both.truth.value("waiter"));
    assert_eq!(waiter.record.logged, waiter.rows.iter().filter_map(waits_of).sum::<u64>());
    assert!((FULL / 4..=FULL).contains(&waiter.log.len()), "{} events", waiter.log.len());
    let events = timed_waits(&both);
    let (from, to) = (process.header.started, events.last().expect("an event").ended);
    let windows = waiter.windows.between(from, to, usize::MAX);
    assert!(events.iter().all(|event| waiter.windows.keep(event.began, event.ended)));
    let value = |name| both.truth.value(name);
    let semaphore =
        |event: &EventRecord| (event.lock - value("semaphores")) / value("semaphore_size");
    let mut that_show_much = 0;
    for (began, ended) in windows {
        let within = |event: &&&EventRecord| event.began < ended && event.ended >= began;
        let events: Vec<_> = events.iter().filter(within).collect();
        that_show_much += usize::from(events.len() > 100);
        for two in events.windows(2) {
            assert!(two[0].ended <= two[1].began, "one after the other");
            let expected = (semaphore(two[0]) + 1) % value("semaphore_count");
            assert_eq!(semaphore(two[1]), expected, "none is missing");
        }
    }
    // The number of windows, and of the events in each, depends on the machine's speed.
    assert!(that_show_much >= 4, "{that_show_much} windows");
    // Other threads' logs are not disturbed.
    assert!(process.threads.iter().filter(|t| !t.log.is_empty()).count() > 1);
}

fn waits_of(row: &Row) -> Option<u64> {
    row.waits.as_ref().map(|waits| waits.waits)
}

/// The number of holds of a thread: its acquisitions, plus the waits under a lock, since each of
/// these divides a hold in two.
fn taken(thread: &Thread, waits_under: u64) -> u64 {
    let of = |class| thread.rows.iter().filter(move |row| row.op.class() == class);
    let taken: u64 = of(Class::Acquire).chain(of(Class::Try)).map(|row| row.counts.calls).sum();
    taken + waits_under
}

fn cond_waits(thread: &Thread) -> u64 {
    let rows = thread.rows.iter().filter(|row| row.op == Op::CondTimedwait);
    rows.map(|row| row.counts.calls).sum()
}

#[test]
fn a_timeline_has_every_hold() {
    let both = logged(100, 20_000, &["--timeline"]);
    let process = both.recording.only();
    assert_eq!(process.header.timeline, 1);
    for thread in &process.threads {
        let holds: Vec<_> = of_kind(thread, EVENT_HOLD).collect();
        // A wait on a condition variable divides the hold that it interrupts.
        assert_eq!(holds.len() as u64, taken(thread, cond_waits(thread)));
        // In this program, no lock is taken while another is held.
        assert!(holds.windows(2).all(|two| two[0].ended <= two[1].began), "one after the other");
    }
    assert_never_held_by_two(process, both.truth.value("shared"));
    let under = both.truth.value("waited_under");
    let thread = process.threads.iter().find(|thread| cond_waits(thread) > 0).expect("it waited");
    assert_eq!(cond_waits(thread), 2 * both.truth.value("times"));
    for wait in of_kind(thread, EVENT_WAIT).filter(|event| event.op == Op::CondTimedwait as u8) {
        let outside = |hold: &&EventRecord| hold.ended <= wait.began || hold.began >= wait.ended;
        let holds = of_kind(thread, EVENT_HOLD).filter(|hold| hold.lock == under);
        assert!(holds.clone().all(|hold| outside(&hold)), "held while it waits");
        assert!(holds.clone().any(|hold| hold.began >= wait.ended), "held again after it");
    }
}

/// Checks that holds of one mutex by several threads do not overlap: the recorded hold begins after
/// the acquisition and ends before the release. Clocks are read without a fence and on different
/// processors, so two holds may seem to overlap by some tens of nanoseconds.
#[track_caller]
fn assert_never_held_by_two(process: &ProcessFile, lock: u64) {
    let holds = process.threads.iter().flat_map(|thread| of_kind(thread, EVENT_HOLD));
    let mut holds: Vec<_> = holds.filter(|hold| hold.lock == lock).collect();
    holds.sort_by_key(|hold| hold.began);
    assert!(holds.len() > 3000);
    const INEXACT: f64 = 500e-9;
    let overlap =
        |two: &[&EventRecord]| process.seconds(two[0].ended.saturating_sub(two[1].began)) > INEXACT;
    assert_eq!(holds.windows(2).filter(|two| overlap(two)).count(), 0, "of {}", holds.len());
}

#[test]
fn a_timeline_in_little_room_keeps_windows_of_the_whole_run() {
    let both = logged(0, 300_000, &["--timeline", "--max-size=16M"]);
    let process = both.recording.only();
    let kept: usize = process.threads.iter().map(|thread| thread.log.len()).sum();
    assert!(kept * size_of::<EventRecord>() < 8 << 20, "{kept} events");
    for thread in process.threads.iter().filter(|thread| thread.record.logged > 300_000) {
        let count = thread.log.len();
        assert!((30..300_000).contains(&count), "{count}");
        assert!(thread.log.windows(2).all(|two| two[0].ended <= two[1].ended));
        assert!(thread.log.iter().all(|event| thread.windows.keep(event.began, event.ended)));
        let (first, last) = (&thread.log[0], &thread.log[count - 1]);
        let life = process.seconds(thread.record.ended - thread.record.started);
        // On a busy machine a thread may lack a processor for a long time, before and after each
        // step.
        let ready = thread.record.ready_ns as f64 / 1e9;
        let span = process.seconds(last.ended - first.began);
        assert!(
            span > (life - ready) / 2.0,
            "events of {span} s of {life} s, {ready} s of them ready"
        );
    }
}

/// The event of the last wait for an object.
fn last<'a>(both: &'a Both, object: &str) -> &'a EventRecord {
    let object = both.truth.value(object);
    let waiter = both.recording.thread(both.truth.value("waiter"));
    let mut events = of_kind(waiter, EVENT_WAIT).filter(|event| event.lock == object);
    events.next_back().expect("a wait")
}

#[test]
fn events_name_the_thread_that_ended_the_wait() {
    let both = Case::new(&Program::compile("wakers.c")).both();
    both.recording.assert_complete();
    for what in ["held", "cond", "crowd", "semaphore", "word", "joined"] {
        let event = last(&both, what);
        let expected = both.recording.thread(both.truth.value(&format!("{what}_by"))).index;
        assert_eq!(u32::from(event.who), expected, "{what}");
        let waited = both.recording.only().seconds(event.ended - event.began);
        assert!((0.01..5.0).contains(&waited), "{what}: {waited} s");
    }
    for what in ["barrier", "never"] {
        assert_eq!(last(&both, what).who, NOBODY, "{what}");
    }
    // Waiters are counted by a hash of the object's address, which another object may share. Then
    // the thread that ended the wait is unknown.
    let who = last(&both, "elsewhere").who;
    let waker = both.recording.thread(both.truth.value("elsewhere_by")).index;
    assert!(who == NOBODY || u32::from(who) == waker, "{who}, and it was {waker}");
}

/// Signal handlers lock thousands of times a second, and interrupt the recorder while it logs.
#[test]
fn a_timeline_under_signals() {
    let case = Case::new(&Program::compile("signals.c")).arg("post").option("--timeline");
    let both = case.both();
    both.truth.assert_counted(&both.recording);
    let process = both.recording.only();
    let locked = |op| both.recording.count(process.header.pid, 0, op, Counter::Calls, None);
    let logged: u64 = process.threads.iter().map(|thread| thread.record.logged).sum();
    let waits = process.threads.iter().flat_map(|t| &t.rows).filter_map(|row| row.waits.as_ref());
    let waits: u64 = waits.map(|waits| waits.waits).sum();
    assert_eq!(logged, locked(Op::MutexLock) + locked(Op::MutexTrylock) + waits);
}

#[test]
fn each_forked_process_has_a_log_of_its_own() {
    let both = Case::new(&Program::compile("fork_server.c")).option("--timeline").exact();
    for process in &both.recording.processes {
        assert_eq!(process.header.timeline, 1);
        let kept: usize = process.threads.iter().map(|thread| thread.log.len()).sum();
        assert!(kept > 0, "process {}", process.header.pid);
    }
}

/// The log is complete even if the process was killed, and even if thousands of threads have used
/// the file's records one after another.
#[test]
fn timelines_of_killed_processes_and_of_many_threads() {
    let case = |source, mode| Case::new(&Program::compile(source)).arg(mode).option("--timeline");
    case("dies.c", "kill").status(128 + 9).exact();
    case("many.c", "thousands-of-threads").exact();
    case("signals.c", "jump").exact();
}

/// A wait for a lock whose sections are brief is counted only after the release. No wait may be
/// missing in the row, in the row's holds, among the locks that were already held, or in the log,
/// even if the thread waits for something else within the section. On a busy machine a section may
/// be long, so the program runs again in that case.
#[test]
fn waits_before_brief_sections_are_complete() {
    let were_brief = || {
        let (measured, rounds) = waits_are_complete();
        measured < rounds
    };
    assert!((0..5).any(|_| were_brief()), "all holds were measured, so none counted as brief");
}

/// Runs the program once, and checks that no wait is missing. Returns the number of holds that were
/// measured, and the number of all holds.
fn waits_are_complete() -> (u64, u64) {
    let both = Case::new(&Program::compile("brief.c")).exact();
    let value = |name| both.truth.value(name);
    let (lock, rounds) = (value("lock"), value("rounds"));
    let waiter = both.recording.thread(value("waiter"));
    let rows = waiter.rows.iter().filter(|row| row.op == Op::MutexLock && row.counts.lock == lock);
    let [row] = rows.collect::<Vec<_>>()[..] else { panic!("one place") };
    let waits = row.waits.as_ref().expect("it waited");
    assert_eq!((row.counts.calls, waits.waits, waits.held_samples), (rounds, rounds, rounds));
    let blamed: u64 = Recording::blockers(row).iter().map(|blocker| blocker.waits).sum();
    assert_eq!(blamed, rounds, "the first thread had it");
    let nest = row.nest.as_ref().expect("another lock was held");
    let seen: Vec<_> = nest.locks.iter().filter(|nest| nest.lock != 0).collect();
    assert!(seen.len() == 1 && seen[0].lock == value("outer"));
    assert_eq!((u64::from(seen[0].seen), u64::from(nest.alone)), (rounds / 2, rounds / 2));
    let logged = of_kind(waiter, EVENT_WAIT).filter(|event| event.lock == lock);
    assert_eq!(logged.clone().count() as u64, rounds);
    assert!(logged.clone().all(|event| event.op == Op::MutexLock as u8 && event.who == 0));
    let logged: Vec<_> = logged.collect();
    assert!(logged.windows(2).all(|two| two[0].ended <= two[1].began), "one after the other");
    (waits.held_looked_at, rounds)
}

use syncline_recording::{Op, Primitive};

use super::*;
use crate::findings::testing::{self, Drawn, Use, process};
use crate::model::{State, Times};

/// Adds a wait of a thread: its begin and end, its site, and the thread that ended it.
fn wait(
    drawn: &mut Drawn,
    thread: usize,
    (began, ended): (f64, f64),
    site: usize,
    by: Option<usize>,
) {
    let op = drawn.sites[site].op;
    let lock = drawn.locks.iter().position(|lock| lock.sites.iter().any(|used| used.site == site));
    let span = Span { lock, site: Some(site), by, ..testing::wait(op, began, ended) };
    let threads = drawn.threads.len();
    drawn.timeline.threads.resize_with(threads, Vec::new);
    drawn.timeline.threads[thread].push(span);
}

/// A process of ten seconds with workers, whose logs are complete.
fn drawn(workers: usize) -> Drawn {
    let mut drawn = process(10.0, 4);
    drawn.threads("worker", workers, 10.0);
    drawn.timeline.windows = vec![(0.0, 10.0)];
    drawn.timeline.to = 10.0;
    for thread in &mut drawn.threads {
        thread.times = Times { running: 1.0, ..Times::default() };
    }
    drawn
}

/// The parts of the path: kind, site, first thread, seconds rounded to milliseconds.
fn parts(drawn: &Drawn) -> Vec<(OnPath, Option<usize>, usize, f64)> {
    let path = critical_path(drawn);
    let rounded = |seconds: f64| (seconds * 1e3).round() / 1e3;
    let part = |part: &PathPart| (part.kind, part.site, part.threads[0], rounded(part.seconds));
    path.parts.iter().map(part).collect()
}

/// The example at the head of the module: the first thread waits for a worker's end, which has
/// waited for another worker.
fn three() -> Drawn {
    let mut drawn = drawn(2);
    let join = drawn.site(Op::ThreadJoin, "main at main.c:10");
    let condition = drawn.lock(Primitive::Condvar, "ready");
    let ready = drawn.site(Op::CondWait, "worker at main.c:20");
    drawn.uses(condition, ready, Use { calls: 2, waits: 2, ..Use::default() });
    drawn.threads[1].seconds = 9.0;
    wait(&mut drawn, 0, (1.0, 9.0), join, Some(1));
    wait(&mut drawn, 1, (2.0, 4.5), ready, Some(2));
    wait(&mut drawn, 2, (4.0, 9.5), ready, Some(1));
    drawn
}

#[test]
fn the_path_leads_from_a_waiter_to_its_waker() {
    let drawn = three();
    // Until second 4 the path is in the third thread, which woke the second thread before it went
    // to sleep itself. Until second 9 the path is in the second thread, and then in the first.
    let expected = [
        (OnPath::Running, None, 1, 8.5),
        (OnPath::Running, None, 0, 1.0),
        (OnPath::WakeUp, Some(1), 1, 0.5),
    ];
    assert_eq!(parts(&drawn), expected);
    let path = critical_path(&drawn);
    assert_eq!((path.seconds, path.hand_overs), (10.0, 2));
    // Site 0 has a second, after the join. Site 1 has half a second of waking at the condition, and
    // 4.5 seconds after that. The third thread's wait is not on the path.
    assert_eq!([path.through(0), path.through(1)], [Some(0.1), Some(0.5)]);
}

/// The first thread works, and at the end tells a helper to end and joins it.
#[test]
fn joining_an_idle_helper_is_no_wait() {
    let path = |began: f64, kernel: f64| {
        let mut drawn = drawn(1);
        let join = drawn.site(Op::ThreadJoin, "main at main.c:10");
        drawn.threads[1].seconds = 9.95;
        drawn.threads[1].started = 0.0;
        drawn.threads[1].times = Times { running: 1.0 - kernel, kernel, ..Times::default() };
        wait(&mut drawn, 0, (began, 9.95), join, Some(1));
        let parts = parts(&drawn);
        (parts[0].0, parts[0].2)
    };
    assert_eq!(path(9.9, 0.95), (OnPath::Running, 0));
    assert_eq!(path(9.9, 0.85), (OnPath::Kernel, 1), "it did something");
    assert_eq!(path(9.0, 0.95), (OnPath::Kernel, 1), "it went on for a second");
}

#[test]
fn a_sleep_ends_by_itself() {
    let mut drawn = drawn(1);
    let nap = drawn.site(Op::Sleep, "look at poll.c:3");
    for number in 0..4 {
        let began = 2.0 * f64::from(number);
        wait(&mut drawn, 0, (began, began + 1.5), nap, None);
    }
    assert_eq!(parts(&drawn), [(OnPath::Sleep, Some(0), 0, 6.0), (OnPath::Running, None, 0, 4.0)]);
    // Waits that mostly time out count as sleeps. It is not known what ended other waits.
    let until = |waits: u64, timeouts: u64| {
        let mut drawn = self::drawn(1);
        let condition = drawn.lock(Primitive::Condvar, "later");
        let site = drawn.site(Op::CondTimedwait, "park at park.c:3");
        drawn.uses(condition, site, Use { calls: waits, waits, timeouts, ..Use::default() });
        wait(&mut drawn, 0, (1.0, 9.0), site, None);
        parts(&drawn)[0].0
    };
    assert_eq!([until(4, 2), until(4, 1)], [OnPath::Sleep, OnPath::Unknown]);
    assert_eq!(until(0, 0), OnPath::Unknown, "no wait was counted");
}

#[test]
fn the_only_possible_waker_ended_the_wait() {
    let woken_by = |wakers: &[usize]| {
        let mut drawn = drawn(2);
        let condition = drawn.lock(Primitive::Condvar, "ready");
        let ready = drawn.site(Op::CondWait, "main at main.c:10");
        let wake = drawn.site(Op::CondSignal, "worker at main.c:20");
        drawn.uses(condition, ready, Use { calls: 1, waits: 1, ..Use::default() });
        drawn.uses(condition, wake, Use { calls: 1, ..Use::default() });
        drawn.by_thread(wake, wakers.iter().map(|&thread| (thread, 1)));
        wait(&mut drawn, 0, (1.0, 9.0), ready, None);
        parts(&drawn)[0]
    };
    assert_eq!(woken_by(&[2]), (OnPath::Running, None, 2, 9.0));
    assert_eq!(woken_by(&[1, 2]), (OnPath::Unknown, Some(0), 0, 8.0));
    assert_eq!(woken_by(&[0]), (OnPath::Unknown, Some(0), 0, 8.0), "nobody wakes himself");
}

#[test]
fn the_last_arrival_ends_the_waits_at_a_barrier() {
    let mut drawn = drawn(2);
    let barrier = drawn.lock(Primitive::Barrier, "all");
    let site = drawn.site(Op::BarrierWait, "step at main.c:10");
    drawn.uses(barrier, site, Use { calls: 3, waits: 3, ..Use::default() });
    for (thread, came, left) in [(0, 2.0, 8.0), (1, 3.0, 8.0), (2, 7.999, 8.001)] {
        wait(&mut drawn, thread, (came, left), site, None);
    }
    let expected = [
        (OnPath::Running, None, 2, 7.999),
        (OnPath::Running, None, 0, 2.0),
        (OnPath::WakeUp, Some(0), 0, 0.001),
    ];
    assert_eq!(parts(&drawn), expected);
}

#[test]
fn a_wait_cut_by_a_window_keeps_its_waker() {
    let mut drawn = three();
    drawn.timeline.windows = vec![(1.5, 3.0), (6.0, 8.0)];
    // In the first window the second thread waits for the third, in the second one it runs.
    let expected = [(OnPath::Running, None, 1, 3.5)];
    assert_eq!(parts(&drawn), expected);
    assert_eq!(critical_path(&drawn).seconds, 3.5);
}

#[test]
fn path_pieces_are_divided_like_the_threads_whole_time() {
    let mut drawn = drawn(1);
    drawn.threads[0].times =
        Times { running: 1.0, spinning: 1.0, ready: 1.0, kernel: 2.0, ..Times::default() };
    let expected = [
        (OnPath::Running, None, 0, 4.0),
        (OnPath::Kernel, None, 0, 4.0),
        (OnPath::Ready, None, 0, 2.0),
    ];
    assert_eq!(parts(&drawn), expected);
    assert_eq!(critical_path(&drawn).through(0), None, "what it did in the kernel is not known");
    drawn.threads[0].times = Times { running: 1.0, locks: 3.0, events: 1.0, ..Times::default() };
    let expected = [(OnPath::Unknown, None, 0, 8.0), (OnPath::Running, None, 0, 2.0)];
    assert_eq!(parts(&drawn), expected, "waits that no log has");
}

#[test]
fn a_process_that_was_ended_has_no_end_to_trace() {
    let mut drawn = three();
    drawn.state = State::Killed { signal: 15 };
    assert_eq!(critical_path(&drawn), CriticalPath::default());
    for ended in [State::Exited { status: Some(1) }, State::Executed] {
        drawn.state = ended;
        assert!(!critical_path(&drawn).parts.is_empty(), "{ended:?}");
    }
    drawn.threads.truncate(1);
    assert!(critical_path(&drawn).parts.is_empty(), "one thread waits for nobody");
}

#[test]
fn any_log_gives_a_path_over_the_whole_run() {
    let mut state = 20_261_126u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..500 {
        let workers = 1 + random(4) as usize;
        let mut drawn = drawn(workers);
        let condition = drawn.lock(Primitive::Condvar, "any");
        let site = drawn.site(Op::CondWait, "main at main.c:10");
        drawn.uses(condition, site, Use { calls: 1, waits: 1, ..Use::default() });
        for thread in 0..=workers {
            drawn.threads[thread].started = random(3) as f64;
            drawn.threads[thread].creator = Some(random(1 + workers as u64) as usize);
            let mut now = 0;
            while now < 10 {
                let ended = now + random(4);
                let by = Some(random(1 + workers as u64) as usize);
                wait(&mut drawn, thread, (now as f64, ended as f64), site, by);
                now = ended + random(2);
            }
        }
        let path = critical_path(&drawn);
        let sum: f64 = path.parts.iter().map(|part| part.seconds).sum();
        assert!((sum - 10.0).abs() < 1e-6, "{sum} of 10 seconds: {:?}", drawn.timeline);
    }
}

/// A thread looks each second, sleeps in between, and is not woken by another.
#[test]
fn a_sleep_is_alone_while_all_other_threads_wait() {
    let alone = |waits: &[(f64, f64)]| {
        let mut drawn = drawn(2);
        let time = drawn.lock(Primitive::Sleep, "sleep");
        let sleep = drawn.site(Op::Sleep, "push at queue.c:140");
        drawn.uses(time, sleep, Use { calls: 2, waits: 2, ..Use::default() });
        let condition = drawn.lock(Primitive::Condvar, "not_empty");
        let pop = drawn.site(Op::CondWait, "pop at queue.c:160");
        drawn.uses(condition, pop, Use { calls: 9, waits: 9, ..Use::default() });
        for at in [1.0, 5.0] {
            wait(&mut drawn, 0, (at, at + 3.0), sleep, None);
        }
        for &times in waits {
            wait(&mut drawn, 1, times, pop, Some(0));
        }
        // The other worker ends early.
        drawn.threads[2].seconds = 2.0;
        critical_path(&drawn).alone.get(&sleep).copied()
    };
    assert_eq!(alone(&[(0.5, 9.0)]), Some(5.0), "of six, the first second with the other worker");
    assert_eq!(alone(&[(2.5, 3.5), (3.75, 6.0), (7.0, 7.5)]), Some(1.0 + 0.25 + 1.0 + 0.5));
    assert_eq!(alone(&[(4.0, 5.0)]), Some(0.0));
    assert_eq!(alone(&[]), Some(0.0), "a thread without logged waits may run");
}

/// The first thread works throughout; two workers wait three times at the same time, each a second
/// longer than the other.
#[test]
fn a_stage_is_what_one_thread_does_while_all_others_wait_for_events() {
    let stage = |op: Op, primitive: Primitive| {
        let mut drawn = drawn(2);
        let object = drawn.lock(primitive, "begin");
        let site = drawn.site(op, "correct at main.c:20");
        drawn.uses(object, site, Use { calls: 6, waits: 6, ..Use::default() });
        for began in [0.0, 4.0, 7.0] {
            wait(&mut drawn, 1, (began, began + 2.0), site, Some(0));
            wait(&mut drawn, 2, (began, began + 1.5), site, Some(0));
        }
        // Before the workers begin, and after the last one ends, the thread is alone in any case.
        drawn.threads[1].started = 0.5;
        drawn.threads[2].started = 0.5;
        drawn.threads[1].seconds = 8.0;
        drawn.threads[2].seconds = 8.0;
        critical_path(&drawn).stages.remove(&0)
    };
    let found = stage(Op::BarrierWait, Primitive::Barrier).unwrap();
    assert_eq!((found.seconds, found.longest, found.pieces), (1.0 + 1.5 + 1.5, 1.5, 3));
    assert_eq!(found.meanwhile, [(0, 2.0 * 4.0)].into());
    assert_eq!(stage(Op::MutexLock, Primitive::Mutex), None, "a lock that the thread holds");
}

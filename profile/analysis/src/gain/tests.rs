//! Predicted gains compared with true ones. Programs run under a small scheduler in this file. The
//! true gain is that of the same program without the waits or the work that the remedy removes.

use syncline_recording::{Op, Primitive};

use super::Predictor;
use crate::findings::testing::{self, Drawn, Use, wait};
use crate::model::{Remedy, Span};

/// A step of a thread.
#[derive(Clone, Copy)]
enum Do {
    /// Works for a number of the scheduler's ticks.
    Work(u32),
    Lock(usize),
    Unlock(usize),
    /// Waits until all threads have arrived.
    Barrier,
}

/// A program: the steps of each thread. A lock and its call site have the same index; the barrier's
/// index follows that of the last lock.
struct Program {
    threads: Vec<Vec<Do>>,
    locks: usize,
}

/// The result of a run.
struct Run {
    ticks: u32,
    waits: Vec<Vec<Span>>,
    cpu: Vec<u32>,
}

/// Seconds of a tick, long enough that the cost of sleeping hardly counts.
const TICK: f64 = 1e-3;

impl Program {
    /// Runs the program. With more threads than processors, the threads take turns, tick by tick.
    fn run(&self, processors: usize) -> Run {
        let count = self.threads.len();
        let mut next = vec![0; count];
        let mut left: Vec<Option<u32>> = vec![None; count];
        let mut holder: Vec<Option<usize>> = vec![None; self.locks];
        let mut queues: Vec<Vec<usize>> = vec![Vec::new(); self.locks];
        let mut waiting: Vec<Option<(u32, usize)>> = vec![None; count];
        let mut waits: Vec<Vec<Span>> = vec![Vec::new(); count];
        let mut arrived = Vec::new();
        let (mut cpu, mut turn, mut now) = (vec![0; count], 0, 0);
        loop {
            // All steps that take no time are done first.
            let mut moved = true;
            while moved {
                moved = false;
                for t in 0..count {
                    if waiting[t].is_some() || left[t].is_some() {
                        continue;
                    }
                    let Some(step) = self.threads[t].get(next[t]) else { continue };
                    next[t] += 1;
                    moved = true;
                    match *step {
                        Do::Work(ticks) => left[t] = (ticks > 0).then_some(ticks),
                        Do::Lock(lock) if holder[lock].is_none() => holder[lock] = Some(t),
                        Do::Lock(lock) => {
                            waiting[t] = Some((now, lock));
                            queues[lock].push(t);
                        }
                        Do::Unlock(lock) => {
                            holder[lock] = None;
                            if !queues[lock].is_empty() {
                                let waiter = queues[lock].remove(0);
                                holder[lock] = Some(waiter);
                                let (began, _) = waiting[waiter].take().expect("it waits");
                                waits[waiter].push(span(began, now, lock, Some(1 + t)));
                            }
                        }
                        Do::Barrier => {
                            arrived.push((t, now));
                            waiting[t] = Some((now, self.locks));
                            if arrived.len() == count {
                                for (thread, began) in arrived.drain(..) {
                                    waiting[thread] = None;
                                    waits[thread].push(span(began, now, self.locks, None));
                                }
                            }
                        }
                    }
                }
            }
            let able: Vec<usize> = (0..count).filter(|&t| left[t].is_some()).collect();
            if able.is_empty() {
                return Run { ticks: now, waits, cpu };
            }
            for n in 0..processors.min(able.len()) {
                let t = able[(turn + n) % able.len()];
                cpu[t] += 1;
                left[t] = left[t].map(|ticks| ticks - 1).filter(|&ticks| ticks > 0);
            }
            turn += processors;
            now += 1;
        }
    }

    /// The program without the acquisitions and releases of a lock.
    fn without(&self, lock: usize) -> Program {
        let keep = |step: &Do| !matches!(step, Do::Lock(l) | Do::Unlock(l) if *l == lock);
        let thread = |steps: &Vec<Do>| steps.iter().copied().filter(keep).collect();
        Program { threads: self.threads.iter().map(thread).collect(), locks: self.locks }
    }

    /// The program with `by` ticks of work moved from within each section of a lock to after it.
    fn shortened(&self, lock: usize, by: u32) -> Program {
        let thread = |steps: &Vec<Do>| {
            let mut inside = false;
            let mut made = Vec::new();
            for step in steps {
                match *step {
                    Do::Lock(l) if l == lock => inside = true,
                    Do::Work(ticks) if inside => {
                        made.push(Do::Work(ticks - by));
                        continue;
                    }
                    Do::Unlock(l) if l == lock => {
                        inside = false;
                        made.extend([*step, Do::Work(by)]);
                        continue;
                    }
                    _ => {}
                }
                made.push(*step);
            }
            made
        };
        Program { threads: self.threads.iter().map(thread).collect(), locks: self.locks }
    }

    /// A process as the analysis of a run would have it. Its first thread does nothing.
    fn recorded(&self, run: &Run, processors: usize) -> Drawn {
        let seconds = f64::from(run.ticks) * TICK;
        let mut drawn = testing::process(seconds, processors);
        drawn.threads("worker", run.cpu.len(), seconds);
        drawn.timeline.to = seconds;
        drawn.timeline.windows = vec![(0.0, seconds)];
        drawn.timeline.threads = [Vec::new()].into_iter().chain(run.waits.clone()).collect();
        drawn.threads[0].cpu = Some(0.0);
        for (thread, &cpu) in run.cpu.iter().enumerate() {
            let locks = self.threads[thread].iter().filter(|step| matches!(step, Do::Lock(_)));
            let thread = &mut drawn.threads[1 + thread];
            thread.cpu = Some(f64::from(cpu) * TICK);
            thread.acquisitions = locks.count() as u64;
        }
        for number in 0..self.locks {
            let lock = drawn.lock(Primitive::Mutex, "lock");
            let site = drawn.site(Op::MutexLock, "somewhere");
            let steps = || self.threads.iter().flatten();
            let calls = steps().filter(|s| matches!(s, Do::Lock(l) if *l == number)).count();
            let held = self.held(number);
            let done = Use { calls: calls as u64, held: f64::from(held) * TICK, ..Use::default() };
            drawn.uses(lock, site, done);
        }
        let barrier = drawn.lock(Primitive::Barrier, "barrier");
        let site = drawn.site(Op::BarrierWait, "meet");
        drawn.uses(barrier, site, Use::default());
        drawn
    }

    /// Ticks of work in all sections of a lock.
    fn held(&self, lock: usize) -> u32 {
        let mut held = 0;
        for steps in &self.threads {
            let mut inside = false;
            for step in steps {
                match *step {
                    Do::Lock(l) if l == lock => inside = true,
                    Do::Unlock(l) if l == lock => inside = false,
                    Do::Work(ticks) if inside => held += ticks,
                    _ => {}
                }
            }
        }
        held
    }

    /// The predicted and the true gain of a remedy, as shares of the run time.
    fn compare(&self, fixed: &Program, remedy: &Remedy, processors: usize) -> (f64, f64) {
        let (before, after) = (self.run(processors), fixed.run(processors));
        let process = self.recorded(&before, processors);
        let predicted = Predictor::new(&process).gain(remedy).expect("it can be predicted").share;
        (predicted, 1.0 - f64::from(after.ticks) / f64::from(before.ticks))
    }
}

fn span(began: u32, ended: u32, lock: usize, by: Option<usize>) -> Span {
    let op = if by.is_some() { Op::MutexLock } else { Op::BarrierWait };
    let wait = wait(op, f64::from(began) * TICK, f64::from(ended) * TICK);
    Span { lock: Some(lock), site: Some(lock), by, ..wait }
}

/// Threads that alternate between about `outside` ticks of work without the lock and `inside` ticks
/// under it.
fn workers(threads: usize, rounds: usize, outside: u32, inside: u32) -> Program {
    let mut random = fastrand::Rng::with_seed(7);
    let mut thread = |_| {
        let mut steps = Vec::new();
        for _ in 0..rounds {
            let alone = random.u32(outside / 2..=outside * 3 / 2);
            steps.extend([Do::Work(alone), Do::Lock(0), Do::Work(inside), Do::Unlock(0)]);
        }
        steps
    };
    Program { threads: (0..threads).map(&mut thread).collect(), locks: 1 }
}

/// The largest error that a prediction may have, as a share of the run time.
const ERROR: f64 = 0.05;

#[track_caller]
fn assert_close((predicted, truth): (f64, f64)) {
    assert!((predicted - truth).abs() < ERROR, "predicted {predicted:.3}, and it is {truth:.3}");
}

fn remove() -> Remedy {
    Remedy::RemoveLock { sites: vec![0], seconds_per_call: 0.0 }
}

#[test]
fn removing_a_contended_lock_is_predicted() {
    let program = workers(4, 200, 30, 20);
    let (predicted, truth) = program.compare(&program.without(0), &remove(), 4);
    assert!(truth > 0.3, "it is worth removing: {truth}");
    assert_close((predicted, truth));
}

#[test]
fn less_waiting_gains_little_if_all_processors_are_busy() {
    let program = workers(8, 100, 60, 10);
    let (predicted, truth) = program.compare(&program.without(0), &remove(), 2);
    assert!(truth < 0.1, "8 threads keep 2 processors busy: {truth}");
    assert_close((predicted, truth));
}

#[test]
fn a_lock_off_the_critical_path_brings_nothing() {
    // The last thread never takes the lock, and works for longer than all others.
    let mut program = workers(3, 50, 10, 10);
    program.threads.push(vec![Do::Work(10_000)]);
    assert_close(program.compare(&program.without(0), &remove(), 4));
}

#[test]
fn time_gained_before_a_barrier_may_be_lost_at_it() {
    // In each round, one thread has more than three times the work of the others, which wait for a
    // lock first, and then for that thread.
    let round =
        |alone: u32| [Do::Work(alone), Do::Lock(0), Do::Work(10), Do::Unlock(0), Do::Barrier];
    let slow = [Do::Work(100), Do::Barrier].repeat(50);
    let quick = round(20).repeat(50);
    let program = Program { threads: vec![slow, quick.clone(), quick], locks: 1 };
    let (predicted, truth) = program.compare(&program.without(0), &remove(), 4);
    assert!(truth.abs() < 0.01, "the barrier comes as late as before: {truth}");
    assert_close((predicted, truth));
    // If the slow thread is as quick as the others, all wait for the lock.
    let quick = round(5).repeat(50);
    let program = Program { threads: vec![quick.clone(), quick.clone(), quick], locks: 1 };
    let (predicted, truth) = program.compare(&program.without(0), &remove(), 4);
    assert!(truth > 0.3, "{truth}");
    assert_close((predicted, truth));
}

#[test]
fn shortening_sections_is_predicted() {
    let program = workers(4, 200, 30, 20);
    let remedy = Remedy::ShortenSections { sites: vec![0], to: 0.25 };
    let (predicted, truth) = program.compare(&program.shortened(0, 15), &remedy, 4);
    assert!(truth > 0.1, "{truth}");
    assert_close((predicted, truth));
}

/// The logs have an eighth of the run, in 12 windows of about 15 rounds each.
#[test]
fn windows_stand_for_the_whole_run() {
    let mut program = workers(4, 1500, 30, 20);
    let recorded = |program: &Program, remedy: &Remedy| {
        let run = program.run(4);
        let mut process = program.recorded(&run, 4);
        let windows = (0..12).map(|n| f64::from(run.ticks) * TICK * f64::from(n) / 12.0);
        let length = f64::from(run.ticks) * TICK / 96.0;
        let windows: Vec<_> = windows.map(|from| (from, from + length)).collect();
        process.timeline.windows = windows.clone();
        let forget = |spans: &mut Vec<Span>| {
            spans.retain(|s| windows.iter().any(|&(from, to)| s.began < to && s.ended > from));
        };
        process.timeline.threads.iter_mut().for_each(forget);
        let predicted = Predictor::new(&process).gain(remedy).expect("it can be predicted").share;
        let fixed = program.without(0).run(4);
        (predicted, 1.0 - f64::from(fixed.ticks) / f64::from(run.ticks))
    };
    let (predicted, truth) = recorded(&program, &remove());
    assert!(truth > 0.3, "{truth}");
    assert_close((predicted, truth));
    // Threads only wait in the first third of their rounds.
    for steps in &mut program.threads {
        let waiting = steps.len() / 3;
        steps.truncate(waiting);
        steps.push(Do::Work(2 * 30 * 1500));
    }
    let (predicted, truth) = recorded(&program, &remove());
    assert!((0.05..0.3).contains(&truth), "{truth}");
    assert_close((predicted, truth));
}

#[test]
fn calls_that_cost_less_are_less_work() {
    // No waits at all: a tenth of the work is the cost of calls.
    let program = workers(1, 1000, 90, 10);
    let run = program.run(1);
    let process = program.recorded(&run, 1);
    let remedy =
        Remedy::CheaperCalls { sites: vec![0], seconds_per_call: 10.0 * TICK, waits_left: 1.0 };
    let gain = Predictor::new(&process).gain(&remedy).expect("it can be predicted");
    assert_close((gain.share, 0.1));
}

/// Four threads with unequal work in each of many rounds. If ten rounds become one, the differences
/// even out.
#[test]
fn fewer_barriers_wait_less_for_the_slowest_thread() {
    let mut random = fastrand::Rng::with_seed(7);
    let work: Vec<Vec<u32>> =
        (0..4).map(|_| (0..400).map(|_| random.u32(1..=60)).collect()).collect();
    let in_rounds_of = |many: usize| {
        let steps = |work: &Vec<u32>| {
            let rounds = work.chunks(many);
            rounds.flat_map(|ticks| [Do::Work(ticks.iter().sum()), Do::Barrier]).collect()
        };
        Program { threads: work.iter().map(steps).collect(), locks: 0 }
    };
    let remedy = Remedy::FewerHandOvers { sites: vec![0], left: 0.1 };
    let (predicted, truth) = in_rounds_of(1).compare(&in_rounds_of(10), &remedy, 4);
    assert!(truth > 0.2, "{truth}");
    assert_close((predicted, truth));
}

/// A thread that only works, and a site whose number of waits would cost a given share of the run.
#[test]
fn a_little_predicted_gain_of_costly_hand_overs_is_rejected() {
    let program = workers(1, 1000, 90, 10);
    let run = program.run(1);
    let gain = |share_of_run: f64, remedy: &Remedy| {
        let mut process = program.recorded(&run, 1);
        process.sites[0].figures.waits = (share_of_run * process.seconds / 5e-6) as u64;
        Predictor::new(&process).gain(remedy).map(|gain| gain.share < 0.05)
    };
    let fewer = Remedy::FewerHandOvers { sites: vec![0], left: 0.1 };
    assert_eq!((gain(0.09, &fewer), gain(0.11, &fewer)), (Some(true), None));
    assert_eq!(gain(0.11, &Remedy::NoWaits { sites: vec![0] }), Some(true));
}

/// A thread that only works, and a site at which other threads waited for holders that slept.
#[test]
fn a_little_predicted_gain_of_waits_for_sleeping_holders_is_rejected() {
    let program = workers(1, 1000, 90, 10);
    let run = program.run(1);
    let gain = |share_waited: f64, asleep: f64| {
        let mut process = program.recorded(&run, 1);
        process.sites[0].figures.waited = share_waited * process.thread_seconds;
        process.sites[0].figures.holder.seconds = 1.0;
        process.sites[0].figures.holder.off_cpu = asleep;
        let remedy = Remedy::CheaperCalls {
            sites: vec![0],
            seconds_per_call: 0.0,
            waits_left: 1.0 - asleep,
        };
        Predictor::new(&process).gain(&remedy).map(|gain| gain.share < 0.05)
    };
    assert_eq!(gain(0.21, 0.9), None);
    assert_eq!(gain(0.19, 0.9), Some(true), "threads hardly wait");
    assert_eq!(gain(0.21, 0.4), Some(true), "holders mostly run");
}

#[test]
fn nothing_is_predicted_for_the_shortest_runs() {
    let program = workers(1, 1000, 90, 10);
    let run = program.run(1);
    let gain = |seconds: f64| {
        let mut process = program.recorded(&run, 1);
        process.seconds = seconds;
        Predictor::new(&process).gain(&remove()).is_some()
    };
    assert_eq!((gain(0.049), gain(0.051)), (false, true));
}

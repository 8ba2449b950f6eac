//! Replays the tracks of threads on a number of processors, and finds out how long that takes.
//!
//! All threads that work at a moment advance at the same pace. It is 1, or, if the threads demand
//! more processors than there are, the number of processors divided by the demand. So one clock
//! measures the work of all threads, and another one the time. Each clock has a heap of events, and
//! the next event is the earliest of both heaps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::tracks::{Ends, Track, Wait};

/// A thread that never waits for another thread, and uses less than this share of a processor,
/// counts as one that sleeps by itself, such as a timer. The length of the run does not depend on
/// it.
const SLEEPER: f64 = 0.05;
/// Less work than this, in seconds, counts as none, since sums of rounded numbers are inexact.
const NOTHING: f64 = 1e-12;

/// Seconds from the start until the last thread is done.
pub fn replay(tracks: &[Track], processors: f64) -> f64 {
    let mut replay = Replay::new(tracks, processors);
    for (number, track) in tracks.iter().enumerate() {
        replay.wait_for(number, track.starts, false);
    }
    replay.run();
    replay.ended
}

struct Replay<'a> {
    tracks: &'a [Track],
    processors: f64,
    /// Seconds that have passed so far.
    now: f64,
    /// Seconds of work that a thread without waits would have done so far.
    worked: f64,
    /// The processors that working and spinning threads demand.
    wanted: f64,
    threads: Vec<Thread>,
    /// The next stop of each working thread: the value of `worked` at the stop, and the thread.
    stops: BinaryHeap<Reverse<(Moment, usize)>>,
    /// The ends of waits whose time is known: the value of `now` at the end, and the thread.
    timers: BinaryHeap<Reverse<(Moment, usize)>>,
    ended: f64,
}

#[derive(Clone, Copy)]
struct Waiter {
    work: f64,
    delay: f64,
    thread: usize,
}

#[derive(Clone, Default)]
struct Thread {
    /// Work that the thread had done at its last stop.
    done: f64,
    /// The value of `worked` at that stop, or when the thread last continued.
    since: f64,
    next_wait: usize,
    /// Amounts of the thread's work that other threads wait for, in order. `next_awaited` is the
    /// index of the next one.
    awaited: Vec<f64>,
    next_awaited: usize,
    /// The threads that now wait for this thread: each with the amount of work that it waits for,
    /// and the delay after which it then continues.
    waiters: Vec<Waiter>,
    /// Whether the thread spins while it waits; `None` if it does not wait.
    waits: Option<bool>,
    started: bool,
}

impl<'a> Replay<'a> {
    fn new(tracks: &'a [Track], processors: f64) -> Replay<'a> {
        let mut threads = vec![Thread::default(); tracks.len()];
        let ends = tracks.iter().flat_map(|t| t.waits.iter().map(|w| w.ends).chain([t.starts]));
        for ends in ends {
            if let Ends::With { thread, work, .. } = ends {
                threads[thread].awaited.push(work);
            }
        }
        for thread in &mut threads {
            thread.awaited.sort_by(f64::total_cmp);
        }
        Replay {
            tracks,
            processors,
            now: 0.0,
            worked: 0.0,
            wanted: 0.0,
            threads,
            stops: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            ended: 0.0,
        }
    }

    fn run(&mut self) {
        loop {
            let pace =
                if self.wanted > self.processors { self.processors / self.wanted } else { 1.0 };
            let stop = self
                .stops
                .peek()
                .map(|Reverse((at, _))| self.now + (at.0 - self.worked).max(0.0) / pace);
            let timer = self.timers.peek().map(|Reverse((at, _))| at.0);
            match (stop, timer) {
                (Some(stop), timer) if timer.is_none_or(|timer| stop <= timer) => {
                    let Some(Reverse((at, thread))) = self.stops.pop() else { return };
                    (self.now, self.worked) = (stop, self.worked.max(at.0));
                    self.stop(thread);
                }
                (_, Some(timer)) => {
                    let Some(Reverse((_, thread))) = self.timers.pop() else { return };
                    self.worked += (timer - self.now) * pace;
                    self.now = timer;
                    self.go_on(thread);
                }
                _ => match self.first_stuck() {
                    Some(thread) => self.go_on(thread),
                    None => return,
                },
            }
        }
    }

    /// Handles a thread that has reached a point where it waits, is waited for, or is done.
    fn stop(&mut self, number: usize) {
        let track = &self.tracks[number];
        let thread = &mut self.threads[number];
        thread.done = stop_of(thread, track);
        thread.since = self.worked;
        while thread.awaited.get(thread.next_awaited).is_some_and(|&w| w <= thread.done) {
            thread.next_awaited += 1;
        }
        let (done, next) = (thread.done, thread.next_wait);
        let here = track.waits.get(next).filter(|wait| wait.at <= done);
        let finished = here.is_none() && done >= track.work;
        if finished {
            self.wanted -= track.demand;
            let hangs = |wait: &Wait| matches!(wait.ends, Ends::With { .. });
            if track.demand >= SLEEPER || track.waits.iter().any(hangs) {
                self.ended = self.ended.max(self.now);
            }
            self.threads[number].done = f64::INFINITY;
        } else if let Some(wait) = here {
            self.threads[number].next_wait += 1;
            self.wanted -= track.demand;
            self.wait_for(number, wait.ends, wait.spins);
        } else {
            self.plan(number);
        }
        let done = self.threads[number].done + NOTHING;
        let mut free = Vec::new();
        self.threads[number].waiters.retain(|waiter| {
            let still = waiter.work > done;
            if !still {
                free.push(*waiter);
            }
            still
        });
        for waiter in free {
            self.go_on_after(waiter.thread, waiter.delay);
        }
    }

    /// Makes a thread wait for an event, or continue if the event has happened already.
    fn wait_for(&mut self, number: usize, ends: Ends, spins: bool) {
        self.threads[number].waits = Some(spins);
        if spins {
            self.wanted += 1.0;
        }
        match ends {
            Ends::With { thread, work, delay } if self.threads[thread].done + NOTHING < work => {
                self.threads[thread].waiters.push(Waiter { work, delay, thread: number });
            }
            // The event has happened already: the thread does not sleep, and need not be woken.
            Ends::With { .. } => self.go_on(number),
            Ends::After(seconds) => self.go_on_after(number, seconds.max(0.0)),
        }
    }

    /// Lets a thread continue in `seconds` seconds.
    fn go_on_after(&mut self, number: usize, seconds: f64) {
        if seconds > 0.0 {
            self.timers.push(Reverse((Moment(self.now + seconds), number)));
        } else {
            self.go_on(number);
        }
    }

    /// Ends the wait of a thread, if it waits.
    fn go_on(&mut self, number: usize) {
        let Some(spun) = self.threads[number].waits.take() else { return };
        if spun {
            self.wanted -= 1.0;
        }
        self.wanted += self.tracks[number].demand;
        self.threads[number].started = true;
        self.threads[number].since = self.worked;
        self.plan(number);
    }

    fn plan(&mut self, number: usize) {
        let thread = &self.threads[number];
        let left = stop_of(thread, &self.tracks[number]) - thread.done;
        self.stops.push(Reverse((Moment(thread.since + left.max(0.0)), number)));
    }

    /// The thread that continues if threads wait for each other in a cycle: the thread whose
    /// recorded wait ended first. `None` if no thread waits. The recorded run had no cycle, but
    /// the holder of a lock is not always known for certain.
    fn first_stuck(&mut self) -> Option<usize> {
        let stuck = (0..self.threads.len()).filter(|&n| self.threads[n].waits.is_some());
        let ended = |n: usize| {
            let waits = &self.tracks[n].waits;
            let thread = &self.threads[n];
            let current = thread.next_wait.checked_sub(1).filter(|_| thread.started);
            current.and_then(|wait| waits.get(wait)).map_or(0.0, |wait| wait.ended)
        };
        let first = stuck.min_by(|&a, &b| ended(a).total_cmp(&ended(b)))?;
        for thread in &mut self.threads {
            thread.waiters.retain(|waiter| waiter.thread != first);
        }
        Some(first)
    }
}

/// The amount of work at which a thread reaches its next stop.
fn stop_of(thread: &Thread, track: &Track) -> f64 {
    let wait = track.waits.get(thread.next_wait).map_or(track.work, |wait| wait.at);
    let awaited = thread.awaited.get(thread.next_awaited).copied().unwrap_or(f64::INFINITY);
    wait.min(awaited).min(track.work).max(thread.done)
}

/// A number with a total order, to sort by.
#[derive(Clone, Copy, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Moment) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Moment) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(work: f64, waits: &[(f64, Ends)]) -> Track {
        let wait = |&(at, ends)| Wait {
            at,
            ends,
            spins: false,
            site: None,
            lock: None,
            ended: at,
            seconds: 0.0,
        };
        let waits = waits.iter().map(wait).collect();
        Track { starts: Ends::After(0.0), waits, work, lived: work, demand: 1.0 }
    }

    fn with(thread: usize, work: f64) -> Ends {
        Ends::With { thread, work, delay: 0.0 }
    }

    fn assert_near(seconds: f64, expected: f64) {
        assert!((seconds - expected).abs() < 1e-9, "{seconds} seconds, and not {expected}");
    }

    #[test]
    fn threads_share_the_processors() {
        let tracks = [track(2.0, &[]), track(2.0, &[]), track(2.0, &[])];
        assert_near(replay(&tracks, 3.0), 2.0);
        assert_near(replay(&tracks, 2.0), 3.0);
        assert_near(replay(&tracks, 1.0), 6.0);
    }

    #[test]
    fn a_wait_ends_when_the_other_thread_reaches_its_end() {
        // 0: ===h=
        // 1: =w..==     waits after 1 second of work until thread 0 has done 3
        let tracks = [track(4.0, &[]), track(3.0, &[(1.0, with(0, 3.0))])];
        assert_near(replay(&tracks, 2.0), 5.0);
        let late = [track(4.0, &[]), track(5.0, &[(4.0, with(0, 3.0))])];
        assert_near(replay(&late, 2.0), 5.0);
    }

    #[test]
    fn a_wake_up_delays_only_a_sleeping_thread() {
        let woken = Ends::With { thread: 0, work: 3.0, delay: 0.5 };
        assert_near(replay(&[track(3.0, &[]), track(3.0, &[(1.0, woken)])], 2.0), 5.5);
        assert_near(replay(&[track(3.0, &[]), track(6.0, &[(4.0, woken)])], 2.0), 6.0);
    }

    #[test]
    fn waits_depend_on_other_waits() {
        let tracks = [
            track(4.0, &[(1.0, Ends::After(2.0))]),
            track(3.0, &[(1.0, with(0, 2.0))]),
            track(2.0, &[(1.0, with(1, 2.0))]),
        ];
        // 0 continues at 3 and has done 2 at 4; 1 has done 2 at 5; 2 is done at 6, as is 0.
        assert_near(replay(&tracks, 3.0), 6.0);
    }

    #[test]
    fn a_waiter_frees_its_processor_unless_it_spins() {
        let mut tracks = [track(2.0, &[(1.0, with(1, 3.0))]), track(3.0, &[])];
        // For 2 seconds both threads work, and do 1 second of work each. Then thread 1 has the
        // processor, then thread 0.
        assert_near(replay(&tracks, 1.0), 5.0);
        tracks[0].waits[0].spins = true;
        assert_near(replay(&tracks, 1.0), 7.0);
    }

    #[test]
    fn a_thread_starts_when_its_creator_reaches_the_creation() {
        let mut tracks = [track(2.0, &[(1.0, with(1, 2.0))]), track(2.0, &[])];
        tracks[1].starts = with(0, 1.0);
        assert_near(replay(&tracks, 2.0), 4.0);
    }

    #[test]
    fn a_cycle_is_broken_where_the_recorded_wait_ended_first() {
        let tracks = [track(3.0, &[(1.0, with(1, 2.0))]), track(2.0, &[(1.5, with(0, 1.5))])];
        // Both are stuck at 1.5. If 1 continued first, it would take 4 seconds.
        assert_near(replay(&tracks, 2.0), 3.5);
    }

    #[test]
    fn a_sleeper_does_not_make_the_run_longer() {
        let sleeper = Track { demand: 0.0, ..track(60.0, &[]) };
        assert_near(replay(&[track(2.0, &[]), sleeper], 1.0), 2.0);
    }
}

//! The critical path: what the end of the run waited for, traced back from the end.
//!
//! ```text
//! main    ---- join -------------------|==     ^ end
//! worker  ==|---- wait -----|==========        main, then worker, then other, back to the start
//! other   ==================|---- wait ----
//! ```
//!
//! At each moment the path is in one thread. If that thread had waited, its progress depended on
//! the thread that ended the wait, and the path continues in that thread. A sleep ends by itself,
//! and so does a wait with a time-out. Only a change that shortens the path makes the run shorter,
//! and only until another path is as long. (Yang and Miller, Critical Path Analysis for the
//! Execution of Parallel and Distributed Programs, ICDCS 1988.)
//!
//! Outside of waits, it is not known when a thread ran, was ready, or was in the kernel; only the
//! total times are known. So a piece of the path in a thread is divided in the same proportions as
//! the thread's whole life.

mod alone;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::{Op, Primitive};

use crate::findings::waking::{is_clock, wakes};
use crate::model::{Activity, CriticalPath, OnPath, PathPart, Process, Span, Thread};
use crate::name;

/// The critical path of a process; empty if the program did not end its run itself, or had only one
/// thread.
pub fn critical_path(process: &Process) -> CriticalPath {
    if !process.state.is_own_end() || process.threads.len() < 2 {
        return CriticalPath::default();
    }
    let mut walk = Walk::new(process);
    for &(from, to) in &process.timeline.windows {
        walk.back(from, to);
    }
    walk.finish()
}

struct Walk<'a> {
    process: &'a Process,
    /// The waits of each thread, in order, none within another.
    waits: Vec<Vec<&'a Span>>,
    /// For each thread the number of its kind.
    kinds: Vec<usize>,
    pieces: BTreeMap<Key, Pieces>,
    path: CriticalPath,
}

/// The key by which pieces are summed: the kind of a piece, and its site, or else the kind of its
/// thread.
type Key = (OnPath, Option<usize>, Option<usize>);

/// For each thread the number of its kind. Threads of one kind have the same origin and, but for a
/// number at the end, the same name.
fn kinds(process: &Process) -> Vec<usize> {
    let kind = |thread: &Thread| {
        (name::origin(process, thread), name::unnumbered(&thread.name).to_owned())
    };
    let of_threads: Vec<_> = process.threads.iter().map(kind).collect();
    let all: BTreeSet<_> = of_threads.iter().collect();
    let numbers: BTreeMap<_, usize> = all.into_iter().zip(0..).collect();
    of_threads.iter().map(|kind| numbers[kind]).collect()
}

#[derive(Default)]
struct Pieces {
    threads: BTreeSet<usize>,
    seconds: f64,
    number: u64,
}

impl<'a> Walk<'a> {
    fn new(process: &'a Process) -> Self {
        let waits = |spans: &'a Vec<Span>| {
            let mut last = f64::NEG_INFINITY;
            let mut waits = Vec::new();
            for span in spans.iter().filter(|span| span.activity == Activity::Wait) {
                if span.began >= last {
                    last = span.ended;
                    waits.push(span);
                }
            }
            waits
        };
        let mut waits: Vec<_> = process.timeline.threads.iter().map(waits).collect();
        waits.resize_with(process.threads.len(), Vec::new);
        let kinds = kinds(process);
        Walk { process, waits, kinds, pieces: BTreeMap::new(), path: CriticalPath::default() }
    }

    /// Traces a window of the run, from its end.
    fn back(&mut self, from: f64, to: f64) {
        self.path.seconds += to - from;
        let (mut thread, mut now) = (self.at_the_end(to), to);
        // Steps that did not go back in time. The records may say that threads woke each other at
        // the same moment.
        let mut in_place = 0;
        while now > from {
            let before = now;
            match self.wait_at(thread, now) {
                Some(wait) => match self.woken_by(thread, wait, now) {
                    Some((waker, woke)) if self.mostly_slept_until_join(waker, wait) => {
                        let seconds = woke - wait.began.max(from);
                        self.add(OnPath::WakeUp, thread, wait.site, now - woke);
                        self.add(OnPath::Kernel, waker, None, seconds);
                        now = wait.began;
                    }
                    Some((waker, woke)) => {
                        let seconds = now - woke.max(from);
                        self.add(OnPath::WakeUp, thread, wait.site, seconds);
                        self.lead_through(wait, seconds);
                        self.path.hand_overs += 1;
                        (thread, now) = (waker, woke);
                    }
                    None => {
                        let began = wait.began.max(from);
                        let seconds = now - began;
                        let kind = self.by_itself(wait);
                        if let (OnPath::Sleep, Some(site)) = (kind, wait.site) {
                            *self.path.alone.entry(site).or_default() +=
                                self.seconds_alone(thread, began, now);
                        }
                        self.add(kind, thread, wait.site, seconds);
                        self.lead_through(wait, seconds);
                        now = wait.began;
                    }
                },
                None => {
                    let last = self.wait_before(thread, now);
                    let started = self.process.threads[thread].started;
                    let began = last.map_or(started, |wait| wait.ended).min(now);
                    let seconds = now - began.max(from);
                    self.busy(thread, seconds);
                    self.add_stage(thread, began.max(from), now);
                    if let Some(wait) = last {
                        self.lead_through(wait, seconds);
                    }
                    now = began;
                    if began <= started && now > from {
                        let Some(creator) = self.process.threads[thread].creator else {
                            self.add(OnPath::Unknown, thread, None, now - from);
                            return;
                        };
                        thread = creator;
                    }
                }
            }
            in_place = if now < before { 0 } else { in_place + 1 };
            if in_place > self.waits.len() {
                self.add(OnPath::Unknown, thread, None, now - from);
                return;
            }
        }
    }

    /// The thread in which the path ends: the first one that still lived at `end` and did not wait,
    /// or else the thread that was active last.
    fn at_the_end(&self, end: f64) -> usize {
        const SOON: f64 = 1e-3;
        let mut threads = 0..self.process.threads.len();
        let latest = || {
            let ends =
                (0..self.process.threads.len()).map(|thread| (self.active_until(thread), thread));
            ends.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, thread)| thread)
        };
        threads.find(|&thread| self.active_until(thread) >= end - SOON).unwrap_or_else(latest)
    }

    /// When a thread ended, or began a wait that did not end.
    fn active_until(&self, thread: usize) -> f64 {
        let thread = &self.process.threads[thread];
        let waiting = thread.waiting_now.as_ref().map_or(0.0, |now| now.seconds);
        thread.started + thread.seconds - waiting
    }

    /// The wait that a thread is in at a moment, or that ends at that moment; `None` if it runs.
    fn wait_at(&self, thread: usize, moment: f64) -> Option<&'a Span> {
        let next = self.waits[thread].partition_point(|wait| wait.ended < moment);
        self.waits[thread].get(next).copied().filter(|wait| wait.began < moment)
    }

    /// The last wait of a thread before a moment at which it does not wait.
    fn wait_before(&self, thread: usize, moment: f64) -> Option<&'a Span> {
        let next = self.waits[thread].partition_point(|wait| wait.ended < moment);
        next.checked_sub(1).map(|last| self.waits[thread][last])
    }

    /// The thread that ended a wait, and when it did so, `now` at the latest; `None` if unknown. If
    /// that thread waits at `now` itself, it had ended the wait before its own wait began. If the
    /// wait continues after `now`, the result is that thread and `now`, or the moment until which
    /// that thread was active if it is earlier.
    fn woken_by(&self, thread: usize, wait: &Span, now: f64) -> Option<(usize, f64)> {
        let by = self.process.timeline.ended_by(thread, wait).or_else(|| self.only_waker(wait));
        let waker = by.filter(|&waker| waker != thread && waker < self.waits.len())?;
        let mut woke = now.min(self.active_until(waker));
        let own = self.wait_at(waker, woke).filter(|own| own.ended > woke && wait.ended <= now);
        if let Some(own) = own {
            woke = own.began;
        }
        let since = wait.began.max(self.process.threads[waker].started);
        (woke > since).then_some((waker, woke))
    }

    /// Whether a join was short, and the joined thread had mostly slept in the kernel before it,
    /// like helpers that wait for signals or for work. Most likely, such a thread had waited for
    /// the joining thread to end it.
    fn mostly_slept_until_join(&self, waker: usize, wait: &Span) -> bool {
        const A_MOMENT: f64 = 0.02;
        const NEARLY_ALL: f64 = 0.9;
        let times = &self.process.threads[waker].times;
        let outside = times.running + times.spinning + times.ready + times.kernel;
        wait.op == Op::ThreadJoin
            && wait.ended - wait.began <= A_MOMENT * self.process.seconds
            && times.kernel >= NEARLY_ALL * outside
            && times.kernel > 0.0
    }

    /// The only thread that wakes threads which wait for the object; `None` if there are several,
    /// or none.
    fn only_waker(&self, wait: &Span) -> Option<usize> {
        let mut wakers = wakes(self.process, &[wait.lock?]).into_keys();
        wakers.next().filter(|_| wakers.next().is_none())
    }

    /// The kind of a wait that no other thread is known to have ended.
    fn by_itself(&self, wait: &Span) -> OnPath {
        let clock = || wait.site.is_some_and(|site| is_clock(&self.process.sites[site]));
        match wait.op {
            Op::Yield => OnPath::Ready,
            op if op.primitive() == Primitive::Sleep || clock() => OnPath::Sleep,
            _ => OnPath::Unknown,
        }
    }

    /// Adds a piece outside of waits, divided in the proportions of the thread's life.
    fn busy(&mut self, thread: usize, seconds: f64) {
        let times = &self.process.threads[thread].times;
        // A thread without logged waits may have had no room for a log: the piece may include
        // waits.
        let unlogged = match self.waits[thread][..] {
            [] => times.locks + times.futexes + times.events,
            _ => 0.0,
        };
        let kinds = [
            (OnPath::Running, times.running + times.spinning),
            (OnPath::Ready, times.ready),
            (OnPath::Kernel, times.kernel),
            (OnPath::Unknown, times.unknown + unlogged),
        ];
        let all: f64 = kinds.iter().map(|(_, part)| part).sum();
        if all <= 0.0 {
            return self.add(OnPath::Unknown, thread, None, seconds);
        }
        for (kind, part) in kinds {
            self.add(kind, thread, None, seconds * part / all);
        }
    }

    fn add(&mut self, kind: OnPath, thread: usize, site: Option<usize>, seconds: f64) {
        if seconds <= 0.0 {
            return;
        }
        let key = (kind, site, site.is_none().then(|| self.kinds[thread]));
        let pieces = self.pieces.entry(key).or_default();
        pieces.threads.insert(thread);
        pieces.seconds += seconds;
        pieces.number += 1;
    }

    fn lead_through(&mut self, wait: &Span, seconds: f64) {
        if let Some(site) = wait.site {
            *self.path.through.entry(site).or_default() += seconds;
        }
    }

    fn finish(self) -> CriticalPath {
        let part = |((kind, site, _), pieces): (Key, Pieces)| PathPart {
            kind,
            site,
            threads: pieces.threads.into_iter().collect(),
            seconds: pieces.seconds,
            pieces: pieces.number,
        };
        let mut parts: Vec<PathPart> = self.pieces.into_iter().map(part).collect();
        parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        CriticalPath { parts, ..self.path }
    }
}

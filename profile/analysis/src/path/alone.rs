//! What a thread does while all others wait.

use super::Walk;
use crate::model::{Kind, Span, Stage, Thread};

impl<'a> Walk<'a> {
    /// Seconds between two moments for which each thread other than `thread` waited, or did not
    /// live.
    pub(super) fn seconds_alone(&self, thread: usize, from: f64, to: f64) -> f64 {
        self.alone(thread, from, to, |_| true).iter().map(|(from, to)| to - from).sum()
    }

    /// Adds a piece of the path, in which `thread` did not wait, to the thread's stage if it was
    /// alone. A thread that waits for a lock is not idle, since it waits for a part of the other
    /// thread's work. A thread was not alone before the others began, or after they had ended.
    pub(super) fn add_stage(&mut self, thread: usize, from: f64, to: f64) {
        let for_events = |wait: &Span| {
            let site = wait.site.map(|site| &self.process.sites[site]);
            site.is_some_and(|site| site.kind != Kind::Lock)
        };
        let pieces = self.alone(thread, from, to, for_events);
        if pieces.is_empty() {
            return;
        }
        let others = self.process.threads.iter().enumerate().filter(|&(other, _)| other != thread);
        let others = others.map(|(_, other)| (other.started, other.started + other.seconds));
        let life = others.fold((f64::INFINITY, 0.0_f64), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let mut stage = self.path.stages.remove(&thread).unwrap_or_default();
        for (began, ended) in in_both(&pieces, [life].into_iter()) {
            stage.seconds += ended - began;
            stage.longest = stage.longest.max(ended - began);
            stage.pieces += 1;
            self.count_waits(thread, (began, ended), &mut stage);
        }
        if stage.pieces > 0 {
            self.path.stages.insert(thread, stage);
        }
    }

    /// Adds what the other threads waited for between two moments.
    fn count_waits(&self, thread: usize, (from, to): (f64, f64), stage: &mut Stage) {
        for other in (0..self.waits.len()).filter(|&other| other != thread) {
            for wait in self.waits_between(other, from, to) {
                if let Some(site) = wait.site {
                    let seconds = wait.ended.min(to) - wait.began.max(from);
                    *stage.meanwhile.entry(site).or_default() += seconds;
                }
            }
        }
    }

    /// The times between two moments for which each thread other than `thread` was in a wait that
    /// `counts`, or did not live.
    fn alone(
        &self,
        thread: usize,
        from: f64,
        to: f64,
        counts: impl Fn(&Span) -> bool,
    ) -> Vec<(f64, f64)> {
        let mut idle = if from < to { vec![(from, to)] } else { Vec::new() };
        for other in (0..self.waits.len()).filter(|&other| other != thread) {
            if idle.is_empty() {
                break;
            }
            let Thread { started, seconds, .. } = &self.process.threads[other];
            let (before, after) = ((from, *started), (started + seconds, to));
            let waits = self.waits_between(other, from, to).filter(|wait| counts(wait));
            let waits = waits.map(|wait| (wait.began, wait.ended));
            idle = in_both(&idle, [before].into_iter().chain(waits).chain([after]));
        }
        idle
    }

    /// The waits of a thread that are partly between two moments, in order.
    fn waits_between(&self, thread: usize, from: f64, to: f64) -> impl Iterator<Item = &'a Span> {
        let first = self.waits[thread].partition_point(|wait| wait.ended <= from);
        self.waits[thread][first..].iter().copied().take_while(move |wait| wait.began < to)
    }
}

/// The times that are in one of the intervals of each list. The intervals of a list are in order and
/// do not overlap; those that end before they begin are empty.
fn in_both(one: &[(f64, f64)], other: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut both = Vec::new();
    let mut rest = one;
    for (from, to) in other {
        while let [(began, ended), later @ ..] = rest {
            let (start, end) = (began.max(from), ended.min(to));
            if start < end {
                both.push((start, end));
            }
            if *ended > to {
                break;
            }
            rest = later;
        }
    }
    both
}

//! Contended locks with much waiting. Either the lock protects more data than one section touches,
//! and should be split; or its sections do more than they need to, and should be shortened
//! (SyncPerf, Table 1, rows 5 and 6).
//!
//! How long the lock is held, and what its sections call, distinguishes the two cases: a section of
//! many microseconds contains something that could be outside; a very short one does not, so there
//! are too many sections for one lock. A trace, if there is one, shows which data the sections
//! touch (`traced`).

mod traced;

use crate::findings::blocked_holder::holder::TIME_SLICE;
use crate::findings::blocked_holder::preempted;
use crate::findings::evidence::{ask_inspect, count, rate, seconds, share};
use crate::findings::family::{
    FEWEST_TAKEN, Family, WAITED_FLOOR, descending, few, share_of_run, wanted_at_once,
};
use crate::findings::meeting::Meeting;
use crate::findings::touches::{Movable, Touches, movable_calls};
use crate::held::{mean_held, on_processor, share_of_work};
use crate::model::{Finding, Lock, Process, Remedy, Rule, Section, Thread};
use crate::options::Thresholds;
use syncline_code::section::takes_or_releases;

/// If more threads than this would be in a section at the same time, the lock is contended even if
/// few acquisitions found it taken in the recording. For a lock that only one thread uses, the
/// number is at most 1.
const MOST_AT_ONCE: f64 = 1.2;
/// If threads wait for one lock for more than this share of all threads' time, it is contended,
/// however few the waits. A few long waits cost as much as many short ones, and waits are few if
/// one thread keeps its processor and the lock while the others sleep.
const WAITED_MUCH: f64 = 0.3;
/// A lock is also contended if the threads that take it wait for it during more than this share of
/// their time, and more than `AT_ONCE` of them would be in its sections at the same time. If fewer
/// would, they wait for a holder that lost its processor to another program. In RocksDB's cache of
/// one shard, these numbers are 25 % and 0.37, although only 5 % of the acquisitions wait. A lock
/// whose waits take a time slice or more on average does not count either: with more threads than
/// processors, threads then wait for holders that were preempted.
const WAITED_BY_ITS_OWN: f64 = 0.2;
const AT_ONCE: f64 = 0.3;
/// A thread with a smaller share of the acquisitions does not count among a lock's threads.
const SHARE_OF_CALLS: f64 = 0.01;
/// A section with at least this mean time held is long: longer than a waiter takes to fall asleep
/// and be woken, and a thousand times as long as a simple update.
const LONG: f64 = 10e-6;
/// The mean time held from which on a section is long if it does what could be done outside: it
/// calls functions that could mostly be called there, or it computes one or two words in a loop.
const LONG_WITH_MOVABLE: f64 = 1e-6;
/// A section that touches at most this many words has no data that could be split.
const UNSPLITTABLE: usize = 2;
/// The assumed number of locks for each thread after a split. With four, at most a quarter of a
/// thread's acquisitions find the lock taken, even if each other thread holds one.
const PARTS_PER_THREAD: f64 = 4.0;
/// The share of a long section that is assumed to remain if nothing is known of it. Fixes that were
/// measured mostly emptied the section.
const LEFT_UNKNOWN: f64 = 0.25;

/// The findings about contended locks: one for all locks that are taken at the same call sites.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    Family::all(process)
        .iter()
        .filter_map(|family| Some((family, Hot::of(process, family, thresholds)?.finding()?)))
        // A barrier's count can't be split, and all threads have to arrive.
        .filter(|(family, _)| Meeting::at(process, family).is_none())
        // Nor can a queue's content be split, or other data for which threads wait with the lock
        // released.
        .filter(|(family, found)| found.rule != Rule::TooMuchData || !family.is_of_condition())
        // Nor is the section to blame if a spinning thread waits for a holder that does not run.
        .filter(|(family, _)| !preempted::explains_waits_at(process, &family.sites))
        .map(|(_, found)| found)
        .collect()
}

/// If sections last longer, all together, than this many times the sum of the times in which
/// threads had or wanted a processor, their holders mostly sleep. An example is a thread that waits
/// for a request while idle threads wait for their turn to do that.
const LONGER_THAN_WORK: f64 = 2.0;

/// If a section takes this share of the threads' working time, the rest of their work hardly
/// counts.
const NEARLY_ALL: f64 = 0.8;

/// Seconds that a lock's threads lived, all together, without those in which they were ready to run
/// and had no processor.
fn seconds_of_threads(process: &Process, lock: &Lock) -> f64 {
    let all: u64 = lock.threads.iter().map(|(_, calls)| calls).sum();
    let takers =
        lock.threads.iter().filter(|(_, calls)| *calls as f64 >= SHARE_OF_CALLS * all as f64);
    let could_run = |thread: &Thread| thread.seconds - thread.times.ready;
    let seconds: f64 = takers.map(|&(thread, _)| could_run(&process.threads[thread])).sum();
    // If it is not known which threads took the lock, all threads count.
    if seconds > 0.0 { seconds } else { process.thread_seconds }
}

/// The contended locks of a family.
struct Hot<'a> {
    process: &'a Process,
    locks: Vec<usize>,
    /// The call sites that take the locks, those with most waiting first.
    sites: Vec<usize>,
    calls: u64,
    contention: f64,
    waited: f64,
    /// The share of the threads' working time in which they hold these locks and have a processor.
    of_work: f64,
    held: f64,
}

impl<'a> Hot<'a> {
    fn of(process: &'a Process, family: &Family, thresholds: &Thresholds) -> Option<Hot<'a>> {
        // There may be so many locks that threads rarely wait for a single one.
        let all = family.contention() > thresholds.contention;
        let hot = |lock: &Lock| {
            let waited = lock.figures.waited;
            if all
                || lock.figures.contention > thresholds.contention
                || waited > WAITED_MUCH * process.thread_seconds
            {
                return true;
            }
            let at_once = wanted_at_once(process, lock);
            at_once > MOST_AT_ONCE
                || at_once > AT_ONCE
                    && waited > WAITED_BY_ITS_OWN * seconds_of_threads(process, lock)
                    && waited < TIME_SLICE * lock.figures.waits as f64
        };
        let mut locks: Vec<usize> =
            family.locks.iter().copied().filter(|&lock| hot(&process.locks[lock])).collect();
        let figures = |lock: &usize| &process.locks[*lock].figures;
        locks.sort_by(|a, b| descending(figures(a).waited, figures(b).waited));
        let taken: u64 = locks.iter().map(|lock| figures(lock).waits + figures(lock).refused).sum();
        let waited: f64 = locks.iter().map(|lock| figures(lock).waited).sum();
        if taken < FEWEST_TAKEN || share_of_run(process, waited) < WAITED_FLOOR {
            return None;
        }
        let mut waits = vec![0.0; process.sites.len()];
        for use_ in locks.iter().flat_map(|&lock| &process.locks[lock].sites) {
            waits[use_.site] += use_.waited;
        }
        let uses = |site: usize| {
            locks.iter().any(|&lock| process.locks[lock].sites.iter().any(|u| u.site == site))
        };
        let mut sites: Vec<usize> =
            family.sites.iter().copied().filter(|&site| waits[site] > 0.0 || uses(site)).collect();
        sites.sort_by(|&a, &b| descending(waits[a], waits[b]));
        let wanted: u64 = locks.iter().map(figures).map(|f| f.calls + f.timeouts + f.refused).sum();
        Some(Hot {
            process,
            calls: locks.iter().map(|lock| figures(lock).calls).sum(),
            contention: (taken as f64 / wanted.max(1) as f64).min(1.0),
            waited,
            of_work: locks.iter().map(|&n| share_of_work(process, &process.locks[n])).sum::<f64>()
                * on_processor(process, &sites),
            held: locks.iter().map(|lock| figures(lock).held).sum(),
            locks,
            sites,
        })
    }

    fn mean_held(&self) -> f64 {
        mean_held(self.held, self.calls)
    }

    /// The site whose sections have the longest total time held.
    fn longest(&self) -> usize {
        let held = |site: &usize| self.process.sites[*site].figures.held;
        *self.sites.iter().max_by(|a, b| held(a).total_cmp(&held(b))).expect("a lock has sites")
    }

    fn section(&self, site: usize) -> Option<&'a Section> {
        self.process.sites[site].section.as_ref()
    }

    fn finding(self) -> Option<Finding> {
        let touches = Touches::of_all(self.process, &self.sites, 0.01);
        if touches.is_some_and(|touches| touches <= Touches::OneWord) {
            // Other rules have advice for sections that touch at most one word.
            return None;
        }
        let longest = self.longest();
        if let Some(inspected) = self.inspected() {
            return self.by_trace(longest, inspected);
        }
        let section = self.section(longest);
        let held = self.mean_held();
        let movable = section.and_then(|section| movable_calls(section, held));
        let computes = section.is_some_and(|section| unsplittable(section) && section.loops);
        let long = held >= LONG || held >= LONG_WITH_MOVABLE && (movable.is_some() || computes);
        if long {
            let times = &self.process.times;
            let worked = times.running + times.spinning + times.ready;
            let asleep = worked > 0.0 && self.held > LONGER_THAN_WORK * worked;
            return (!asleep).then(|| self.too_long(longest, movable.as_ref()));
        }
        let single = section.is_some_and(unsplittable);
        (!single).then(|| self.too_much(section.is_some_and(|section| section.complete)))
    }

    fn evidence(&self) -> Vec<crate::model::Evidence> {
        let figures = |site: &usize| &self.process.sites[*site].figures;
        let longest = self.sites.iter().map(|site| figures(site).held_max).fold(0.0, f64::max);
        vec![
            rate("acquisitions", self.calls as f64 / self.process.seconds),
            share("contention", self.contention),
            share("working time in these sections", self.of_work),
            seconds("time waited", self.waited),
            seconds("mean time held (estimate)", self.mean_held()),
            seconds("longest hold that was measured", longest),
            count("locks", self.locks.len() as u64),
            count("call sites that take the locks", self.sites.len() as u64),
        ]
    }

    fn too_long(self, longest: usize, movable: Option<&Movable<'_>>) -> Finding {
        let mut evidence = self.evidence();
        // The terminal shows the first four. The length of the section belongs to them, and the
        // share of the working time does not.
        evidence.swap(2, 4);
        for call in movable.iter().flat_map(|movable| &movable.calls) {
            evidence.push(count(&format!("calls of {call} in the section's code"), 1));
        }
        let (advice, to) = match movable {
            None => (
                "Keep in the section only what needs the lock: compute before it, and act on \
                 the result after it."
                    .to_owned(),
                LEFT_UNKNOWN,
            ),
            Some(Movable { calls, left }) => (
                format!(
                    "Call {} before or after the section, and keep in it only what needs the lock.",
                    calls.join(", ")
                ),
                *left,
            ),
        };
        let advice = match self.of_work >= NEARLY_ALL {
            true => format!(
                "Threads do nearly all of their work in this section, so one thread is about as \
                 quick as all of them: move the work itself out of the section, or do it under \
                 several locks. {advice}"
            ),
            false => advice,
        };
        let mut sites = self.sites.clone();
        sites.retain(|&site| site != longest);
        sites.insert(0, longest);
        Finding {
            rule: Rule::TooLongSection,
            title: "A long section that others wait for".to_owned(),
            place: self.process.sites[longest].place.clone(),
            locks: few(&self.locks),
            evidence,
            advice,
            open_question: ask_inspect(
                "How many of the section's instructions access shared data? Only those need the \
                 lock.",
            ),
            remedy: Remedy::ShortenSections { sites: vec![longest], to },
            sites,
            gain: None,
        }
    }

    fn too_much(self, known: bool) -> Finding {
        let threads = self.sites.iter().map(|&site| self.process.sites[site].threads).max();
        let parts = PARTS_PER_THREAD * threads.unwrap_or(1).max(1) as f64;
        let question = if known {
            "How many different addresses do the sections access? If all access the same few, \
             the lock can't be split."
        } else {
            "Which addresses do the sections access? If there are many, the lock can be split; if \
             there are few, it can't."
        };
        Finding {
            rule: Rule::TooMuchData,
            title: "Many threads want one lock, each for a moment".to_owned(),
            place: self.process.sites[self.sites[0]].place.clone(),
            locks: few(&self.locks),
            evidence: self.evidence(),
            advice: "Split what the lock protects: a lock for each bucket, shard or object, \
                     each on a cache line of its own. Where it can't be split, let the \
                     lock's holder run the sections (Syncline's `qd`)."
                .to_owned(),
            open_question: ask_inspect(question),
            remedy: Remedy::SplitLock { sites: self.sites.clone(), parts },
            sites: self.sites,
            gain: None,
        }
    }
}

/// Whether a section touches too few words for its data to be split. Only calls that take or
/// release locks are allowed: other functions may touch anything.
fn unsplittable(section: &Section) -> bool {
    let alone = section.complete && section.calls.iter().all(|call| takes_or_releases(call));
    alone && section.words.is_some_and(|words| words <= UNSPLITTABLE)
}

#[cfg(test)]
mod tests;

//! Groups with the wrong numbers of threads, such as a pipeline whose stages have equal numbers of
//! threads and unequal work. The threads of one group are always busy, and threads of other groups,
//! which pass work to them or get work from them, wait.
//!
//! The rule proposes to move threads between groups of two threads and more. A single thread may be
//! single for a reason, such as the order of what it writes. Groups that share no lock or other
//! object have nothing to do with each other: a timer that sleeps by design is not short of work.
//! Nor do groups whose waits are ended by others: a server's clients share the memory allocator's
//! lock with its workers, but another thread passes work to these.

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::Primitive;

use super::assignment::{busiest, proportional};
use super::crew::{Crew, FLOOR, TIMES};
use crate::findings::evidence::{count, seconds, share, times};
use crate::model::{Activity, Finding, Kind, Process, Remedy, Rule, Span};

/// The threads of the busiest group must be active, that is, not wait, during at least this share
/// of their time.
const BUSY: f64 = 0.7;
/// At least this share of the busiest group's work must be processor time, or sleeps of given
/// lengths. A server's thread that sleeps in the kernel until a request comes looks like a thread
/// that waits for a device, but has no work meanwhile.
const SEEN: f64 = 0.1;
/// A group passes work to another one if its threads end at least this share of the other's waits
/// for events.
const PASSED: f64 = 0.05;
/// A group gives threads away only if its threads are active for at most this share of their time.
const IDLE: f64 = 0.7;

/// The finding about groups whose threads are unequally busy, with the numbers of threads that they
/// should have; `None` if no group is short of threads.
pub fn unequal(process: &Process, crews: &[Crew]) -> Option<Finding> {
    let load = |crew: &Crew| crew.sum() / crew.threads.len() as f64;
    let slowest = (0..crews.len()).max_by(|&a, &b| load(&crews[a]).total_cmp(&load(&crews[b])))?;
    let mut crews: Vec<&Crew> =
        connected(process, crews, slowest).into_iter().map(|number| &crews[number]).collect();
    crews.sort_by(|a, b| load(b).total_cmp(&load(a)));
    let work: Vec<f64> = crews.iter().map(|crew| crew.sum()).collect();
    let threads: Vec<usize> = crews.iter().map(|crew| crew.threads.len()).collect();
    let proposed = proportional(&work, threads.iter().sum());
    let least = process.ran() / process.processors.unwrap_or(usize::MAX).max(1) as f64;
    let (before, after) = (busiest(&work, &threads), busiest(&work, &proposed).max(least));
    let gives = |place: usize| proposed[place] < threads[place];
    let waits = (0..crews.len()).filter(|&place| gives(place));
    let applies = crews.len() > 1
        && before >= TIMES * after
        && before - after >= FLOOR * process.seconds
        && crews[0].active_share() >= BUSY
        && crews[0].seen_at_work(process) >= SEEN * crews[0].sum()
        && waits.into_iter().all(|place| crews[place].active_share() <= IDLE);
    applies.then(|| finding(&crews, &proposed, before / after))
}

fn finding(crews: &[&Crew], proposed: &[usize], faster: f64) -> Finding {
    let slowest = crews[0];
    let mut evidence = Vec::new();
    for (crew, &proposed) in crews.iter().zip(proposed) {
        let which = format!("threads {}", crew.origin);
        evidence.push(count(&which, crew.threads.len() as u64));
        evidence.push(count(&format!("{which}, proposed"), proposed as u64));
        evidence.push(seconds(&format!("work of all {which}"), crew.sum()));
        evidence.push(share(
            &format!("part of their time in which {which} did not wait"),
            crew.active_share(),
        ));
    }
    evidence.push(times("possible speed-up, at best", faster));
    let numbers: Vec<String> = crews
        .iter()
        .zip(proposed)
        .map(|(crew, proposed)| {
            format!("{proposed} threads {} (now {})", crew.origin, crew.threads.len())
        })
        .collect();
    Finding {
        rule: Rule::UnequalGroups,
        title: "Groups of threads have unequal work, and some wait for others".to_owned(),
        place: format!("threads {}", slowest.origin),
        sites: Vec::new(),
        locks: Vec::new(),
        evidence,
        advice: format!(
            "Divide the threads in proportion to the work: {}. Or let every thread do the work \
             of every stage.",
            numbers.join(", ")
        ),
        open_question: None,
        remedy: Remedy::Rebalance {
            groups: crews.iter().zip(proposed).map(|(crew, &n)| crew.group(n)).collect(),
        },
        gain: None,
    }
}

/// The group `with`, and all groups that pass work to it or get work from it, directly or through
/// other groups.
fn connected(process: &Process, crews: &[Crew], with: usize) -> BTreeSet<usize> {
    let wakers: Vec<Wakers> = crews.iter().map(|crew| Wakers::of(process, crew)).collect();
    let pass_work = |one: usize, other: usize| {
        share_an_object(process, &crews[one], &crews[other])
            && (wakers[one].are_in(&crews[other])
                || wakers[other].are_in(&crews[one])
                || wakers[one].are_unknown() && wakers[other].are_unknown())
    };
    let mut connected = BTreeSet::from([with]);
    let mut last = vec![with];
    while let Some(one) = last.pop() {
        for other in 0..crews.len() {
            if !connected.contains(&other) && pass_work(one, other) {
                connected.insert(other);
                last.push(other);
            }
        }
    }
    connected
}

/// Whether threads of both groups use the same lock, or another object that threads wait for.
fn share_an_object(process: &Process, one: &Crew, other: &Crew) -> bool {
    let mut objects =
        process.locks.iter().filter(|object| !object.primitive.has_one_object_for_all());
    objects.any(|object| {
        let uses = |crew: &Crew| object.threads.iter().any(|(t, _)| crew.threads.contains(t));
        uses(one) && uses(other)
    })
}

/// The threads that end a group's waits for events: for each, the seconds of these waits.
struct Wakers(BTreeMap<usize, f64>);

impl Wakers {
    fn of(process: &Process, crew: &Crew) -> Wakers {
        let mut seconds = BTreeMap::new();
        for &thread in &crew.threads {
            let spans = process.timeline.threads.get(thread).into_iter().flatten();
            let is_told = |span: &&Span| {
                let primitive = span.op.primitive();
                span.activity == Activity::Wait
                    && Kind::of(primitive) != Kind::Lock
                    && !matches!(primitive, Primitive::Thread | Primitive::Sleep)
            };
            for span in spans.filter(is_told) {
                if let Some(waker) = process.timeline.ended_by(thread, span) {
                    *seconds.entry(waker).or_default() += span.ended - span.began;
                }
            }
        }
        Wakers(seconds)
    }

    fn are_unknown(&self) -> bool {
        self.0.is_empty()
    }

    fn are_in(&self, crew: &Crew) -> bool {
        let all: f64 = self.0.values().sum();
        let there: f64 = crew.threads.iter().filter_map(|thread| self.0.get(thread)).sum();
        there > 0.0 && there >= PASSED * all
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use crate::findings::load_imbalance::find;
    use crate::findings::testing::{Drawn, process, wait};
    use crate::model::{Finding, Remedy, Span};
    use crate::options::Thresholds;

    /// A pipeline of ten seconds on eight processors. Each stage has a name, a number of threads,
    /// and the seconds for which each of them works; for the rest it waits at its queues.
    fn pipeline(stages: &[(&str, usize, f64)]) -> Drawn {
        let mut drawn = process(10.0, 8);
        drawn.waited(0, Primitive::Thread, 10.0);
        let mut before = None;
        for &(stage, threads, work) in stages {
            let first = drawn.threads(stage, threads, 10.0);
            let members: Vec<(usize, u64)> = (first..first + threads).map(|t| (t, 100)).collect();
            for thread in first..first + threads {
                drawn.waited(thread, Primitive::Condvar, 10.0 - work);
            }
            if let Some(queue) = before {
                let queue: usize = queue;
                drawn.locks[queue].threads.extend(&members);
            }
            let queue = drawn.lock(Primitive::Mutex, stage);
            drawn.locks[queue].threads = members;
            before = Some(queue);
        }
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    fn proposed(finding: &Finding) -> Vec<(String, usize)> {
        let Remedy::Rebalance { groups } = &finding.remedy else { panic!() };
        groups.iter().map(|g| (g.start_function.clone(), g.proposed)).collect()
    }

    #[test]
    fn a_stage_that_all_wait_for_gets_the_threads_of_the_others() {
        let findings = found(&pipeline(&[("load", 3, 1.0), ("extract", 3, 1.5), ("rank", 3, 9.9)]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "threads of rank");
        let names = ["rank", "extract", "load"].map(str::to_owned);
        let numbers = [7, 1, 1];
        assert_eq!(proposed(&findings[0]), names.into_iter().zip(numbers).collect::<Vec<_>>());
    }

    #[test]
    fn balanced_and_indivisible_stages_have_no_finding() {
        assert!(
            found(&pipeline(&[("load", 3, 8.0), ("extract", 3, 8.5), ("rank", 3, 9.9)])).is_empty()
        );
        // A stage with a single thread is not a group, and gives no thread away.
        assert!(
            found(&pipeline(&[("load", 1, 1.0), ("extract", 1, 1.5), ("rank", 7, 9.9)])).is_empty()
        );
    }

    #[test]
    fn busy_processors_have_no_finding() {
        let stages = [("load", 3, 1.0), ("extract", 3, 1.5), ("rank", 3, 9.9)];
        let mut drawn = pipeline(&stages);
        drawn.processors = Some(4);
        assert!(found(&drawn).is_empty(), "37 seconds of work on four processors");
        drawn.processors = Some(5);
        assert_eq!(found(&drawn).len(), 1);
    }

    /// More threads than processors: while other threads run, a thread of the slowest stage has no
    /// processor, and that time is not its work.
    #[test]
    fn waiting_for_a_processor_is_no_work() {
        let stages = [("load", 4, 0.5), ("extract", 4, 0.7), ("rank", 4, 9.9)];
        let mut drawn = pipeline(&stages);
        assert_eq!(found(&drawn).len(), 1);
        drawn.processors = Some(2);
        for thread in 9..13 {
            drawn.ready(thread, 8.4);
        }
        // Other programs had nine of the twenty seconds of two processors.
        assert!(found(&drawn).is_empty(), "11 seconds of work");
    }

    /// Modelled on varnishd: the threads that wait for the network sleep in the kernel, and many
    /// workers have nothing to do.
    #[test]
    fn sleeping_in_the_kernel_is_no_work() {
        let mut drawn = pipeline(&[("work", 6, 1.0), ("poll", 2, 9.9)]);
        for thread in 7..9 {
            drawn.threads[thread].cpu = Some(1.0);
        }
        assert_eq!(found(&drawn).len(), 1, "it may wait for a device");
        for thread in 7..9 {
            drawn.threads[thread].cpu = Some(0.9);
        }
        assert!(found(&drawn).is_empty());
    }

    #[test]
    fn groups_that_share_no_lock_are_not_compared() {
        let mut drawn = pipeline(&[("work", 3, 9.9), ("tick", 3, 0.1)]);
        assert_eq!(found(&drawn).len(), 1);
        for lock in 0..drawn.locks.len() {
            drawn.locks[lock].threads.retain(|&(thread, _)| lock == 0 && thread < 4);
        }
        assert!(found(&drawn).is_empty());
        for primitive in [Primitive::Sleep, Primitive::Yield] {
            let object = drawn.lock(primitive, "all threads'");
            drawn.locks[object].threads = (1..7).map(|thread| (thread, 100)).collect();
        }
        assert!(found(&drawn).is_empty(), "each sleeps and yields for itself");
    }

    /// Modelled on a server and its clients in one process. All use the allocator's lock, and the
    /// first thread gives the workers connections.
    #[test]
    fn groups_whose_waits_others_end_are_not_compared() {
        let mut drawn = pipeline(&[("work", 3, 1.0), ("ask", 3, 9.9)]);
        let ended_by = |drawn: &mut Drawn, waker| {
            drawn.timeline.threads = vec![Vec::new(); drawn.threads.len()];
            let wait = Span { by: Some(waker), ..wait(Op::CondWait, 0.0, 9.0) };
            drawn.timeline.threads[1].push(wait);
        };
        ended_by(&mut drawn, 0);
        assert!(found(&drawn).is_empty());
        ended_by(&mut drawn, 4);
        assert_eq!(found(&drawn).len(), 1, "the threads that ask end the workers' waits");
    }

    #[test]
    fn a_short_run_has_no_finding() {
        let mut drawn = pipeline(&[("load", 3, 1.0), ("rank", 3, 9.9)]);
        drawn.seconds = 0.09;
        assert!(found(&drawn).is_empty());
    }
}

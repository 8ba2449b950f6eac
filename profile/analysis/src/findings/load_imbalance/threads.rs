//! Threads of one group with unequal shares: one is busy all the time, and the others wait
//! for it at barriers and joins, or have ended.
//!
//! Threads that take work from a common queue may also do unequal amounts of work. If there is
//! always more work, all threads are busy; if not, even the busiest thread waits. Neither is a
//! finding, nor is a group whose threads mostly wait for a lock that the busiest thread has.

use super::crew::{Crew, FLOOR, TIMES};
use crate::findings::busy_futex::known::Known;
use crate::findings::evidence::{count, seconds, share, times};
use crate::findings::family::descending;
use crate::model::{Finding, Kind, Process, Remedy, Rule, Site};

/// The busiest thread must be active, that is, not wait, during at least this share of the time for
/// which the group lived.
const BUSY: f64 = 0.7;
/// The busiest thread's active time must be at least this many times the mean. Active time is less
/// exact than processor time: threads that wait for a processor count as active.
const ACTIVE_TIMES: f64 = 1.1;

/// If the other threads wait for locks during at least this share of the time in which they don't
/// work, the locks are the problem.
const FOR_LOCKS: f64 = 0.5;

/// The finding about a group with a thread that has far more to do than the others; `None` if the
/// group has none.
pub fn unequal(process: &Process, crew: &Crew) -> Option<Finding> {
    let threads = crew.threads.len() as f64;
    let busiest = (0..crew.work.len()).max_by(|&a, &b| crew.work[a].total_cmp(&crew.work[b]))?;
    let mean = crew.sum() / threads;
    let mean_active = crew.active.iter().sum::<f64>() / threads;
    let after = mean.max(process.least_seconds());
    // A thread that sleeps, or waits for a processor that another program has, does not have more
    // work than others. The work of the first thread may include what it did alone, and then says
    // nothing.
    let of_team =
        crew.first.is_some() || process.threads[crew.threads[busiest]].start_function.is_some();
    let applies = of_team
        && !crew.inexact
        && !crew.is_mostly_idle(process)
        && crew.work[busiest] >= TIMES * after
        && crew.work[busiest] - after >= FLOOR * process.seconds
        && crew.active[busiest] >= BUSY * crew.lived
        && crew.active[busiest] >= ACTIVE_TIMES * mean_active
        && !waits_for_locks(process, crew, busiest);
    applies.then(|| {
        let least = crew.work.iter().copied().fold(f64::INFINITY, f64::min);
        let sites = meeting_places(process, crew);
        let at =
            sites.first().map(|&site| format!(", which meet in {}", process.sites[site].place));
        Finding {
            rule: Rule::UnequalThreads,
            title: "Threads that do the same work have unequal shares of it".to_owned(),
            place: format!("threads {}{}", crew.origin, at.unwrap_or_default()),
            locks: Vec::new(),
            evidence: vec![
                count("threads", crew.threads.len() as u64),
                seconds("work of the busiest thread", crew.work[busiest]),
                seconds("mean work", mean),
                seconds("work of the least busy thread", least),
                times(
                    "busiest thread compared with the mean",
                    crew.work[busiest] / mean.max(1e-12),
                ),
                share("part of the threads' time spent not waiting", crew.active_share()),
            ],
            advice: "Deal the work out in smaller pieces: let threads take the next piece when \
                     they are done with one, from a common counter or queue, or steal from each \
                     other. If pieces can't be smaller, begin with the largest."
                .to_owned(),
            open_question: None,
            remedy: Remedy::Rebalance { groups: vec![crew.group(crew.threads.len())] },
            sites,
            gain: None,
        }
    })
}

/// Whether the group's other threads spend most of the time in which they don't work waiting for
/// locks. Then the busiest thread has more time to work because it has a lock more often or for
/// longer, and a lock is the problem.
fn waits_for_locks(process: &Process, crew: &Crew, busiest: usize) -> bool {
    let futexes = |only_locks: bool| -> f64 {
        let sites = process.sites.iter().filter(|site| site.kind == Kind::Futex);
        let is_counted =
            |site: &&Site| !only_locks || Known::of(process, site) == Some(Known::Lock);
        sites.filter(is_counted).map(|site| site.figures.waited).sum()
    };
    let of_locks = futexes(true) / futexes(false).max(f64::MIN_POSITIVE);
    let others = (0..crew.threads.len()).filter(|&member| member != busiest);
    let (mut idle, mut for_locks) = (0.0, 0.0);
    for member in others {
        let waiting = &process.threads[crew.threads[member]].waiting;
        idle += crew.lived - crew.active[member];
        for_locks += waiting.locks + waiting.futexes * of_locks;
    }
    for_locks >= FOR_LOCKS * idle
}

/// The call sites of barriers where the threads wait for each other, those with most waiting first.
fn meeting_places(process: &Process, crew: &Crew) -> Vec<usize> {
    let barriers = process.locks.iter().filter(|lock| {
        lock.primitive.is_barrier() && lock.threads.iter().any(|(t, _)| crew.threads.contains(t))
    });
    let mut sites: Vec<usize> =
        barriers.flat_map(|lock| lock.sites.iter().map(|used| used.site)).collect();
    let waited = |site: usize| process.sites[site].figures.waited;
    sites.sort_by(|&a, &b| descending(waited(a), waited(b)).then(a.cmp(&b)));
    sites.dedup();
    sites
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use crate::findings::load_imbalance::find;
    use crate::findings::testing::{Drawn, Use, process};
    use crate::model::{Finding, Rule, TakingPart};
    use crate::options::Thresholds;

    /// The findings for threads on `processors` processors. `work` has for each thread the seconds,
    /// of ten, for which it works. For the rest the thread waits at a barrier.
    fn threads(work: &[f64], processors: usize) -> Vec<Finding> {
        find(&drawn(work, processors), &Thresholds::default())
    }

    fn drawn(work: &[f64], processors: usize) -> Drawn {
        let mut drawn = process(10.0, processors);
        drawn.waited(0, Primitive::Thread, 10.0);
        let first = drawn.threads("index_files", work.len(), 10.0);
        let barrier = drawn.lock(Primitive::Barrier, "end_of_pass");
        let site = drawn.site(Op::BarrierWait, "index_files at index.c:30");
        drawn.uses(barrier, site, Use { calls: 100, waits: 100, waited: 1.0, ..Use::default() });
        for (number, work) in work.iter().enumerate() {
            drawn.waited(first + number, Primitive::Barrier, 10.0 - work);
            drawn.threads[first + number].cpu = Some(*work);
            drawn.locks[barrier].threads.push((first + number, 100));
        }
        drawn
    }

    /// Time in which threads neither wait nor have a processor is not work; nor is time about which
    /// nothing is known.
    #[test]
    fn sleep_and_unknown_time_are_no_work() {
        let mut slept = drawn(&[9.5, 3.0, 2.0, 1.0], 4);
        let first = slept.threads.len() - 4;
        slept.threads[first..].iter_mut().for_each(|thread| thread.cpu = Some(0.5));
        slept.threads("answer", 1, 10.0);
        assert!(find(&slept, &Thresholds::default()).is_empty());
        let mut unknown = drawn(&[9.5, 3.0, 2.0, 1.0], 4);
        unknown.threads[first].cpu = None;
        assert!(find(&unknown, &Thresholds::default()).is_empty());
    }

    #[test]
    fn one_thread_with_most_of_the_work_is_found() {
        let findings = threads(&[9.5, 3.0, 2.0, 1.0], 4);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].place.starts_with("threads of index_files, which meet in"));
        assert_eq!(findings[0].sites, [0]);
    }

    /// A pool may have more threads than it has work for; the idle ones wait for work.
    #[test]
    fn idle_pool_threads_have_no_share() {
        let waits_for = |primitive| {
            let mut drawn = drawn(&[9.5, 9.4], 4);
            let idle = drawn.threads("index_files", 4, 10.0);
            for thread in idle..idle + 4 {
                drawn.waited(thread, primitive, 9.9);
                drawn.threads[thread].cpu = Some(1e-4);
                drawn.locks[0].threads.push((thread, 1));
            }
            find(&drawn, &Thresholds::default()).len()
        };
        assert_eq!(waits_for(Primitive::Semaphore), 0);
        assert_eq!(waits_for(Primitive::Barrier), 1, "they came to the barrier");
    }

    /// A library of pools creates all threads at one line, with one start function.
    #[test]
    fn threads_of_two_pools_are_not_compared() {
        let mut drawn = drawn(&[9.5, 9.0, 0.1, 0.2], 4);
        drawn.locks[0].threads.push((0, 100));
        let unequal = |drawn: &Drawn| {
            let findings = find(drawn, &Thresholds::default());
            findings.iter().filter(|finding| finding.rule == Rule::UnequalThreads).count()
        };
        assert_eq!(unequal(&drawn), 1, "as one pool");
        let [compress, write] = ["main.c:10", "main.c:11"].map(|line| {
            let stack = drawn.stack(&format!("main at {line}"));
            drawn.stacks[stack].frames.insert(0, 0);
            drawn.stacks[stack].place = Some(0);
            stack
        });
        let first = drawn.threads.len() - 4;
        for (thread, creator) in (first..).zip([compress, compress, write, write]) {
            drawn.threads[thread].created_at = Some(creator);
        }
        assert_eq!(unequal(&drawn), 1, "they meet at the barrier");
        let log = drawn.threads("log", 1, 10.0);
        drawn.locks[0].threads.push((log, 1));
        assert_eq!(unequal(&drawn), 0, "which is everybody's");
        let sleep = drawn.lock(Primitive::Sleep, "sleep");
        drawn.locks[sleep].threads = (first..first + 4).map(|thread| (thread, 9)).collect();
        assert_eq!(unequal(&drawn), 0, "each sleeps for itself");
    }

    /// The first thread takes part, as OpenMP's does.
    #[test]
    fn a_team_includes_the_first_thread() {
        let team = |first: f64, other: f64, primitive| {
            let mut drawn = process(10.0, 2);
            let barrier = drawn.lock(primitive, "omp_team_barrier");
            let site = drawn.site(Op::OmpBarrier, "count at primes.f90:70");
            drawn.uses(barrier, site, Use { calls: 9, waits: 9, waited: 6.0, ..Use::default() });
            let worker = drawn.threads("gomp_thread_start", 1, 10.0);
            for (thread, work) in [(0, first), (worker, other)] {
                drawn.waited(thread, primitive, 10.0 - work);
                drawn.threads[thread].cpu = Some(work);
                drawn.locks[barrier].threads.push((thread, 9));
            }
            find(&drawn, &Thresholds::default()).len()
        };
        assert_eq!(team(3.0, 9.0, Primitive::OmpBarrier), 1);
        assert_eq!(team(9.0, 3.0, Primitive::OmpBarrier), 0, "it may have worked alone");
        assert_eq!(team(8.5, 9.0, Primitive::OmpBarrier), 0);
        assert_eq!(team(3.0, 9.0, Primitive::Barrier), 0, "a barrier of the program's own");
    }

    /// The first thread calls the same function that it has another thread run. What the first
    /// thread does besides is no part of the work.
    #[test]
    fn the_first_threads_share_comes_from_samples() {
        let found = |part: Option<f64>, first: f64, other: f64| {
            let mut drawn = process(10.0, 2);
            let worker = drawn.threads("encode_tile", 1, 10.0);
            drawn.waited(0, Primitive::Condvar, 9.9 - first);
            drawn.threads[0].cpu = Some(first);
            drawn.waited(worker, Primitive::Condvar, 9.9 - other);
            drawn.threads[worker].cpu = Some(other);
            drawn.threads[worker].first = part.map(|seconds| TakingPart {
                function: "encode".to_owned(),
                seconds,
                otherwise: None,
            });
            find(&drawn, &Thresholds::default()).len()
        };
        assert_eq!(found(Some(9.0), 9.9, 1.0), 1, "the other one is idle");
        assert_eq!(found(None, 9.9, 1.0), 0, "the other one helps the first, with something else");
        assert_eq!(found(Some(9.0), 9.9, 8.0), 0, "equal");
        assert_eq!(found(Some(1.5), 9.9, 1.0), 0, "most of the work is the first's alone");
        assert_eq!(found(Some(1.0), 1.5, 9.0), 1, "the first is idle");
    }

    /// A pool got one large piece of work, and the threads without work end at once.
    #[test]
    fn threads_that_end_while_one_works_have_too_small_a_share() {
        let mut drawn = drawn(&[9.5], 2);
        let idle = drawn.threads("index_files", 2, 0.3);
        for thread in idle..idle + 2 {
            drawn.threads[thread].started = 0.0;
            drawn.waited(thread, Primitive::Condvar, 0.299);
            drawn.threads[thread].cpu = Some(1e-4);
            drawn.locks[0].threads.push((thread, 1));
        }
        assert_eq!(find(&drawn, &Thresholds::default()).len(), 1);
    }

    /// Modelled on log4rs, one of whose threads compresses a log with the lock held.
    #[test]
    fn threads_that_wait_for_a_lock_have_no_smaller_share() {
        // The others wait 3.5 s each at the barrier.
        let found = |primitive, waited: f64, function: &str| {
            let mut drawn = drawn(&[9.5, 6.5, 6.5], 4);
            let futex = drawn.lock(Primitive::Futex, "log");
            let site = drawn.site(Op::FutexWait, "append at log.rs:20");
            drawn.uses(futex, site, Use { calls: 9, waits: 9, waited: 9.0, ..Use::default() });
            drawn.calls_inside(site, function);
            for thread in drawn.threads.len() - 2..drawn.threads.len() {
                drawn.waited(thread, primitive, waited);
                drawn.threads[thread].cpu = Some(6.5 - waited);
            }
            let findings = find(&drawn, &Thresholds::default());
            findings.iter().filter(|finding| finding.rule == Rule::UnequalThreads).count()
        };
        let (lock, event) = ("RawMutex::lock_slow at raw.rs:9", "thread::park at park.rs:9");
        assert_eq!(found(Primitive::Mutex, 3.4, event), 1);
        assert_eq!(found(Primitive::Mutex, 3.6, event), 0);
        assert_eq!(found(Primitive::Futex, 3.6, event), 1);
        assert_eq!(found(Primitive::Futex, 3.6, lock), 0);
    }

    #[test]
    fn equal_threads_and_idle_pools_have_no_finding() {
        assert!(threads(&[9.5, 8.5, 8.0, 7.0], 4).is_empty(), "1.15 times the mean");
        assert!(threads(&[6.0, 1.0, 0.5, 0.5], 4).is_empty(), "even the busiest waits");
    }

    #[test]
    fn equal_shares_gain_nothing_if_processors_are_busy() {
        assert_eq!(threads(&[9.5, 3.0, 2.0, 1.0], 2).len(), 1);
        assert!(threads(&[9.5, 3.0, 2.5, 1.0], 1).is_empty());
    }
}

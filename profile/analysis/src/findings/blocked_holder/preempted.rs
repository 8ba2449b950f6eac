//! [`Rule::PreemptedHolder`]: the holder's processor was taken from it. A waiter that sleeps leaves
//! its own processor to the holder, so preemption is mostly harmless; a waiter that spins keeps the
//! holder from running.

use syncline_recording::{Class, Primitive};

use crate::findings::blocked_holder::holder::{
    FEWEST_SWITCHES, OFF_CPU, TIME_SLICE, behind, draft,
};
use crate::findings::evidence::{count, seconds, share};
use crate::findings::family::{FEWEST_TAKEN, WAITED_FLOOR, share_of_run};
use crate::held::mean_held;
use crate::model::{Evidence, Figures, Finding, Process, Remedy, Rule};

/// Preempted holders of a mutex are a finding only if at least this share of its acquisitions wait:
/// its waiters sleep, and take no processor from other threads.
const CONTENDED: f64 = 0.3;
/// A spin that is this many times as long as a hold shows that the holder did not run meanwhile.
const SPIN_TIMES: f64 = 20.0;

/// Checks one call site of acquisitions.
pub fn find(process: &Process, site: usize) -> Option<Finding> {
    match process.sites[site].op.primitive() {
        Primitive::Spinlock => spun_on(process, site),
        _ => slept_on(process, site),
    }
}

fn slept_on(process: &Process, site: usize) -> Option<Finding> {
    let figures = &process.sites[site].figures;
    let holder = figures.holder;
    let off_cpu = holder.off_cpu_share();
    let (waited, waits) = behind(process, site);
    let applies = holder.preempted >= FEWEST_SWITCHES
        && holder.preempted > holder.slept
        && off_cpu >= OFF_CPU
        && figures.contention >= CONTENDED
        && waits >= FEWEST_TAKEN
        && share_of_run(process, waited * off_cpu) >= WAITED_FLOOR;
    applies.then(|| Finding {
        title: "Threads wait for a holder that lost its processor".to_owned(),
        evidence: vec![
            share("time held without a processor, in the sampled holds", off_cpu),
            count("preemptions in the sampled holds", holder.preempted),
            count("sampled holds", holder.looked_at),
            seconds("time that other threads waited meanwhile", waited),
        ]
        .into_iter()
        .chain(crowd(process))
        .collect(),
        advice: "Run no more threads than there are processors, or hold the lock for a \
                 smaller part of the time, so that it is seldom held when a time slice ends."
            .to_owned(),
        remedy: Remedy::ShortenSections { sites: vec![site], to: (1.0 - off_cpu).clamp(0.0, 1.0) },
        ..draft(process, site, Rule::PreemptedHolder)
    })
}

fn spun_on(process: &Process, site: usize) -> Option<Finding> {
    let figures = &process.sites[site].figures;
    let spins = Spins::of(figures);
    let applies = spins.long >= fewest_spins(process)
        && spins.are_mostly_long()
        && share_of_run(process, spins.seconds) >= WAITED_FLOOR;
    applies.then(|| Finding {
        title: "Threads spin for a holder that lost its processor".to_owned(),
        evidence: vec![
            count("spins of a time slice or longer", spins.long),
            seconds("mean of these long spins", spins.seconds / spins.long as f64),
            seconds("mean time held", mean_held(figures.held, figures.calls)),
            count("spins", figures.waits),
            seconds("time spun, all threads", spins.of_all),
        ]
        .into_iter()
        .chain(crowd(process))
        .collect(),
        advice: "Take a lock that sleeps after it has spun for a while: a mutex, or one of \
                 Syncline's parking locks (`ttas-park`, `gate`). Or run no more threads than there \
                 are processors."
            .to_owned(),
        remedy: Remedy::NoWaits { sites: vec![site] },
        ..draft(process, site, Rule::PreemptedHolder)
    })
}

/// The least number of spins of a time slice or more that is not random. More are needed if each
/// thread has a processor: then other programs take the processors, and another run may have no
/// such spins.
fn fewest_spins(process: &Process) -> u64 {
    let crowded = process.processors.is_some_and(|processors| process.threads.len() > processors);
    if crowded { FEWEST_SWITCHES } else { FEWEST_TAKEN }
}

/// Whether threads wait at these sites mostly for a spinlock's holder that has no processor.
/// Shorter sections, or more locks for the data, would not help: the waiters wait until the holder
/// runs again.
pub fn explains_waits_at(process: &Process, sites: &[usize]) -> bool {
    let spinlocks = sites.iter().filter(|&&site| {
        let op = process.sites[site].op;
        op.primitive() == Primitive::Spinlock && op.class() == Class::Acquire
    });
    let sum = spinlocks.fold(Spins::default(), |sum, &site| {
        let spins = Spins::of(&process.sites[site].figures);
        Spins {
            long: sum.long + spins.long,
            seconds: sum.seconds + spins.seconds,
            of_all: sum.of_all + spins.of_all,
        }
    });
    sum.long >= fewest_spins(process) && sum.are_mostly_long()
}

/// The spins at a site, and those among them that are so long that the holder can't have run
/// meanwhile. The mean of all spins says little: a thread that waits for a running holder spins
/// only for a moment.
#[derive(Default)]
struct Spins {
    /// The spins of a time slice or more that are many times as long as the lock is held.
    long: u64,
    /// The total time of the long spins.
    seconds: f64,
    /// The total time of all spins.
    of_all: f64,
}

impl Spins {
    fn of(figures: &Figures) -> Spins {
        let least = TIME_SLICE.max(SPIN_TIMES * mean_held(figures.held, figures.calls));
        let shorter = figures.histogram.buckets.iter().filter(|bucket| bucket.from < least);
        // All buckets but the last have an upper bound; a spin in them took about the middle of its
        // bucket.
        let in_shorter: f64 = shorter
            .map(|bucket| {
                bucket.waits as f64 * (bucket.from + bucket.to.unwrap_or(bucket.from)) / 2.0
            })
            .sum();
        let long = figures.histogram.buckets.iter().filter(|bucket| bucket.from >= least);
        Spins {
            long: long.map(|bucket| bucket.waits).sum(),
            seconds: (figures.waited - in_shorter).max(0.0),
            of_all: figures.waited,
        }
    }

    /// Whether more than half of the time spun was for a holder that did not run.
    fn are_mostly_long(&self) -> bool {
        2.0 * self.seconds > self.of_all
    }
}

/// The numbers of threads and of processors.
fn crowd(process: &Process) -> Vec<Evidence> {
    let threads = count("threads", process.threads.len() as u64);
    let processors = process.processors.map(|n| count("processors", n as u64));
    [Some(threads), processors].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use crate::findings::blocked_holder::testing::{found, looked_at, taken};
    use crate::findings::improper_granularity;
    use crate::findings::testing::Drawn;
    use crate::model::{Bucket, Histogram, Rule};
    use crate::options::Thresholds;

    #[test]
    fn a_preempted_holder_of_a_mutex_matters_where_it_is_contended() {
        let mutex = |waits| looked_at(taken(Op::MutexLock, waits, 1.0, 1.0), 0.8, 2, 60);
        assert_eq!(found(&mutex(3_000)), [Rule::PreemptedHolder]);
        assert!(found(&mutex(2_900)).is_empty());
    }

    /// A spinlock with spins in ten seconds: each pair is a length and the number of such spins.
    fn spun(spins: &[(f64, u64)], held: f64) -> Drawn {
        let waited = spins.iter().map(|&(long, waits)| long * waits as f64).sum();
        let waits = spins.iter().map(|(_, waits)| waits).sum();
        let mut drawn = taken(Op::SpinLock, waits, waited, held);
        // Each spin is in the middle of a bucket.
        let bucket =
            |&(long, waits): &(f64, u64)| Bucket { from: long / 1.5, to: Some(long / 0.75), waits };
        let buckets = spins.iter().map(bucket).collect();
        drawn.sites[0].figures.histogram = Histogram { buckets };
        drawn
    }

    #[test]
    fn spins_of_a_time_slice_show_a_preempted_holder() {
        let spinlock = |spins: &[(f64, u64)], held| found(&spun(spins, held));
        assert_eq!(spinlock(&[(50e-3, 40)], 0.1), [Rule::PreemptedHolder]);
        assert!(spinlock(&[(1e-3, 40)], 0.1).is_empty(), "0.4 % of the run");
        assert!(spinlock(&[(50e-3, 40)], 26.0).is_empty(), "holds are long themselves");
        assert!(spinlock(&[(475e-6, 4_000)], 0.1).is_empty(), "shorter than a time slice");
    }

    #[test]
    fn short_spins_hide_a_preempted_holder_only_if_they_cost_more() {
        let long = (50e-3, 20);
        assert_eq!(found(&spun(&[(1e-6, 10_000), long], 0.1)), [Rule::PreemptedHolder]);
        assert!(found(&spun(&[(200e-6, 10_000), long], 0.1)).is_empty());
    }

    #[test]
    fn few_preempted_holders_with_idle_processors_are_chance() {
        let few = spun(&[(50e-3, 3)], 0.1);
        assert_eq!(found(&few), [Rule::PreemptedHolder], "five threads, two processors");
        let mut alone = spun(&[(50e-3, 9)], 0.1);
        alone.processors = Some(8);
        assert!(found(&alone).is_empty());
        assert!(found(&spun(&[(50e-3, 2)], 0.1)).is_empty());
    }

    #[test]
    fn spins_for_a_preempted_holder_are_not_contention() {
        let contended =
            |drawn: &Drawn| !improper_granularity::find(drawn, &Thresholds::default()).is_empty();
        // Threads wait for the lock for half of their time, so it counts as contended even though
        // the waits are few.
        assert!(!contended(&spun(&[(0.5, 50)], 0.1)));
        assert!(contended(&spun(&[(100e-6, 250_000)], 0.1)));
        let mut mutex = spun(&[(0.5, 50)], 0.1);
        mutex.sites[0].op = Op::MutexLock;
        assert!(contended(&mutex), "who waits for a mutex leaves the processor to its holder");
    }
}

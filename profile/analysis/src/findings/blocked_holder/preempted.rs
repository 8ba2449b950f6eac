//! [`Rule::PreemptedHolder`]: the holder's processor was taken from it. Who waits asleep leaves
//! its own processor to the holder, so that this is mostly harmless; who spins keeps the holder
//! from running.

use syncline_recording::Primitive;

use super::{FEWEST_SWITCHES, OFF_CPU, TIME_SLICE, behind, draft};
use crate::findings::evidence::{count, seconds, share, times};
use crate::findings::family::{FEWEST_TAKEN, WAITED_FLOOR, mean_held, share_of_run};
use crate::model::{Evidence, Finding, Process, Remedy, Rule};

/// The least share of a mutex's acquisitions that wait when its holder's being preempted is
/// worth a word: who waits for it sleeps, and takes nothing from anybody.
const CONTENDED: f64 = 0.3;
/// How many times as long as a hold a spin must be for the holder not to have run meanwhile.
const SPIN_TIMES: f64 = 20.0;

/// At a site of acquisitions.
pub fn find(process: &Process, site: usize) -> Option<Finding> {
    match process.sites[site].op.primitive() {
        Primitive::Spinlock => spun_on(process, site),
        _ => slept_on(process, site),
    }
}

fn slept_on(process: &Process, site: usize) -> Option<Finding> {
    let figures = &process.sites[site].figures;
    let holder = figures.holder;
    let off_cpu = holder.off_cpu / holder.seconds.max(1e-12);
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
            share("of the time held off the processor, where it was looked at", off_cpu),
            count("times that the holder was preempted there", holder.preempted),
            count("holds that were looked at", holder.looked_at),
            seconds("time that others waited meanwhile", waited),
        ]
        .into_iter()
        .chain(crowd(process))
        .collect(),
        advice: "Run no more threads than there are processors, or hold the lock for less of \
                 their time, so that it is seldom held when a time slice ends."
            .to_owned(),
        remedy: Remedy::ShortenSections { sites: vec![site], to: (1.0 - off_cpu).clamp(0.0, 1.0) },
        ..draft(process, site, Rule::PreemptedHolder)
    })
}

fn spun_on(process: &Process, site: usize) -> Option<Finding> {
    let figures = &process.sites[site].figures;
    let held = mean_held(figures.held, figures.calls);
    let wait = figures.waited / figures.waits.max(1) as f64;
    let applies = figures.waits >= FEWEST_TAKEN
        && wait >= TIME_SLICE
        && wait >= SPIN_TIMES * held
        && share_of_run(process, figures.waited) >= WAITED_FLOOR;
    applies.then(|| Finding {
        title: "Threads spin for a holder that lost its processor".to_owned(),
        evidence: vec![
            seconds("mean spin", wait),
            seconds("mean time held", held),
            times("spin against hold", wait / held.max(1e-9)),
            count("spins", figures.waits),
            seconds("time spun, all threads", figures.waited),
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

/// Threads against processors.
fn crowd(process: &Process) -> Vec<Evidence> {
    let threads = count("threads", process.threads.len() as u64);
    let processors = process.processors.map(|n| count("processors", n as u64));
    [Some(threads), processors].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use crate::findings::blocked_holder::testing::{found, looked_at, taken};
    use crate::model::Rule;

    #[test]
    fn a_preempted_holder_of_a_mutex_matters_where_it_is_contended() {
        let mutex = |waits| looked_at(taken(Op::MutexLock, waits, 1.0, 1.0), 0.8, 2, 60);
        assert_eq!(found(&mutex(3_000)), [Rule::PreemptedHolder]);
        assert!(found(&mutex(2_900)).is_empty());
    }

    #[test]
    fn spins_that_last_a_time_slice_are_for_one_who_does_not_run() {
        let spinlock = |waited, held| found(&taken(Op::SpinLock, 40, waited, held));
        assert_eq!(spinlock(2.0, 0.1), [Rule::PreemptedHolder]);
        assert!(spinlock(0.04, 0.1).is_empty(), "0.4 % of the run");
        assert!(spinlock(2.0, 26.0).is_empty(), "holds are long themselves");
        let short = found(&taken(Op::SpinLock, 4_000, 1.9, 0.1));
        assert!(short.is_empty(), "475 µs each");
    }
}

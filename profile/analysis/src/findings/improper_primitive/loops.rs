//! Threads that poll a word in a loop.
//!
//! No call shows which thread ends the wait of such a thread, or how often it waits. Samples show
//! where it spins and for how long. Such a loop is the quickest way to wait while the other thread
//! runs, but if there are more threads than processors, it takes the processor that the other
//! thread needs. A runtime library may spin for the program, as OpenMP's does between two parallel
//! regions.

use syncline_recording::Op;

use super::most_lost::sites_with_most_lost;
use crate::findings::evidence::{count, seconds, share};
use crate::findings::family::few;
use crate::model::{Finding, Process, Remedy, Rule, Site};
use crate::options::Thresholds;

/// Loops that poll must take at least this share of all threads' processor time. (Time without a
/// processor does not count.)
const LEAST_SHARE: f64 = 0.2;
/// The least processor time in such loops as a share of the run time: a thread that waits
/// occasionally costs little.
const LEAST_OF_RUN: f64 = 0.02;
/// If loops take less than this, in seconds, that says nothing about a run: it is about ten
/// samples.
const FLOOR: f64 = 0.05;
/// If threads are ready to run without a processor for this share of the time, processors are
/// scarce.
const SHORT: f64 = 0.1;

/// Libraries that spin on behalf of a program, and how to configure them.
const LIBRARIES: [(&str, &str); 4] = [
    (
        "libgomp",
        "OMP_WAIT_POLICY=passive lets OpenMP's threads sleep at once, and \
                 OMP_NUM_THREADS says how many there are",
    ),
    (
        "libomp",
        "KMP_BLOCKTIME=0 lets OpenMP's threads sleep at once, and OMP_NUM_THREADS says how \
                many there are",
    ),
    (
        "libiomp",
        "KMP_BLOCKTIME=0 lets OpenMP's threads sleep at once, and OMP_NUM_THREADS says how \
                 many there are",
    ),
    ("libopenblas", "OPENBLAS_NUM_THREADS says how many threads OpenBLAS has"),
];

/// The finding about call sites where threads spin, if they spin enough.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let all = || process.sites.iter().enumerate().filter(|(_, site)| site.op == Op::Spin);
    let lost: f64 = all().map(|(_, site)| site.figures.lost()).sum();
    let used = process.times.running + process.times.spinning;
    if lost < (LEAST_SHARE * used).max(LEAST_OF_RUN * process.seconds).max(FLOOR) {
        return Vec::new();
    }
    let sites = sites_with_most_lost(all());
    vec![finding(process, &sites, lost, used)]
}

fn finding(process: &Process, sites: &[(usize, &Site)], lost: f64, used: f64) -> Finding {
    let numbers: Vec<usize> = sites.iter().map(|&(number, _)| number).collect();
    let threads = process.threads_at(numbers.iter().copied());
    let objects: Vec<usize> = process.used_at(numbers[0]).collect();
    let outnumbered = process.processors.is_some_and(|n| process.threads.len() > n);
    let short = outnumbered && process.times.ready >= SHORT * process.thread_seconds;
    let mut advice = match short {
        true => {
            "Use no more threads than processors, or let threads that wait longer than a few \
             microseconds sleep: what they wait for can't be done while they have the processors."
        }
        false => {
            "If threads wait here for one another, give each more work at a time, divide the work \
             more evenly, or use fewer threads for so little work. If they have nothing to do, let \
             them sleep after a few microseconds."
        }
    }
    .to_owned();
    if let Some(how) = runtime(process, sites[0].1) {
        advice = format!("{advice} {how}.");
    }
    Finding {
        rule: Rule::PollingLoop,
        title: "Threads poll a word in a loop until another thread changes it".to_owned(),
        place: sites[0].1.place.clone(),
        locks: few(&objects),
        evidence: vec![
            share("share of the processor time spent in the loop", lost / used),
            seconds("processor time in the loop", lost),
            seconds("time ready to run without a processor", process.times.ready),
            count("threads", threads.len() as u64),
            count("call sites", sites.len() as u64),
        ],
        advice,
        sites: numbers,
        open_question: None,
        // If processors are scarce, other work gets the processor time that the loops used.
        remedy: if short { Remedy::FreeProcessors { seconds: lost } } else { Remedy::Unknown },
        gain: None,
    }
}

/// How to configure the library that spins at a call site; `None` if it is not a known library.
fn runtime(process: &Process, site: &Site) -> Option<&'static str> {
    let stack = &process.stacks[*site.stacks.first()?];
    let module = process.frames[*stack.frames.first()?].module?;
    let name = process.modules[module].name();
    LIBRARIES.iter().find(|(start, _)| name.starts_with(start)).map(|&(_, how)| how)
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};
    use crate::gain::Predictor;

    /// Two threads of ten seconds each, which spin for `first` and `second` seconds and together
    /// work for `working` seconds. In the rest they have no processor, or sleep.
    fn spinning(first: f64, second: f64, working: f64) -> Drawn {
        let mut drawn = process(10.0, 2);
        let threads = drawn.threads("worker", 2, 10.0);
        let word = drawn.lock(Primitive::Spin, "spin");
        for (thread, (place, spun)) in
            (threads..).zip([("meet at team.c:10", first), ("take at queue.c:20", second)])
        {
            let site = drawn.site(Op::Spin, place);
            drawn.uses(word, site, Use { spun, ..Use::default() });
            drawn.by_thread(site, vec![(thread, 0)]);
        }
        drawn.times.spinning = first + second;
        drawn.times.running = working;
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<(String, usize)> {
        let findings = find(drawn, &Thresholds::default());
        findings.into_iter().map(|finding| (finding.place, finding.sites.len())).collect()
    }

    #[test]
    fn the_costliest_call_site_comes_first() {
        assert_eq!(found(&spinning(0.5, 1.0, 4.0)), [("take at queue.c:20".to_owned(), 2)]);
        assert_eq!(found(&spinning(0.09, 1.0, 4.0)), [("take at queue.c:20".to_owned(), 1)]);
    }

    #[test]
    fn a_small_part_of_the_processor_time_is_no_finding() {
        assert!(found(&spinning(0.4, 0.5, 4.0)).is_empty(), "18 % of what was used");
        assert!(found(&spinning(0.09, 0.09, 0.0)).is_empty(), "1.8 % of a processor");
        let mut short = spinning(0.02, 0.02, 0.0);
        short.seconds = 0.1;
        assert!(found(&short).is_empty(), "eight samples");
    }

    #[test]
    fn spinning_time_is_gained_if_processors_are_short() {
        let gain = |ready: f64| {
            let mut drawn = spinning(2.0, 1.0, 1.0);
            drawn.times.ready = ready;
            let finding = find(&drawn, &Thresholds::default()).remove(0);
            Predictor::new(&drawn).gain(&finding.remedy).map(|gain| gain.share)
        };
        assert_eq!((gain(8.0), gain(1.0)), (Some(0.75), None));
    }

    #[test]
    fn advice_knows_whether_processors_are_short() {
        let advice = |ready, processors| {
            let mut drawn = spinning(1.0, 1.0, 1.0);
            drawn.times.ready = ready * drawn.thread_seconds;
            drawn.processors = Some(processors);
            find(&drawn, &Thresholds::default()).remove(0).advice
        };
        assert!(advice(0.1, 2).contains("no more threads than processors"));
        assert!(!advice(0.09, 2).contains("no more threads than processors"));
        assert!(advice(0.1, 3).contains("fewer threads"), "other programs have the processors");
    }
}

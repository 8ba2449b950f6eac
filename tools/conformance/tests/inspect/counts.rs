//! The counts of acquisitions that are not traced, and the traces of sections with waits.

use syncline_conformance::{Program, Truth};
use syncline_trace::layout::{AFTER_WAIT, BEFORE_WAIT, CountRecord};

use crate::traced::{Traced, trace_with};

/// Environment variables that select a call site that does not exist, so nothing is traced.
const NOWHERE: [(&str, &str); 1] = [("SYNCLINE_INSPECT_SITES", "site - 0x1 0x2")];

/// A budget of ten times the program's own time. The traced sections are still chosen at random,
/// but there are enough of them.
const AMPLE: u32 = 10_000;

fn run(what: &str, budget: u32, environment: &[(&str, &str)]) -> (Truth, Traced) {
    let program = Program::compile("inspect_counts.c");
    let traced = trace_with(program.path(), [what], budget, environment);
    (Truth::read(&traced.outcome.stdout), traced)
}

/// The counts of the program's lock `outer`.
fn of_outer<'a>(truth: &Truth, traced: &'a Traced) -> Vec<&'a CountRecord> {
    let lock = truth.value("outer");
    let counts = traced.traces.iter().flat_map(|trace| &trace.counts).map(|(_, count)| count);
    counts.filter(|count| count.lock == lock).collect()
}

fn acquisitions(counts: &[&CountRecord]) -> u64 {
    counts.iter().map(|count| count.acquisitions).sum()
}

/// Acquisitions at a call site are counted one by one up to a certain number, however many other
/// call sites there are. Beyond that number they are estimated.
#[test]
fn call_sites_are_counted_apart() {
    for budget in [0, 1] {
        let (truth, traced) = run("sites", budget, &NOWHERE);
        let acquired = acquisitions(&of_outer(&truth, &traced));
        assert_eq!(acquired, truth.value("acquired"), "budget {budget}");
    }
}

/// A timed hold ends at the release of its own lock, not of another.
#[test]
fn a_hold_lasts_until_its_own_release() {
    let (truth, traced) = run("holds", 0, &NOWHERE);
    let counts = of_outer(&truth, &traced);
    let samples: u64 = counts.iter().map(|count| count.held_samples).sum();
    let ticks: u64 = counts.iter().map(|count| count.held_ticks).sum();
    assert!(samples > 0, "no hold was timed");
    let mean = traced.traces[0].seconds(ticks) / samples as f64 * 1e3;
    let held = truth.value("held_ms") as f64;
    assert!(mean >= held, "{mean} ms, but it slept for {held} ms in each");
}

/// A wait is not an acquisition. The part of a section after a wait is traced if the part before
/// the wait was.
#[test]
fn sections_go_on_behind_waits() {
    let (truth, traced) = run("waits", AMPLE, &[]);
    let acquired = acquisitions(&of_outer(&truth, &traced));
    assert_eq!(acquired, truth.value("acquired"));
    let lock = truth.value("outer");
    let sections = traced.traces[0].sections.iter().filter(|s| s.record.lock == lock);
    let mut flags: Vec<(u64, u32)> =
        sections.map(|s| (s.record.order, s.record.flags & (BEFORE_WAIT | AFTER_WAIT))).collect();
    flags.sort_unstable();
    let before = flags.iter().filter(|(_, flags)| *flags == BEFORE_WAIT).count();
    assert!(before > 64, "{before} parts before a wait, of {}", flags.len());
    for pair in flags.windows(2).filter(|pair| pair[0].1 == BEFORE_WAIT) {
        assert_eq!(pair[1].1, AFTER_WAIT, "the part behind the wait is traced as well");
    }
}

/// The kernel's time in a section belongs to the program, not to the cost of tracing.
#[test]
fn the_kernels_time_is_the_programs() {
    let (truth, traced) = run("kernel", AMPLE, &[]);
    let trace = &traced.traces[0];
    assert!(trace.sections.len() > 10, "{} sections", trace.sections.len());
    let (cost, kernel) = (trace.seconds(trace.header.cost_ticks) * 1e6, truth.value("kernel_us"));
    assert!(kernel > 20_000, "the kernel took {kernel} us");
    assert!(cost < kernel as f64 / 4.0, "{cost} us, of which the kernel had {kernel}");
}

/// A killed program's counts are kept, except those of its last moments.
#[test]
fn a_killed_program_leaves_its_counts() {
    for budget in [0, 1] {
        let (truth, traced) = run("killed", budget, &NOWHERE);
        let counted = acquisitions(&of_outer(&truth, &traced));
        let stated = truth.value("acquired");
        let share = counted as f64 / stated as f64;
        assert!((0.5..1.03).contains(&share), "budget {budget}: {counted} of {stated}");
    }
}

//! Tests the estimates of counts if acquisitions are so frequent that the tracer skips most of them
//! to keep within its budget.

use syncline_conformance::{Program, Truth};
use syncline_trace::Trace;

use crate::traced::trace_with;

/// A budget of a thousandth of the program's time.
const SCANT: u32 = 1;

fn counted(trace: &Trace, lock: u64) -> u64 {
    let counts = trace.counts.iter().map(|(_, count)| count);
    counts.filter(|count| count.lock == lock).map(|count| count.acquisitions).sum()
}

#[test]
fn traced_sections_stand_for_skipped_ones() {
    let program = Program::compile("inspect_often.c");
    let traced = trace_with(program.path(), [""; 0], SCANT, &[]);
    assert_eq!(traced.outcome.status, 0);
    let truth = Truth::read(&traced.outcome.stdout);
    let (parents, children): (Vec<&Trace>, Vec<&Trace>) =
        traced.traces.iter().partition(|trace| u64::from(trace.header.pid) != truth.value("child"));
    let ([parent], [child]) = (&parents[..], &children[..]) else { panic!("one trace each") };

    // The largest allowed error: five standard deviations of the estimate for a call site.
    let off = truth.value("often") / 25;
    for lock in ["mutex", "rwlock", "spin"] {
        let counted = counted(parent, truth.value(lock));
        assert!(counted.abs_diff(truth.value("often")) < off, "{lock}: {counted}");
        assert!(counted != truth.value("often"), "{lock}: one by one");
    }
    assert_eq!(counted(parent, truth.value("rare")), truth.value("rarely"));
    assert_eq!(counted(child, truth.value("mutex")), truth.value("by_child"));
}

//! For whom threads wait in the function that takes a lock of the program's own. The function only
//! has the lock; what is done under it is its callers' choice.

use std::collections::BTreeMap;

use syncline_present::number::percent;

use crate::model::{Activity, Process};
use crate::name;

/// A caller with a smaller share of the waiting is not worth naming.
const MUCH: f64 = 0.3;

/// A sentence with the caller for which threads wait most, at a call site in the function `take`;
/// empty if no caller stands out.
pub fn sentence(process: &Process, site: usize, take: &str) -> String {
    let mut waited: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    let mut all = 0.0;
    let spans = process.timeline.threads.iter().flatten();
    for span in spans.filter(|span| span.activity == Activity::Wait && span.site == Some(site)) {
        let seconds = span.ended - span.began;
        all += seconds;
        if let Some(frame) = caller(process, span.stack, take) {
            let function = process.frames[frame].whole_function();
            waited.entry(function).or_insert((0.0, frame)).0 += seconds;
        }
    }
    let most = waited.into_values().max_by(|a, b| a.0.total_cmp(&b.0));
    match most.filter(|(seconds, _)| *seconds > 0.0 && *seconds >= MUCH * all) {
        Some((seconds, frame)) => format!(
            " {} of the waiting is in calls from {}.",
            percent(seconds / all),
            name::frame(&process.frames[frame])
        ),
        None => String::new(),
    }
}

/// The frame that calls a function, in a stack.
fn caller(process: &Process, stack: usize, function: &str) -> Option<usize> {
    let frames = process.stacks.get(stack)?.frames.iter().copied();
    let is_it = |frame: &usize| process.frames[*frame].whole_function() == function;
    frames.skip_while(|frame| !is_it(frame)).find(|frame| !is_it(frame))
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{process, wait};
    use crate::model::Span;

    /// Modelled on Lucene++, whose objects have a lock each, made of a condition.
    #[test]
    fn the_caller_with_most_waiting_is_named() {
        let said = |seconds: [f64; 3]| {
            let mut drawn = process(10.0, 2);
            drawn.lock(Primitive::Condvar, "changed");
            let site = drawn.site(Op::CondWait, "Synchronize::lock at sync.cpp:30");
            let library = drawn.module("/lib/liblucene++.so.0");
            let mut began = 0.0;
            let mut spans = Vec::new();
            for (caller, seconds) in ["read", "seek", "close"].into_iter().zip(seconds) {
                let stack = drawn.stack(caller);
                drawn.calls_into(stack, library, &["Synchronize::lock"]);
                let wait = wait(Op::CondWait, began, began + seconds);
                spans.push(Span { site: Some(site), stack, ..wait });
                began += seconds;
            }
            drawn.timeline.threads = vec![spans];
            sentence(&drawn, site, "Synchronize::lock")
        };
        assert_eq!(said([3.0, 1.0, 1.0]), " 60.0 % of the waiting is in calls from read.");
        assert_eq!(said([1.0, 1.0, 1.6]), " 44.4 % of the waiting is in calls from close.");
        assert_eq!(said([0.0; 3]), "", "no thread waited");
    }
}

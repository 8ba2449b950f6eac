//! System calls of the function that takes a lock without a call. Neither the acquisition nor the
//! release is seen, so the section's extent isn't known. But samples show what the function calls
//! after the line at which it waits for the lock, and threads that make these calls one at a time
//! may well hold the lock meanwhile.

use std::collections::BTreeMap;

use crate::findings::evidence::share;
use crate::model::{Evidence, Frame, InCall, Process};

/// Calls that take a smaller share of the run can't be the cause of much waiting.
const LEAST_SHARE: f64 = 0.1;
/// Calls that take more than this share of the run, all threads together, run at the same time, so
/// they are not made with one lock held. (The share is an estimate.)
const AT_THE_SAME_TIME: f64 = 1.1;

/// System calls that a function makes, perhaps with a lock held.
pub struct Called<'a> {
    name: &'a str,
    /// The line of the function, such as `log.rs:12`, as far as it is known.
    place: String,
    /// The calls' share of the run.
    share: f64,
}

/// The system call that takes most time among those that a call site's function makes in the site's
/// line or a later one. `None` if its share of the run is too small, or so large that threads make
/// it at the same time.
pub fn made_with_lock(process: &Process, site: usize) -> Option<Called<'_>> {
    let here = &process.frames[process.sites[site].frame?];
    let mut calls: BTreeMap<&str, (f64, &Frame)> = BTreeMap::new();
    for call in process.in_kernel.iter().chain(&process.asleep) {
        let Some(frame) = frame_behind(process, here, call) else { continue };
        let (seconds, _) = calls.entry(&call.call).or_insert((0.0, frame));
        *seconds += call.seconds;
    }
    let (name, (seconds, frame)) = calls.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let share = seconds / process.seconds;
    (LEAST_SHARE..=AT_THE_SAME_TIME).contains(&share).then(|| Called {
        name,
        place: frame.file_line().unwrap_or_else(|| frame.function.clone()),
        share,
    })
}

/// The frame in which the function of `here` makes a call, if it does so in the line of `here` or a
/// later one.
fn frame_behind<'a>(process: &'a Process, here: &Frame, call: &InCall) -> Option<&'a Frame> {
    let mut frames = process.stacks[call.stack].frames.iter().map(|&frame| &process.frames[frame]);
    let frame = frames.find(|frame| frame.whole_function() == here.whole_function())?;
    (frame.line >= here.line).then_some(frame)
}

impl Called<'_> {
    pub fn advice(&self) -> String {
        format!(
            "The function that takes it calls `{}` ({}): if the lock is held meanwhile, make the \
             call after the release, or once for several pieces of work.",
            self.name, self.place
        )
    }

    pub fn evidence(&self) -> Evidence {
        share("part of the run in this function's most expensive system call", self.share)
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use crate::findings::busy_futex::find;
    use crate::findings::testing::{Drawn, Use, process};
    use crate::model::{Finding, InCall};
    use crate::options::Thresholds;

    /// Four threads wait for a futex at one line for a second each, in ten seconds. They call
    /// `write` at `line`, for `seconds` in all.
    fn logging(line: &str, seconds: f64) -> Drawn {
        let mut drawn = process(10.0, 4);
        drawn.threads("serve", 4, 10.0);
        let futex = drawn.lock(Primitive::Futex, "word");
        let site = drawn.site(Op::FutexWait, "log at writer.rs:75");
        let waits = Use { calls: 100_000, waits: 100_000, waited: 4.0, ..Use::default() };
        drawn.uses(futex, site, waits);
        let (inner, stack) = (drawn.stack("write at write.c:26"), drawn.stack(line));
        let frame = drawn.stacks[inner].frames[0];
        drawn.stacks[stack].frames.insert(0, frame);
        drawn.in_kernel.push(InCall {
            call: "write".to_owned(),
            place: line.to_owned(),
            seconds,
            threads: vec![1, 2, 3, 4],
            stack,
        });
        drawn
    }

    fn found(drawn: &Drawn) -> Finding {
        find(drawn, &Thresholds::default()).remove(0)
    }

    fn has_call(drawn: &Drawn) -> bool {
        found(drawn).title.contains("system calls")
    }

    #[test]
    fn calls_behind_the_acquisition_are_named() {
        let finding = found(&logging("log at writer.rs:80", 4.0));
        assert!(finding.advice.contains("calls `write` (writer.rs:80)"), "{}", finding.advice);
        assert!(finding.title.contains("system calls"));
        assert!(!has_call(&logging("log at writer.rs:74", 4.0)), "before it");
        assert!(!has_call(&logging("flush at writer.rs:80", 4.0)), "of another function");
    }

    #[test]
    fn calls_that_are_short_or_made_at_the_same_time_are_not() {
        assert!(has_call(&logging("log at writer.rs:80", 1.0)));
        assert!(!has_call(&logging("log at writer.rs:80", 0.99)), "9.9 % of the run");
        assert!(!has_call(&logging("log at writer.rs:80", 12.0)), "at the same time");
    }

    #[test]
    fn sleep_in_a_call_counts_as_time_on_a_processor_does() {
        let mut drawn = logging("log at writer.rs:80", 0.6);
        let asleep = InCall { seconds: 0.6, ..drawn.in_kernel[0].clone() };
        drawn.asleep.push(asleep);
        assert!(has_call(&drawn));
    }
}

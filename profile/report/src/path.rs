//! The critical path in words, for the terminal and the page.

use syncline_analysis::model::{OnPath, PathPart, Process};
use syncline_analysis::name;
use syncline_present::number::{counted, duration, grouped, percent};
use syncline_recording::Primitive;

/// A part with a smaller share of the path gets no line.
const LEAST: f64 = 0.02;
/// The most lines of the critical path.
const LINES: usize = 6;
/// Fewer hand-overs than this get no remark.
const MANY: u64 = 100;

/// A line for each of the largest parts of the path: its share, the kind of time, and the call site
/// or the threads.
pub fn lines(process: &Process) -> Vec<(String, &'static str, String)> {
    let path = &process.critical_path;
    let parts = path.parts.iter().filter(|part| path.share(part) >= LEAST);
    let line =
        |part| (percent(path.share(part)), kind_label(process, part), details(process, part));
    parts.take(LINES).map(line).collect()
}

/// Remarks about the path, one sentence each.
pub fn remarks(process: &Process) -> Vec<String> {
    let path = &process.critical_path;
    let mut remarks = Vec::new();
    if path.hand_overs >= MANY {
        remarks.push(format!(
            "The path goes from one thread to another {} times, every {} on average.",
            grouped(path.hand_overs),
            duration(path.seconds / path.hand_overs as f64)
        ));
    }
    if let Some(slept) = process.held_up_by_sleep() {
        let mend = |number: usize| match process.held_while_asleep(number) {
            Some(taken) => format!(
                "; meanwhile the threads hold the lock that they take at {}: release it before",
                name::site(process, &process.sites[taken])
            ),
            None => format!("; {}", process.sites[number].instead_of_sleeping()),
        };
        let mend = slept.site.map(mend).unwrap_or_default();
        remarks.push(format!("During much of these sleeps, no thread works{mend}."));
    }
    remarks
}

fn kind_label(process: &Process, part: &PathPart) -> &'static str {
    let slept = |site: usize| process.sites[site].op.primitive() == Primitive::Sleep;
    match part.kind {
        OnPath::Running => "running",
        OnPath::Ready => "no processor",
        OnPath::Kernel => "in the kernel",
        OnPath::Sleep if part.site.is_some_and(slept) => "sleep",
        OnPath::Sleep => "time-out",
        OnPath::WakeUp => "wake-up",
        OnPath::Unknown => "unknown",
    }
}

fn details(process: &Process, part: &PathPart) -> String {
    let Some(site) = part.site else {
        let threads = threads_label(process, part);
        let function = || process.mostly_in(part).map(name::function);
        let doing = match part.kind {
            OnPath::Running => function().map(|function| format!("in {function}")),
            OnPath::Kernel => process.asleep_in(part).map(|it| format!("asleep in {}", it.call)),
            _ => None,
        };
        return match doing {
            Some(doing) => format!("{threads}, mostly {doing}"),
            None => threads,
        };
    };
    let each = part.seconds / part.pieces.max(1) as f64;
    let site = name::site(process, &process.sites[site]);
    match part.pieces {
        1 => format!("{site}: once, {}", duration(each)),
        pieces => format!("{site}: {} times, {} each", grouped(pieces), duration(each)),
    }
}

/// A text for the threads of a part. These threads have the same origin, and names that
/// differ only in a number at the end.
fn threads_label(process: &Process, part: &PathPart) -> String {
    let thread = &process.threads[part.threads[0]];
    match (&part.threads[..], name::origin(process, thread)) {
        (&[only], _) => name::thread(process, only),
        (threads, _) if name::has_own(process, thread) => {
            let stem = name::unnumbered(&thread.name);
            format!("{} {stem}…", counted(threads.len(), "thread"))
        }
        (threads, Some(origin)) => format!("{} {origin}", counted(threads.len(), "thread")),
        (threads, None) => counted(threads.len(), "thread"),
    }
}

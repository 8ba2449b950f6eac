//! The head of a process's report: its main figures, and what could not be recorded.

use std::fmt::Write;

use crate::process;
use syncline_analysis::model::{Note, Process};
use syncline_present::page::Escaped;
use syncline_present::page::number::{count, counted, duration, percent};

/// The command line, and how the run ended.
pub fn heading(process: &Process) -> String {
    format!(
        "<summary><h1>{}</h1><p>pid {}, {}, ran {}, {}; {} lost waiting for locks</p></summary>\n",
        Escaped(&process::command(process)),
        process.pid,
        process::threads(process),
        duration(process.seconds),
        process::state(process),
        duration(process.waiting.locks)
    )
}

/// Time spent polling has a card only if it is at least this share of the threads' time. The same
/// is true of other time in the kernel.
const LEAST: f64 = 0.001;

/// The cards with the main figures of a process.
pub fn cards(process: &Process) -> String {
    let share = process.lock_share.clamp(0.0, 1.0) * 100.0;
    let mut html = format!(
        "<div class=\"cards\"><div class=\"card lost\"><b>{}</b><span>lost waiting for locks</span>\
         <svg class=\"meter\" aria-hidden=\"true\"><rect width=\"{share:.1}%\" height=\"100%\"/></svg>\
         <span>{} of its threads’ {}</span></div>",
        duration(process.waiting.locks),
        percent(process.lock_share),
        duration(process.thread_seconds)
    );
    let mut card = |value: String, what: &str| {
        let _ = write!(html, "<div class=\"card\"><b>{value}</b><span>{what}</span></div>");
    };
    let times = &process.times;
    if times.spinning >= LEAST * process.thread_seconds && times.spinning > 0.0 {
        let what = "lost in polling: refused tries, yields, and loops that only wait";
        card(duration(times.spinning), what);
    }
    card(duration(times.running), "on a processor");
    if let Some(text) = process::short_of_processors(process) {
        let what = format!("ready without a processor, including after waits had ended: {text}");
        card(duration(process.ready()), &what);
    }
    if times.futexes > 0.0 {
        card(duration(times.futexes), "waiting in futexes, which may be locks");
    }
    card(duration(times.events), "waiting for events, which may be idle");
    if times.kernel >= LEAST * process.thread_seconds && times.kernel > 0.0 {
        card(duration(times.kernel), "other time in the kernel: asleep, or in input and output");
    }
    let quadrants = &process.lock_quadrants;
    card(count((quadrants.q1 + quadrants.q2) as u64), "contended locks (Q1, Q2)");
    card(count(quadrants.q4 as u64), "busy locks without contention (Q4)");
    card(count(quadrants.q3 as u64), "quiet locks (Q3)");
    html + "</div>\n"
}

/// A section about what could not be recorded; empty if there are no notes.
pub fn notes(notes: &[Note], id: &str) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items = notes.iter().map(|note| format!("<li>{}</li>", Escaped(&note.to_string())));
    let items: String = items.collect();
    let id = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
    format!(
        "<section class=\"notes\"{id}><h2>What could not be seen</h2><ul>{items}</ul></section>\n"
    )
}

/// A line for each process that is not shown in full; empty if there are none.
pub fn others(processes: &[Process]) -> String {
    if processes.is_empty() {
        return String::new();
    }
    let mut html = format!(
        "<details class=\"others\"><summary>{} with less waiting</summary><ul>\n",
        counted(processes.len(), "more recorded program")
    );
    for process in processes {
        let _ = writeln!(
            html,
            "<li>{} <span>pid {}, {}, ran {}, {} lost waiting for locks</span></li>",
            Escaped(&process::command(process)),
            process.pid,
            process::threads(process),
            duration(process.seconds),
            duration(process.waiting.locks)
        );
    }
    html + "</ul></details>\n"
}

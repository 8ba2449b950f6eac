//! What ran, what it lost, and what was still waited for at the end.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{heading, more, paragraph};
use crate::process;
use syncline_analysis::model::{Kind, Process};
use syncline_analysis::name;
use syncline_analysis::name::primitive;
use syncline_present::number::{duration, percent};
use syncline_present::terminal::{Paint, cell, printable, shorten};
use syncline_present::terminal::{Style, table};

/// A share of the threads' time from which on waiting for locks is shown as a problem.
const COSTLY: f64 = 0.05;
/// From this share of the threads' time on, refused tries are worth a line.
const LEAST_SPUN: f64 = 0.001;
/// Threads that are shown as waiting.
const WAITING: usize = 6;

/// What ran, and the time that its threads lost.
pub fn summary(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let command = shorten(&printable(&process::command(process)), style.width());
    writeln!(out, "{}", Paint::Bold.on(&command, style))?;
    let facts = format!(
        "pid {}, {}, ran {}, {}",
        process.pid,
        process::threads(process),
        duration(process.seconds),
        process::state(process)
    );
    writeln!(out, "{}", Paint::Dim.on(&facts, style))?;
    if let Some(runs) = &process.runs {
        writeln!(out, "{}", Paint::Dim.on(&process::runs(runs), style))?;
    }
    writeln!(out)?;
    let paint = if process.lock_share >= COSTLY { Paint::Red } else { Paint::Bold };
    let lost = format!("{:>10}", duration(process.waiting.locks));
    writeln!(
        out,
        "  lost waiting for locks  {}   {} of its threads' {}",
        paint.on(&lost, style),
        paint.on(&percent(process.lock_share), style),
        duration(process.thread_seconds)
    )?;
    let spun = process.spun();
    if spun >= LEAST_SPUN * process.thread_seconds {
        let share = percent(spun / process.thread_seconds);
        let text = format!("{share} of their time, on processors that others may need");
        writeln!(out, "  {:<22}  {:>10}   {text}", "lost in refused tries", duration(spun))?;
    }
    let shares = [
        ("waiting in futexes", process.waiting.futexes, Kind::Futex, "locks or events"),
        ("waiting for events", process.waiting.events, Kind::Event, "may be idle"),
    ];
    for (title, seconds, kind, remark) in shares.into_iter().filter(|share| share.1 > 0.0) {
        let parts = shorten(&parts(process, kind), style.width() - 58);
        let remark = Paint::Dim.on(&format!("({remark})"), style);
        writeln!(out, "  {title:<22}  {:>10}   {parts} {remark}", duration(seconds))?;
    }
    if let Some(text) = process::short_of_processors(process) {
        let seconds = format!("{:>10}", duration(process.ready()));
        writeln!(out, "  {:<22}  {}   {text}", "ready, no processor", seconds)?;
    }
    Ok(())
}

/// Time waited for the primitives of one kind, most first.
fn parts(process: &Process, kind: Kind) -> String {
    let mut parts = BTreeMap::new();
    for site in process.sites.iter().filter(|s| s.kind == kind && s.figures.waited > 0.0) {
        *parts.entry(site.op.primitive()).or_insert(0.0) += site.figures.waited;
    }
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let texts = parts.iter().map(|&(p, seconds)| format!("{} {}", primitive(p), duration(seconds)));
    texts.collect::<Vec<_>>().join(", ")
}

/// Threads that can't go on.
pub fn stuck(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    for stuck in &process.stuck {
        let (title, remark) = stuck.trap.in_words();
        heading(title, &format!("{remark}, for {}", duration(stuck.seconds)), out, style)?;
        paragraph("  ", &printable(&stuck.why), out, style)?;
    }
    Ok(())
}

/// Threads whose wait for a lock or futex had not ended. Idle workers are no news.
pub fn waiting_now(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let mut waiting: Vec<_> = process
        .threads
        .iter()
        .filter_map(|thread| Some((thread, thread.waiting_now.as_ref()?)))
        .filter(|(_, now)| Kind::of(now.op.primitive()) == Kind::Lock)
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    waiting.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
    heading("STILL WAITING", "for a lock, when the recording ended or was read", out, style)?;
    let row = |(thread, now): &(
        &syncline_analysis::model::Thread,
        &syncline_analysis::model::WaitingNow,
    )| {
        let lock = now.lock.map_or("a lock", |lock| &process.locks[lock].name);
        let place = now.stack.map_or_else(String::new, |stack| name::stack(process, stack));
        [
            cell(duration(now.seconds)).paint(Paint::Red),
            cell(thread.tid.to_string()),
            cell(thread.name.clone()),
            cell(format!("{lock}  at {place}")),
        ]
    };
    let rows = waiting.iter().take(WAITING).map(row).collect();
    table::write(out, style, ["for", "thread", "name", "lock and place"], rows)?;
    more(waiting.len().saturating_sub(WAITING), "thread", out, style)
}

//! What ran, the time that its threads lost, and the waits that had not ended.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::text::{heading, more, paragraph};
use crate::process;
use syncline_analysis::model::{Kind, Process, Times};
use syncline_analysis::name;
use syncline_analysis::name::primitive;
use syncline_present::number::{duration, percent};
use syncline_present::terminal::{Paint, cell, printable, shorten};
use syncline_present::terminal::{Style, table};

/// Waiting for locks is shown as a problem if it takes at least this share of the threads' time.
const COSTLY: f64 = 0.05;
/// A kind of time in which threads do not wait has a line only if it takes more than this share of
/// their time.
const LEAST_SHOWN: f64 = 0.001;
/// The most threads that are listed as still waiting.
const WAITING: usize = 6;

/// Writes what ran, and the time that its threads lost.
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
    let times = &process.times;
    let share = |seconds: f64| percent(seconds / process.thread_seconds);
    let dim = |remark: &str| Paint::Dim.on(remark, style);
    let ready = process::short_of_processors(process);
    let least = if ready.is_some() { 0.0 } else { LEAST_SHOWN };
    let lines = [
        (
            "lost in polling",
            (times.spinning, LEAST_SHOWN),
            format!("{} of their time, on processors that others may need", share(times.spinning)),
        ),
        ("on a processor", (times.running, LEAST_SHOWN), share(times.running)),
        ("ready, no processor", (times.ready, least), at_ends_of_waits(times)),
        ("waiting in futexes", (times.futexes, 0.0), waits(process, Kind::Futex, style)),
        ("waiting for events", (times.events, 0.0), waits(process, Kind::Event, style)),
        (
            "other kernel time",
            (times.kernel, LEAST_SHOWN),
            format!("{} {}", share(times.kernel), dim("(asleep, or in input and output)")),
        ),
        (
            "not known",
            (times.unknown, LEAST_SHOWN),
            format!("{} {}", share(times.unknown), dim("(their end was not seen)")),
        ),
    ];
    for (title, (seconds, least), text) in lines {
        if seconds > least * process.thread_seconds {
            let line = format!("  {title:<22}  {:>10}", duration(seconds));
            match text.is_empty() {
                true => writeln!(out, "{line}")?,
                false => paragraph(&format!("{line}   "), &text, out, style)?,
            }
        }
    }
    if let Some(why) = ready {
        writeln!(out, "    {why}")?;
    }
    Ok(())
}

/// A text that says how long threads were ready without a processor at the ends of their waits;
/// empty if that is little.
fn at_ends_of_waits(times: &Times) -> String {
    match times.ready_in_waits >= 0.01 * times.ready {
        true if times.ready_in_waits > 0.0 => {
            format!("and {} at the ends of waits", duration(times.ready_in_waits))
        }
        _ => String::new(),
    }
}

/// A text about the waiting for objects of one kind, with its meaning.
fn waits(process: &Process, kind: Kind, style: &Style) -> String {
    let remark = if kind == Kind::Futex { "(locks or events)" } else { "(may be idle)" };
    format!("{} {}", parts(process, kind), Paint::Dim.on(remark, style))
}

/// A text with the time waited for each primitive of one kind, the longest first.
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

/// Writes which threads can't continue, and why.
pub fn stuck(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    for stuck in &process.stuck {
        let (title, remark) = stuck.trap.in_words();
        heading(title, &format!("{remark}, for {}", duration(stuck.seconds)), out, style)?;
        paragraph("  ", &printable(&stuck.why), out, style)?;
    }
    Ok(())
}

/// Writes the threads whose wait for a lock had not ended. Other waits are left out: they may be
/// those of idle workers.
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
    table::write(out, style, ["for", "thread", "name", "lock and call site"], rows)?;
    more(waiting.len().saturating_sub(WAITING), "thread", out, style)
}

//! The tables of a process: locks, call sites, who blocks whom, threads.

use std::fmt::Write;

use super::charts;
use super::escape::Escaped;
use super::table::{Column, Table, number, text};
use crate::model::{Figures, Lock, Process, Quadrant, Site, Thread};
use crate::report::name;
use crate::report::number::{count, duration, grouped, percent, rate};
use crate::words::primitive;

/// Rows of a table. What is left out waited less than what is shown.
pub const ROWS: usize = 500;

const FIGURES: [Column; 7] = [
    number("waited", "time that threads waited, all together"),
    number("longest", "the longest wait"),
    number("held ~", "time held, an estimate from a sample"),
    number("contended", "share of calls that found the lock taken"),
    number("acquired", "acquisitions, or returns from waiting"),
    number("/s", "acquisitions in a second of the process's time"),
    number("refused", "try operations that were refused"),
];

fn columns(first: Vec<Column>) -> Vec<Column> {
    let quadrant = text("quadrant", "by contention and acquisitions; Q3 is harmless");
    first.into_iter().chain(FIGURES).chain([quadrant]).collect()
}

fn figures(table: &mut Table, figures: &Figures, quadrant: Option<Quadrant>) {
    table.number(duration(figures.waited), figures.waited);
    table.number(duration(figures.waited_max), figures.waited_max);
    let held = if figures.held_timed > 0 { duration(figures.held) } else { "–".to_owned() };
    table.number(held, figures.held);
    table.number(percent(figures.contention), figures.contention);
    table.number(count(figures.calls), figures.calls as f64);
    table.number(rate(figures.calls_per_second), figures.calls_per_second);
    table.number(count(figures.refused), figures.refused as f64);
    let quadrant = quadrant.map(|q| format!("{q:?}")).unwrap_or_default();
    table.html(&format!("<span class=\"q {quadrant}\">{quadrant}</span>"), &quadrant);
}

/// Locks and what else is waited for.
pub fn locks(process: &Process) -> String {
    let columns = columns(vec![text("lock", "its name"), text("kind", "what it is")]);
    let mut table = Table::new("Locks", &columns, None);
    for lock in process.locks.iter().take(ROWS) {
        table.row();
        table.html(&unfold(&lock.name, &lock_details(process, lock)), &lock.name);
        table.words(primitive(lock.primitive));
        figures(&mut table, &lock.figures, lock.quadrant);
    }
    table.finish("No lock was used.") + &left_out(process.locks.len(), "lock")
}

fn lock_details(process: &Process, lock: &Lock) -> String {
    let mut html = format!("<p>address {:#x}</p><ul>", lock.address);
    for used in lock.sites.iter().take(8) {
        let place = name::site(process, &process.sites[used.site]);
        let _ = write!(
            html,
            "<li>{} at {}: {} calls, waited {}</li>",
            used.op.label(),
            Escaped(&place),
            count(used.calls),
            duration(used.waited)
        );
    }
    for blocker in lock.blockers.iter().take(8) {
        let _ = write!(
            html,
            "<li>{} waits, {} in all, for who had acquired it at {}</li>",
            count(blocker.waits),
            duration(blocker.waited),
            Escaped(&name::stack(process, blocker.holder_stack))
        );
    }
    html + "</ul>" + &charts::histogram(&lock.figures.histogram, "Waits for this lock")
}

/// Call sites.
pub fn sites(process: &Process) -> String {
    let first = vec![
        text("place", "the innermost frame that is not a library's lock wrapper"),
        text("operation", "what is done there"),
        number("locks", "locks that were used there"),
    ];
    let columns = columns(first);
    let mut table = Table::new("Call sites", &columns, None);
    for site in process.sites.iter().take(ROWS) {
        table.row();
        let place = name::site(process, site);
        table.html(&unfold(&place, &site_stacks(process, site)), &place);
        table.words(site.op.label());
        table.number(grouped(site.locks as u64), site.locks as f64);
        figures(&mut table, &site.figures, site.quadrant);
    }
    table.finish("No call was recorded.") + &left_out(process.sites.len(), "call site")
}

fn site_stacks(process: &Process, site: &Site) -> String {
    let mut html = String::new();
    for &stack in site.stacks.iter().take(3) {
        html += "<ol class=\"stack\">";
        for frame in process.frames_of(stack) {
            let _ = write!(html, "<li>{}</li>", Escaped(&frame.place()));
        }
        html += "</ol>";
    }
    match site.stacks.len().saturating_sub(3) {
        0 => {}
        more => _ = write!(html, "<p>and {more} more ways to get here</p>"),
    }
    html
}

/// Who blocks whom.
pub fn blocking(process: &Process) -> String {
    let columns = [
        number("waited", "time of these waits"),
        number("waits", "how often"),
        number("locks", "with how many locks"),
        text("who waited", "the place that waited"),
        text("for whom", "where the holder had acquired the lock"),
    ];
    let mut table = Table::new("Who blocks whom", &columns, Some(0));
    for pair in process.blocking.iter().take(ROWS) {
        table.row();
        table.number(duration(pair.waited), pair.waited);
        table.number(count(pair.waits), pair.waits as f64);
        table.number(grouped(pair.locks as u64), pair.locks as f64);
        table.text(&name::site(process, &process.sites[pair.waiter]));
        let same = pair.holder == Some(pair.waiter);
        let holder = name::stack(process, pair.holder_stack);
        table.text(if same { "another thread at the same place" } else { &holder });
    }
    table.finish("Nobody was seen in the way of others.")
        + &left_out(process.blocking.len(), "pair")
}

/// Threads.
pub fn threads(process: &Process) -> String {
    let columns = [
        text("thread", "its name and number"),
        text("started in", "its start function"),
        number("lived", "from its start to its end"),
        number("on cpu", "processor time, if it ended"),
        number("for locks", "time waited for locks"),
        number("in futexes", "time waited in futexes"),
        number("for events", "time waited for events"),
        number("acquired", "acquisitions of locks"),
        text("waiting", "what it was waiting for at the end"),
    ];
    let mut threads: Vec<&Thread> = process.threads.iter().collect();
    threads.sort_by(|a, b| b.waiting.locks.total_cmp(&a.waiting.locks));
    let mut table = Table::new("Threads", &columns, Some(4));
    for thread in threads.into_iter().take(ROWS) {
        table.row();
        table.text(&format!("{} {}", thread.name, thread.tid));
        table.text(&start(process, thread));
        table.number(duration(thread.seconds), thread.seconds);
        match thread.cpu {
            Some(cpu) => table.number(duration(cpu), cpu),
            None => table.number("–", -1.0),
        }
        table.number(duration(thread.waiting.locks), thread.waiting.locks);
        table.number(duration(thread.waiting.futexes), thread.waiting.futexes);
        table.number(duration(thread.waiting.events), thread.waiting.events);
        table.number(count(thread.acquisitions), thread.acquisitions as f64);
        table.text(&thread.waiting_now.as_ref().map_or_else(String::new, |now| {
            format!("{}, {}", now.op.label(), duration(now.seconds))
        }));
    }
    table.finish("No thread was recorded.") + &left_out(process.threads.len(), "thread")
}

/// Where a thread started. What a library starts threads with says nothing (its lines are
/// not known, mostly): then the place that created the thread is told.
fn start(process: &Process, thread: &Thread) -> String {
    match (&thread.start_function, thread.created_at) {
        (None, _) => "main thread".to_owned(),
        (Some(function), Some(stack)) if function.contains('+') => {
            format!("created at {}", name::stack(process, stack))
        }
        (Some(function), _) => name::function(function),
    }
}

/// A name that shows more when it is opened.
fn unfold(name: &str, more: &str) -> String {
    format!("<details><summary>{}</summary><div>{more}</div></details>", Escaped(name))
}

fn left_out(all: usize, what: &str) -> String {
    match all.saturating_sub(ROWS) {
        0 => String::new(),
        more => format!(
            "<p class=\"empty\">{} more {what}s with less waiting are in the JSON report.</p>\n",
            grouped(more as u64)
        ),
    }
}

//! The table of locks, and of other objects that threads wait for.

use std::fmt::Write;

use super::figures::{FIGURES, figures};
use crate::html::histogram;
use crate::html::table::{Column, Format, Row, Table, text};
use syncline_analysis::model::{Lock, Process};
use syncline_analysis::name;
use syncline_analysis::name::primitive;
use syncline_present::number::of_so_many;
use syncline_present::page::Escaped;
use syncline_present::page::number::{count, counted, duration, percent};

const NAMES: [Column; 2] =
    [("lock", "its name", Format::Text), ("kind", "what it is", Format::Words)];

/// The most call sites, and the most holders, that an opened row lists.
const LISTED: usize = 8;

/// The most call sites that a row names if it is written as data.
const LISTED_IN_BRIEF: usize = 3;

/// The table of a process's locks. Its rows have ids that begin with `id`.
pub fn locks(process: &Process, id: String) -> String {
    let columns: Vec<Column> = NAMES.into_iter().chain(FIGURES).collect();
    let table = Table { caption: "Locks", one: "lock", id, columns: &columns, sorted: None };
    table.html(process.locks.len(), |place, is_html| {
        let lock = &process.locks[place];
        let names = [text(&lock.name), text(primitive(lock.primitive))];
        Row {
            cells: names.into_iter().chain(figures(&lock.figures, lock.quadrant)).collect(),
            details: if is_html { details(process, lock) } else { String::new() },
            brief: if is_html { Vec::new() } else { brief(process, lock) },
        }
    })
}

fn details(process: &Process, lock: &Lock) -> String {
    let mut html = format!("<p>address {:#x}</p><ul>", lock.address);
    for used in lock.sites.iter().take(LISTED) {
        let place = name::site(process, &process.sites[used.site]);
        let _ = write!(
            html,
            "<li>{} at {}: {} {}, waited {}</li>",
            used.op.label(),
            Escaped(&place),
            count(used.calls),
            of_so_many(used.calls as usize, "call"),
            duration(used.waited)
        );
    }
    for blocker in lock.blockers.iter().take(LISTED) {
        let _ = write!(
            html,
            "<li>{} {}, {} in all, for a thread that had acquired it at {}</li>",
            count(blocker.waits),
            of_so_many(blocker.waits as usize, "wait"),
            duration(blocker.waited),
            Escaped(&name::stack(process, blocker.holder_stack))
        );
    }
    let holder = &lock.figures.holder;
    if holder.looked_at > 0 && holder.seconds > 0.0 {
        let _ = write!(
            html,
            "<li>in {}, the holder was off its processor {} of the time; it slept {} and was \
             preempted {}</li>",
            counted(holder.looked_at as usize, "sampled hold"),
            percent(holder.off_cpu_share()),
            counted(holder.slept as usize, "time"),
            counted(holder.preempted as usize, "time")
        );
    }
    if !lock.beside.is_empty() {
        let _ = write!(html, "<li>on its cache line: {}</li>", Escaped(&lock.beside.join(", ")));
    }
    html + "</ul>" + &histogram::chart(&lock.figures.histogram, "Waits for this lock")
}

fn brief(process: &Process, lock: &Lock) -> Vec<String> {
    let sites = lock.sites.iter().take(LISTED_IN_BRIEF).map(|used| {
        format!("{} at {}", used.op.label(), name::site(process, &process.sites[used.site]))
    });
    [format!("address {:#x}", lock.address)].into_iter().chain(sites).collect()
}

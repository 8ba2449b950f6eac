//! The tables: locks, call sites, quadrants, who blocks whom, futexes and events.

use std::io::{self, Write};

use super::text::{heading, more};
use crate::process;
use syncline_analysis::Thresholds;
use syncline_analysis::model::{Blocking, Figures, Kind, Lock, Process, Quadrant, Site};
use syncline_analysis::name;
use syncline_present::number::{count, duration, grouped, percent, rate};
use syncline_present::terminal::{Cell, Paint, cell};
use syncline_present::terminal::{Style, table};

/// The most rows of the tables of locks and of call sites.
const ROWS: usize = 8;
/// The most rows of the other tables.
const FEW_ROWS: usize = 5;
/// The most locks of a quadrant that are named.
const MEMBERS: usize = 3;

const TITLES: [&str; 7] = ["waited", "longest", "held ~", "contended", "acquired", "/s", ""];

/// Writes the table of the locks that cost most.
pub fn locks(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let matters = |lock: &&Lock| matters(&lock.figures, lock.quadrant);
    let rows: Vec<&Lock> = process.only_locks().filter(matters).collect();
    if rows.is_empty() {
        return Ok(());
    }
    heading("LOCKS", "by time waited; time held is an estimate", out, style)?;
    let row = |lock: &&Lock| costs(&lock.figures, lock.quadrant, &name::lock(lock));
    table::write(out, style, titled("lock"), rows.iter().take(ROWS).map(row).collect())?;
    let all = process.only_locks().count();
    more(all - rows.len().min(ROWS), "lock", out, style)
}

/// Writes the table of the call sites that cost most.
pub fn sites(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let all = || process.sites.iter().filter(|site| site.quadrant.is_some());
    let rows: Vec<&Site> = all().filter(|site| matters(&site.figures, site.quadrant)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    heading("CALL SITES", "added up over locks and threads", out, style)?;
    let row = |site: &&Site| {
        let mut place = format!("{}  {}", name::site(process, site), site.op.label());
        if site.locks > 1 {
            let more = if site.sampled { " or more" } else { "" };
            place += &format!(", {} locks{more}", grouped(site.locks as u64));
        }
        costs(&site.figures, site.quadrant, &place)
    };
    table::write(out, style, titled("call site"), rows.iter().take(ROWS).map(row).collect())?;
    more(all().count() - rows.len().min(ROWS), "site", out, style)
}

/// Whether a lock or a call site gets a line in the report, because it costs time or may cost time.
fn matters(figures: &Figures, quadrant: Option<Quadrant>) -> bool {
    figures.waited > 0.0 || !matches!(quadrant, Some(Quadrant::Q3) | None)
}

fn titled(last: &'static str) -> [&'static str; 7] {
    let mut titles = TITLES;
    titles[6] = last;
    titles
}

fn costs(figures: &Figures, quadrant: Option<Quadrant>, what: &str) -> [Cell; 7] {
    let contended = match quadrant {
        Some(Quadrant::Q1 | Quadrant::Q2) => Paint::Red,
        _ => Paint::Plain,
    };
    let busy = match quadrant {
        Some(Quadrant::Q2 | Quadrant::Q4) => Paint::Yellow,
        _ => Paint::Plain,
    };
    [
        cell(duration(figures.waited)).paint(Paint::Bold),
        cell(duration(figures.waited_max)),
        cell(if figures.held_timed > 0 { duration(figures.held) } else { "-".to_owned() }),
        cell(percent(figures.contention)).paint(contended),
        cell(count(figures.calls)),
        cell(rate(figures.calls_per_second)).paint(busy),
        cell(what),
    ]
}

/// Writes how many locks and sites are in each quadrant, and the names of the first locks of the
/// quadrants other than Q3, which is harmless.
pub fn quadrants(
    process: &Process,
    thresholds: &Thresholds,
    out: &mut impl Write,
    style: &Style,
) -> io::Result<()> {
    let locks = &process.lock_quadrants;
    let sites = &process.site_quadrants;
    if process.only_locks().next().is_none() {
        return Ok(());
    }
    let remark = format!(
        "contended: more than {}; often: more than {}/s",
        percent(thresholds.contention),
        rate(thresholds.acquisitions_per_second)
    );
    heading("QUADRANTS", &remark, out, style)?;
    let row = |(quadrant, meaning): (Quadrant, &str)| {
        let (locks, sites) = match quadrant {
            Quadrant::Q1 => (locks.q1, sites.q1),
            Quadrant::Q2 => (locks.q2, sites.q2),
            Quadrant::Q3 => (locks.q3, sites.q3),
            Quadrant::Q4 => (locks.q4, sites.q4),
        };
        let members =
            if quadrant == Quadrant::Q3 { String::new() } else { members(process, quadrant) };
        let meaning = format!("{quadrant:?} {meaning:<27}");
        [cell(meaning), cell(count(locks as u64)), cell(count(sites as u64)), cell(members)]
    };
    let rows = process::QUADRANTS.map(row).into();
    table::write(out, style, ["", "locks", "sites", "locks among them"], rows)
}

/// The first locks of a quadrant: in Q4 by acquisitions in a second, in the others by time waited.
fn members(process: &Process, quadrant: Quadrant) -> String {
    let mut locks: Vec<&Lock> =
        process.only_locks().filter(|lock| lock.quadrant == Some(quadrant)).collect();
    if quadrant == Quadrant::Q4 {
        locks.sort_by(|a, b| b.figures.calls_per_second.total_cmp(&a.figures.calls_per_second));
    }
    let name = |lock: &&Lock| lock.name.split(" (").next().unwrap_or_default().to_owned();
    locks.iter().take(MEMBERS).map(name).collect::<Vec<_>>().join(", ")
}

/// Writes which call sites make which others wait.
pub fn blocking(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    if process.blocking.is_empty() {
        return Ok(());
    }
    heading("WHO BLOCKS WHOM", "waiter, then where the holder had acquired the lock", out, style)?;
    let row = |pair: &Blocking| {
        let waiter = name::site(process, &process.sites[pair.waiter]);
        let holder = match pair.holder {
            Some(holder) if holder == pair.waiter => {
                "another thread at the same call site".to_owned()
            }
            _ => name::stack(process, pair.holder_stack),
        };
        [
            cell(duration(pair.waited)).paint(Paint::Bold),
            cell(count(pair.waits)),
            cell(duration(pair.waited / pair.waits.max(1) as f64)),
            cell(format!("{waiter}  <-  {holder}")),
        ]
    };
    let rows = process.blocking.iter().take(FEW_ROWS).map(row).collect();
    table::write(out, style, ["waited", "waits", "mean", "waiter <- holder"], rows)?;
    more(process.blocking.len().saturating_sub(FEW_ROWS), "pair", out, style)
}

/// Writes the table of futexes and events: objects for which threads wait and that are not known to
/// be locks.
pub fn others(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let waits = |site: &&Site| site.kind != Kind::Lock && site.figures.waited > 0.0;
    let rows: Vec<&Site> = process.sites.iter().filter(waits).collect();
    if rows.is_empty() {
        return Ok(());
    }
    heading(
        "FUTEXES AND EVENTS",
        "waiting here may be time lost, or time with nothing to do",
        out,
        style,
    )?;
    let row = |site: &&Site| {
        let figures = &site.figures;
        [
            cell(duration(figures.waited)),
            cell(duration(figures.waited_max)),
            cell(count(figures.waits + figures.unfinished)),
            cell(format!("{}  {}", name::site(process, site), site.op.label())),
        ]
    };
    let few = rows.iter().take(FEW_ROWS).map(row).collect();
    table::write(out, style, ["waited", "longest", "waits", "call site"], few)?;
    more(rows.len().saturating_sub(FEW_ROWS), "site", out, style)
}

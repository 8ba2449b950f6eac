//! The report on a recording of a kernel, as text. It describes the run, and has Tables 2 and 3 of
//! the Syncchar paper, with a row for each class of locks. For the classes that were held longest,
//! it also says which data their sections conflict on.

use std::fmt::Write as _;

use syncline_kernel::contention::Compared;
use syncline_kernel::report::{Report, Row};
use syncline_kernel::run::{About, Counts, INVARIANTS};
use syncline_present::number::{count, counted, of_so_many, percent};
use syncline_present::terminal::{Style, cell, wrapped};

use crate::inspect::tables::{CONTENDED, CONTENDED_TITLES, HELD, or_dash, written};

/// The most call sites of a class that are listed.
const SITES: usize = 3;

/// The whole report.
pub fn text(
    about: &About,
    counts: &Counts,
    of_kernel: Option<&Compared>,
    report: &Report,
    style: &Style,
) -> String {
    let mut text = format!(
        "Linux {}, {}, on {} virtual processors\n",
        about.release, about.load, about.processors
    );
    if !about.complete {
        text.push_str("  the load did not run to its end\n");
    }
    text.push_str(&sums(about, report));
    text.push_str(&checks(about, counts, of_kernel));
    text.push_str(
        "  not followed: the spinlocks that some functions inline, bit locks that are only tried, sequence \
         counters, RCU, local locks and switched-off preemption; accesses to user space are left out\n",
    );
    let mut text = wrapped(&text, style);
    for table in [contended(report, style), longest(report, style)] {
        text.push('\n');
        text.push_str(&table);
    }
    let mut details = String::new();
    report.rows.iter().take(HELD).for_each(|row| details.push_str(&detail(row)));
    if !details.is_empty() {
        text.push('\n');
        text.push_str(&wrapped(&details, style));
    }
    text
}

fn sums(about: &About, report: &Report) -> String {
    let share = |part: u64| percent(part as f64 / report.acquisitions.max(1) as f64);
    let mut text = format!(
        "  {} {} of {} in {}, {} ({}) had to wait\n",
        count(report.acquisitions),
        of_so_many(report.acquisitions as usize, "acquisition"),
        counted(report.locks, "lock"),
        counted(report.rows.len(), "class"),
        count(report.contended),
        share(report.contended),
    );
    let mut line = |line: String| text.push_str(&format!("  {line}\n"));
    if let (Some(mean), Some(busy), Some(of_15)) =
        (report.independence, report.busy, report.busy_of_15)
    {
        let of_15 = match about.processors {
            15 => String::new(),
            _ => format!(", and {of_15:.1} of 15"),
        };
        line(format!(
            "{} of pairs of sections are independent, weighted by the time held: if sections ran \
             optimistically, they could keep {busy:.1} of {} processors busy{of_15}",
            percent(mean),
            about.processors,
        ));
    } else {
        line("no two sections of one lock could be compared".to_owned());
    }
    if report.left_out > 0 {
        line(format!(
            "the end of the trace is left out, since memory is short: {}",
            counted(report.left_out as usize, "section")
        ));
    }
    text
}

/// The lines that say how far the figures can be trusted: violations of the invariants, the
/// kernel's own counts, sections that were dropped, and how far the processors ran apart.
fn checks(about: &About, counts: &Counts, of_kernel: Option<&Compared>) -> String {
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    if counts.is_empty() {
        return "  the run was killed before it could write its counts: the invariants were not \
                checked\n"
            .to_owned();
    }
    let broken: u64 = INVARIANTS.iter().map(|name| of(name)).sum();
    let mut text = match broken {
        0 => "  no violation in any section: every lock that was released had been acquired, at the same \
              level (task or interrupt); none was held at a return to user space; the word of every \
              acquired spinlock said so\n"
            .to_owned(),
        _ => {
            let names = [
                "releases without an acquisition",
                "releases at another level (task or interrupt)",
                "locks held at a return to user space",
            ];
            let further = ["lock words that contradict the state", "entries without an end"];
            let all = names.iter().chain(&further).zip(INVARIANTS);
            let all: Vec<String> = all.map(|(what, name)| format!("{} {what}", of(name))).collect();
            format!("  INVARIANTS BROKEN: {}\n", all.join(", "))
        }
    };
    if let Some(Compared { of_kernel, locks, followed, missed, dropped }) = of_kernel {
        let _ = write!(
            text,
            "  the kernel itself counted at least {} {} for {}; Syncline followed {} for these \
             locks, and missed {} of the kernel's",
            count(*of_kernel),
            of_so_many(*of_kernel as usize, "wait"),
            counted(*locks, "lock"),
            count(*followed),
            count(*missed),
        );
        if *dropped > 0 {
            let _ = write!(text, " (it dropped {})", count(*dropped));
        }
        text.push('\n');
    }
    if of("dropped") > 0 {
        let dropped = counted(of("dropped") as usize, "section");
        let _ = writeln!(text, "  {dropped} did not fit into the trace: raise --max-size");
    }
    match about.quantum {
        0 => text.push_str(
            "  virtual processors ran without a limit (--quantum 0): the waits depend on this machine\n",
        ),
        quantum => {
            let _ = writeln!(
                text,
                "  processors were kept within {} instructions of each other; {} of {} waits for \
                 this were given up",
                count(quantum),
                count(of("waits_given_up")),
                count(of("waits")),
            );
        }
    }
    text
}

/// Table 2, the most contended classes. It says how many of the sections that waited for another
/// section conflict with that section.
fn contended(report: &Report, style: &Style) -> String {
    let mut rows: Vec<&Row> = report.rows.iter().filter(|row| row.contended > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.contended));
    if rows.is_empty() {
        return "  no processor waited for a lock\n".to_owned();
    }
    let cells = |row: &&Row| {
        let compared = |text: String| or_dash(text, row.contended_pairs > 0);
        [
            cell(count(row.acquisitions)),
            cell(count(row.contended)),
            cell(percent(row.contended as f64 / row.acquisitions.max(1) as f64)),
            compared(percent(row.contended_conflicts)),
            compared(format!("{:.0}", row.contended_set)),
            compared(format!("{:.0}", row.contended_bytes)),
            cell(&row.class),
        ]
    };
    written(style, CONTENDED_TITLES, rows.iter().take(CONTENDED).map(cells).collect())
}

/// Table 3, the classes that were held longest. Each of their sections is compared with the last
/// sections of its lock. The table has the share of pairs that conflict and, as in the paper, the
/// share of sections with any conflict.
fn longest(report: &Report, style: &Style) -> String {
    let cells = |row: &Row| {
        let compared = |text: String| or_dash(text, row.pairs > 0);
        [
            cell(count(row.held)),
            cell(count(row.pairs)),
            compared(percent(row.conflicts)),
            compared(percent(row.sections_conflicting)),
            compared(format!("{:.1}", row.bytes)),
            compared(percent(row.of_set)),
            cell(&row.class),
        ]
    };
    let locks = format!("held longest (window {})", report.window);
    let titles = ["instructions", "pairs", "conflicts", "sections", "bytes", "of set", &locks];
    written(style, titles, report.rows.iter().take(HELD).map(cells).collect())
}

/// The data that the sections of a class conflict on, and the call sites that take its locks.
fn detail(row: &Row) -> String {
    let mut text = format!("  {}", row.class);
    if row.locks > 1 {
        let _ = write!(text, " ({})", counted(row.locks, "lock"));
    }
    if let Some((field, share)) = &row.cause {
        let _ = write!(text, ": {} of its conflicting pairs conflict on {field}", percent(*share));
    }
    let sites = row.sites.iter().take(SITES);
    let sites: Vec<String> = sites.map(|(site, n)| format!("{site} ({})", count(*n))).collect();
    let _ = write!(text, "; taken in {}", sites.join(", "));
    if let Some(more) = row.sites.len().checked_sub(SITES).filter(|&more| more > 0) {
        let _ = write!(text, " and {}", counted(more, "more function"));
    }
    if row.handed_over > 0 {
        let handed = counted(row.handed_over as usize, "section");
        let _ = write!(text, "; not compared: {handed} that another task ended");
    }
    text + "\n"
}

//! The report on a trace, as text: the locks that matter most, with a paragraph each, and then the
//! tables.

use std::fmt::Write as _;

use syncline_conflicts::{Lock, Report, TooFew};
use syncline_present::number::{count, counted, duration, of_so_many, percent};
use syncline_recording::command_line;

use super::lock::{about, paragraph};
use super::tables;
use syncline_present::terminal::{Style, wrapped};

/// The number of locks that get a paragraph. Three of them fill a screen.
const DETAILED: usize = 3;
/// If the uncertainty of a mean is larger than this share, the mean is not printed.
const KNOWN: f64 = 0.25;

/// The largest budget that is proposed, in percent. If more would be needed, the text proposes to
/// trace everything.
const LARGEST_BUDGET: f64 = 500.0;

/// The report on one process, as text.
pub fn text(report: &Report, style: &Style) -> String {
    let mut text = String::new();
    // Writing to a text never fails.
    let _ = writeln!(text, "{} (process {})", command_line(&report.command), report.pid);
    if let Some(why) = &report.left_alone {
        let _ = writeln!(text, "  not traced to its end: {why}");
    }
    if report.traced == 0 {
        let _ =
            writeln!(text, "  no critical section was traced: {}", why_nothing_was_traced(report));
        return wrapped(&text, style);
    }
    let share = report.traced as f64 / report.acquisitions.max(1) as f64;
    let _ = writeln!(
        text,
        "  {} of {}{} {} traced ({})",
        count(report.traced),
        about(report.acquisitions_estimated, report.cut_short),
        count(report.acquisitions),
        of_so_many(report.acquisitions as usize, "acquisition"),
        percent(share),
    );
    text.push_str(&untraced(report));
    report.too_few.iter().for_each(|lock| text.push_str(&too_few(lock, report)));
    if report.cut_short {
        text.push_str(
            "  its final counts are missing (it was killed, ended by _exit, ran another program, \
             or still runs): there were more acquisitions and more waiting than this\n",
        );
    }
    text.push_str(&cost(report));
    if report.left_out > 0 {
        // Writing to a text never fails.
        let _ = writeln!(
            text,
            "  the end of the trace is left out, since memory is short: {}; trace less with \
             --site, --lock or --budget",
            counted(report.left_out as usize, "section"),
        );
    }
    if report.dropped > 0 {
        let _ = writeln!(
            text,
            "  tracing stopped where the trace was full: raise --max-size, or choose another \
             disk with -o"
        );
    }
    text.push_str(&all_locks(report));
    // The locks with the most to gain come first.
    let mut order: Vec<&Lock> = report.locks.iter().collect();
    let saves = |lock: &Lock| lock.advice.first().map_or(0.0, |p| p.saves_at_most);
    order.sort_by(|a, b| saves(b).total_cmp(&saves(a)));
    for (number, lock) in order.iter().take(DETAILED).enumerate() {
        text.push('\n');
        text.push_str(&paragraph(number + 1, lock, report));
    }
    let mut text = wrapped(&text, style);
    text.push('\n');
    text.push_str(&tables::contended(report, style));
    text.push('\n');
    text.push_str(&tables::window(report, style));
    text
}

/// The cost of inspecting, and whether it was within the budget.
fn cost(report: &Report) -> String {
    let took = duration(report.cost_seconds + report.besides_seconds);
    let Some(budget) = report.budget else {
        // Without a budget, the cost is only an estimate, and is not compared with the program's
        // time.
        return format!("  inspecting took about {took} of processor time\n");
    };
    let Some(slowdown) = report.slowdown() else { return String::new() };
    let mut text = format!(
        "  inspecting took {took} of processor time: {} of the program's own {}\n",
        percent(slowdown),
        duration(report.program_seconds),
    );
    if slowdown > budget {
        let besides = report.besides_seconds / report.program_seconds;
        let why = if besides > budget / 2.0 {
            format!("starting and counting alone took {}", percent(besides))
        } else {
            "the run was too short for the sections that were traced".to_owned()
        };
        // Writing to a text never fails.
        let _ = writeln!(text, "  the budget of {} could not be kept: {why}", percent(budget));
    }
    text
}

/// Why no critical section was traced.
fn why_nothing_was_traced(report: &Report) -> String {
    let acquisitions = report.untraced_acquisitions;
    if report.left_alone.is_some() && acquisitions == 0 {
        return "it acquired no lock before that".to_owned();
    }
    if acquisitions == 0 {
        return "it acquired no lock through the C library".to_owned();
    }
    let locks = counted(report.untraced_locks as usize, "lock");
    format!(
        "none of {} of {locks} was at a selected call site or of a selected lock, or the budget \
         allowed none",
        counted(acquisitions as usize, "acquisition"),
    )
}

/// The line about locks that have no traced section. It is empty if there are no such locks.
fn untraced(report: &Report) -> String {
    if report.untraced_locks == 0 {
        return String::new();
    }
    let acquisitions = report.untraced_acquisitions;
    let mut text = format!(
        "  {}, with {} {}, had no section traced",
        counted(report.untraced_locks as usize, "more lock"),
        count(acquisitions),
        of_so_many(acquisitions as usize, "acquisition"),
    );
    if let Some(longest) = &report.untraced_longest {
        let waited = duration(report.untraced_waited_seconds);
        // Writing to a text never fails.
        let _ = write!(text, "; threads waited {waited} for them, longest for {longest}");
    }
    text + "\n"
}

/// The length of a run, or the size of a budget, that a result on this lock would need.
fn too_few(lock: &TooFew, report: &Report) -> String {
    let TooFew { traced, acquisitions, enough, enough_seconds, .. } = *lock;
    let share = lock.waited_seconds / report.thread_seconds.max(f64::MIN_POSITIVE);
    let mut text = format!(
        "  too few sections of {} were traced: {} of {} {}. Threads waited {} of their time for it. A result needs \
         {} sections, and so a run of about {}",
        lock.lock,
        count(traced),
        count(acquisitions),
        of_so_many(acquisitions as usize, "acquisition"),
        percent(share),
        count(enough),
        duration(enough_seconds),
    );
    if report.budget.is_some() {
        text.push_str(" with this budget");
    }
    match lock.enough_budget.map(|budget| (100.0 * budget).ceil()) {
        Some(budget) if budget <= LARGEST_BUDGET => {
            // Writing to a text never fails.
            let _ = write!(text, ", or --budget {budget} and a run as long as this one");
        }
        // Instead of a larger budget than this, the text proposes to trace everything.
        _ if report.budget.is_some() && acquisitions >= enough => {
            text.push_str(", or --budget 0 and a run as long as this one");
        }
        _ => {}
    }
    text + "\n"
}

fn all_locks(report: &Report) -> String {
    let (Some(mean), Some(busy), Some(busy_of_15)) =
        (report.independence, report.processors_busy, report.processors_busy_of_15)
    else {
        return "  no two sections of one lock could be compared\n".to_owned();
    };
    let weight = match report.weighted_by_instructions {
        true => "instructions",
        false => "the time held",
    };
    let uncertainty = report.independence_uncertainty;
    if uncertainty > KNOWN {
        return "  too few pairs of sections were compared for a mean over all locks\n".to_owned();
    }
    format!(
        "  {} ± {} of pairs of sections are independent, weighted by {weight}: if sections ran \
         optimistically, they could keep {busy:.1} of {} busy here, and {busy_of_15:.1} if there \
         were 15\n",
        percent(mean),
        percent(uncertainty),
        counted(report.processors, "processor"),
    )
}

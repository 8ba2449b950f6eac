//! What a trace says, for a person: the locks that matter most, each in a paragraph, then the
//! tables.

use std::fmt::Write as _;

use syncline_analysis::report::number::{count, counted, duration, grouped, percent};
use syncline_independence::{Advice, Lock, Proposal, Report, Site};

use super::tables;
use super::wrap::wrapped;

/// Locks that get a paragraph: three fill a screen.
const DETAILED: usize = 3;
/// Lines and fields that a paragraph names.
const NAMED: usize = 3;

/// The report on one process.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a text never fails.
    let _ = writeln!(text, "{} (process {})", report.command.join(" "), report.pid);
    if let Some(why) = &report.left_alone {
        let _ = writeln!(text, "  was left alone: {why}");
    }
    if report.traced == 0 {
        let _ = writeln!(text, "  no critical section was traced");
        return text;
    }
    let share = report.traced as f64 / report.acquisitions.max(1) as f64;
    let _ = writeln!(
        text,
        "  {} of {}{} acquisitions traced ({})",
        count(report.traced),
        about(report.acquisitions_estimated),
        count(report.acquisitions),
        percent(share),
    );
    text.push_str(&cost(report));
    if report.dropped > 0 {
        let dropped = count(report.dropped);
        let _ = writeln!(
            text,
            "  tracing stopped where {dropped} records found no room: give more with --max-size"
        );
    }
    text.push_str(&all_locks(report));
    // What there is most to win by comes first.
    let mut order: Vec<&Lock> = report.locks.iter().collect();
    let saves = |lock: &Lock| lock.advice.first().map_or(0.0, |p| p.saves_at_most);
    order.sort_by(|a, b| saves(b).total_cmp(&saves(a)));
    for (number, lock) in order.iter().take(DETAILED).enumerate() {
        text.push('\n');
        text.push_str(&paragraph(number + 1, lock, report));
    }
    let mut text = wrapped(&text);
    text.push('\n');
    text.push_str(&tables::contended(report));
    text.push('\n');
    text.push_str(&tables::window(report));
    text
}

/// What inspecting has cost, and whether that is within the budget.
fn cost(report: &Report) -> String {
    let took = duration(report.cost_seconds + report.besides_seconds);
    let Some(budget) = report.budget else {
        // An estimate, of which nothing is to be taken off.
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

fn all_locks(report: &Report) -> String {
    let (Some(mean), Some(busy), Some(busy_of_15)) =
        (report.independence, report.processors_busy, report.processors_busy_of_15)
    else {
        return "  no two threads were seen in sections of one lock\n".to_owned();
    };
    let weight = match report.weighted_by_instructions {
        true => "instructions",
        false => "the time held",
    };
    format!(
        "  {} of pairs of sections are independent, weighted by {weight}: run optimistically, they\n  \
         could keep {busy:.1} of {} busy here, and {busy_of_15:.1} of 15\n",
        percent(mean),
        counted(report.processors, "processor"),
    )
}

/// A lock: what to do, and why.
fn paragraph(number: usize, lock: &Lock, report: &Report) -> String {
    let mut lines = Vec::new();
    lines.push(format!("{number}. {}", title(lock)));
    for proposal in &lock.advice {
        lines.push(format!("   => {}", advice(proposal, lock)));
    }
    let share = lock.waited_seconds / report.thread_seconds.max(f64::MIN_POSITIVE);
    lines.push(format!(
        "   {}{} acquisitions, {} of them waited: {} ({} of the threads' time); held {}",
        about(lock.acquisitions_estimated),
        count(lock.acquisitions),
        percent(lock.contended as f64 / lock.acquisitions.max(1) as f64),
        duration(lock.waited_seconds),
        percent(share),
        duration(lock.held_seconds),
    ));
    lines.extend(independence(lock));
    lines.extend(causes(lock));
    for site in lock.sites.iter().take(NAMED) {
        lines.extend(sections(site));
    }
    if let Some(more) = lock.sites.len().checked_sub(NAMED).filter(|&n| n > 0) {
        lines.push(format!("   and {} more", counted(more, "call site")));
    }
    lines.join("\n") + "\n"
}

/// What stands before a number that is an estimate.
fn about(estimated: bool) -> &'static str {
    if estimated { "about " } else { "" }
}

/// What a lock is called.
pub fn title(lock: &Lock) -> String {
    let place = lock.sites.first().map_or("unknown place", |site| &site.place);
    let name = lock.name.as_deref().unwrap_or(&lock.address);
    match lock.locks {
        1 => format!("{name}, taken at {place}"),
        n => format!("{} taken at {place}", counted(n, "lock")),
    }
}

fn independence(lock: &Lock) -> Vec<String> {
    if lock.window.pairs == 0 {
        return vec![match lock.threads {
            1 => "   only one thread was seen in its traced sections".to_owned(),
            _ => "   too few sections were traced to compare any".to_owned(),
        }];
    }
    let mut line = format!(
        "   {} ± {} of {} pairs of sections are independent",
        percent(1.0 - lock.window.conflicting),
        percent(lock.window.uncertainty),
        count(lock.window.pairs),
    );
    if lock.contended_pairs.pairs > 0 {
        let _ = write!(
            line,
            "; of those that waited for each other {}",
            percent(1.0 - lock.contended_pairs.conflicting)
        );
    }
    let mut lines = vec![line];
    if lock.pieces > 1 {
        lines.push(format!(
            "   this one lock guards {} independent {} of data, the largest in {} of sections",
            grouped(lock.pieces),
            "pieces",
            percent(lock.largest_piece),
        ));
        if lock.locks > 1 {
            lines.pop();
            lines.push(format!("   together they guard {} pieces of data", grouped(lock.pieces)));
        }
    }
    lines
}

fn causes(lock: &Lock) -> Vec<String> {
    let Some(first) = lock.causes.first() else { return Vec::new() };
    let at = |cause: &syncline_independence::NamedCause| match (&cause.written_at, &cause.read_at) {
        (Some(line), _) => format!(", written at {line}"),
        (None, Some(line)) => format!(", read at {line}"),
        (None, None) => String::new(),
    };
    if first.share >= 0.9995 && first.alone >= 0.9995 {
        return vec![format!("   all conflicts are on {}{}", first.field, at(first))];
    }
    let mut lines = Vec::new();
    for cause in lock.causes.iter().take(NAMED) {
        lines.push(format!(
            "   {} of conflicts are on {}{} ({} on nothing else)",
            percent(cause.share),
            cause.field,
            at(cause),
            percent(cause.alone),
        ));
    }
    if lock.cause_fields > NAMED {
        let more = counted(lock.cause_fields - NAMED, "more field");
        lines.push(format!("   and on {more}"));
    }
    lines
}

fn sections(site: &Site) -> Vec<String> {
    let mut lines = vec![
        format!(
            "   at {}: {} instructions (median; 9 of 10 up to {}, at most {})",
            site.place,
            count(site.instructions.median),
            count(site.instructions.p90),
            count(site.instructions.max),
        ),
        format!(
            "      {} access memory, {} what several threads access; {:.1} words: {:.1} read, {:.1} \
             written, {:.1} shared",
            percent(site.memory_share),
            percent(site.shared_share),
            site.words,
            site.words_read,
            site.words_written,
            site.words_shared,
        ),
    ];
    let many = site.unshared_lines.iter().take(NAMED).filter(|line| line.share >= 0.05);
    let many: Vec<String> =
        many.map(|line| format!("{} ({})", line.place, percent(line.share))).collect();
    if !many.is_empty() {
        lines.push(format!("      touches nothing shared: {}", many.join(", ")));
    }
    let mut inside = Vec::new();
    if site.allocating > 0 {
        inside.push(format!("allocates or frees in {}", of_traced(site.allocating, site)));
    }
    if !site.system_calls.is_empty() {
        let calls = site.system_calls.iter().take(NAMED);
        let calls: Vec<String> =
            calls.map(|(name, n)| format!("{name} in {}", of_traced(*n, site))).collect();
        inside.push(format!("calls the system: {}", calls.join(", ")));
    }
    if site.stopped > 0 {
        inside.push(format!("tracing stopped in {}", of_traced(site.stopped, site)));
    }
    if !inside.is_empty() {
        lines.push(format!("      {}", inside.join("; ")));
    }
    lines
}

fn of_traced(sections: u64, site: &Site) -> String {
    percent(sections as f64 / site.traced.max(1) as f64)
}

fn advice(proposal: &Proposal, lock: &Lock) -> String {
    let what = match proposal.advice {
        Advice::NothingShared => {
            "no traced section touched what another thread touched: the lock may not be needed"
                .into()
        }
        Advice::AlreadyAtomic => {
            "sections write by atomic instructions only: the lock may not be needed".into()
        }
        Advice::UseAtomic => "one shared word is all it guards: use an atomic operation".into(),
        Advice::Shard { pieces } => {
            format!("shard it: {} pieces of data, and one lock", grouped(pieces))
        }
        Advice::LetReadersShare => {
            "sections mostly read: use a lock for readers and writers, or a sequence lock".into()
        }
        Advice::UseOptimistic => {
            "sections are mostly independent: use transactions or an optimistic lock".into()
        }
        Advice::SplitField { independence_without, pieces_without } => format!(
            "split {} off: without it {} of pairs are independent{}",
            lock.causes.first().map_or("the first field", |cause| &cause.field),
            percent(independence_without),
            match pieces_without {
                0 | 1 => String::new(),
                n => format!(", in {} pieces", grouped(n)),
            }
        ),
        Advice::Shorten { share } => {
            format!("shorten the section: {} of it touches nothing shared", percent(share))
        }
        Advice::Leave if proposal.io => {
            return "leave it: sections do input or output, whose order memory does not show"
                .into();
        }
        Advice::Leave => "leave it: its sections depend on each other".into(),
        Advice::TooFewSections => {
            return "too few sections of different threads were traced to say".into();
        }
    };
    let io = if proposal.io { "; mind that sections do input or output" } else { "" };
    if matches!(proposal.advice, Advice::Leave) {
        return format!("{what}{io}");
    }
    format!(
        "{what}{io}\n      saves at most {} of waiting, {} of the threads' time",
        duration(proposal.saves_at_most),
        percent(proposal.share_of_thread_time),
    )
}

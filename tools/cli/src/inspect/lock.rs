//! The paragraph on one lock: what to do about it, how its critical sections depend on each other,
//! and what they do.

use std::fmt::Write as _;

use syncline_conflicts::{Advice, Distribution, Lock, NamedCause, Proposal, Report, Site};
use syncline_present::number::{count, counted, duration, grouped, of_so_many, percent};

/// The most call sites, lines, fields, system calls and kinds of data that a paragraph lists.
const NAMED: usize = 3;
/// If even the first cause has less than this share of all conflicts, the paragraph only says that
/// conflicts are spread.
const WORTH_NAMING: f64 = 0.1;
/// Data with less than this share of what the sections touch is not listed.
const LITTLE: f64 = 0.005;

/// The paragraph on a lock: its name, what to do, and the reasons.
pub fn paragraph(number: usize, lock: &Lock, report: &Report) -> String {
    let mut lines = Vec::new();
    lines.push(format!("{number}. {}", title(lock)));
    for proposal in &lock.advice {
        lines.push(format!("   => {}", advice(proposal, lock)));
    }
    let share = lock.waited_seconds / report.thread_seconds.max(f64::MIN_POSITIVE);
    let mut line = format!(
        "   {}{} {}, {} of them waited: {} ({} of the threads' time)",
        about(lock.acquisitions_estimated, report.cut_short),
        count(lock.acquisitions),
        of_so_many(lock.acquisitions as usize, "acquisition"),
        percent(lock.contended as f64 / lock.acquisitions.max(1) as f64),
        duration(lock.waited_seconds),
        percent(share),
    );
    if lock.held_seconds > 0.0 {
        let _ = write!(line, "; held {}", duration(lock.held_seconds));
    }
    lines.push(line);
    lines.extend(independence(lock));
    lines.extend(data(lock));
    lines.extend(causes(lock));
    for site in lock.sites.iter().take(NAMED) {
        lines.extend(sections(site));
    }
    if let Some(more) = lock.sites.len().checked_sub(NAMED).filter(|&n| n > 0) {
        lines.push(format!("   and {} more", counted(more, "call site")));
    }
    lines.join("\n") + "\n"
}

/// The words that stand before a number if it is an estimate or a lower bound.
pub fn about(estimated: bool, at_least: bool) -> &'static str {
    match (at_least, estimated) {
        (true, _) => "at least ",
        (false, true) => "about ",
        (false, false) => "",
    }
}

/// The short name of a lock. For a single lock with a name, it leaves out the call site.
pub fn short_title(lock: &Lock) -> String {
    match (lock.locks, &lock.name) {
        (1, Some(name)) => name.clone(),
        _ => title(lock),
    }
}

/// The name of a lock, or the number of locks, with the call site that acquires them.
pub fn title(lock: &Lock) -> String {
    let place = lock.sites.first().map_or("an unknown call site", |site| &site.place);
    let name = lock.name.as_deref().or(lock.lies.as_deref()).unwrap_or(&lock.address);
    match lock.locks {
        1 => format!("{name}, taken at {place}"),
        n => format!("{} taken at {place}", counted(n, "lock")),
    }
}

fn independence(lock: &Lock) -> Vec<String> {
    if lock.window.pairs == 0 {
        let stopped = lock.sites.iter().map(|site| site.stopped).sum::<u64>();
        return vec![match lock.threads {
            1 => "   only one thread was seen in its traced sections".to_owned(),
            _ if stopped == lock.traced => {
                "   none of its sections was traced to its end, so none could be compared"
                    .to_owned()
            }
            // The advice already says that too few sections were traced.
            _ if lock.advice.iter().any(|one| matches!(one.advice, Advice::TooFewSections)) => {
                return Vec::new();
            }
            _ => "   too few sections were traced to compare any".to_owned(),
        }];
    }
    let mut line = format!(
        "   {} ± {} of {} {} of sections {} independent",
        percent(1.0 - lock.window.conflicting),
        percent(lock.window.uncertainty),
        count(lock.window.pairs),
        of_so_many(lock.window.pairs as usize, "pair"),
        if lock.window.pairs == 1 { "is" } else { "are" },
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
        let pieces = grouped(lock.pieces);
        lines.push(match lock.locks {
            1 => format!(
                "   this one lock guards {pieces} independent pieces of data, the largest in {} of \
                 sections",
                percent(lock.largest_piece),
            ),
            _ => format!("   together they guard {pieces} pieces of data"),
        });
    }
    lines
}

/// The objects that the data of the sections belongs to.
fn data(lock: &Lock) -> Option<String> {
    let worth_naming = lock.data.iter().filter(|data| data.share >= LITTLE);
    let named = worth_naming.take(NAMED).map(|data| {
        let blocks = match data.blocks {
            0 => String::new(),
            1 => "a block of ".to_owned(),
            n => format!("{} blocks of ", grouped(n)),
        };
        let what = data.what.strip_prefix("blocks of ").filter(|_| data.blocks > 0);
        format!("{blocks}{} ({})", what.unwrap_or(&data.what), percent(data.share))
    });
    let mut named: Vec<String> = named.collect();
    if lock.data.get(NAMED).is_some_and(|data| data.share >= LITTLE) {
        named.push(format!("and {} more", lock.data_kinds - NAMED));
    }
    (!named.is_empty()).then(|| format!("   touches {}", named.join(", ")))
}

fn causes(lock: &Lock) -> Vec<String> {
    let Some(first) = lock.causes.first() else { return Vec::new() };
    let at = |cause: &NamedCause| match (&cause.written_at, &cause.read_at) {
        (Some(line), _) => format!(", written at {line}"),
        (None, Some(line)) => format!(", read at {line}"),
        (None, None) => String::new(),
    };
    if first.share >= 0.9995 && first.alone >= 0.9995 {
        return vec![format!("   all conflicts are on {}{}", first.field, at(first))];
    }
    if first.share < WORTH_NAMING {
        return vec![format!(
            "   conflicts are spread over {}: the largest part, {}, is on {}{}",
            counted(lock.cause_fields, "field"),
            percent(first.share),
            first.field,
            at(first),
        )];
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
    let mut lines = vec![format!("   at {}: {}", site.place, length(site))];
    lines.push(format!(
        "      {} access memory, {} access shared data",
        percent(site.memory_share),
        percent(site.shared_share),
    ));
    if site.stopped < site.traced
        && let Some(line) = lines.last_mut()
    {
        let _ = write!(
            line,
            "; {:.1} words: {:.1} read, {:.1} written, {:.1} shared",
            site.words, site.words_read, site.words_written, site.words_shared,
        );
    }
    let many = site.unshared_lines.iter().take(NAMED).filter(|line| line.share >= 0.05);
    let many: Vec<String> =
        many.map(|line| format!("{} ({})", line.place, percent(line.share))).collect();
    if !many.is_empty() {
        lines.push(format!("      without shared data: {}", many.join(", ")));
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
        let why = |(why, n): &(String, u64)| format!("{} because of {why}", of_traced(*n, site));
        let why: Vec<String> = site.stops.iter().map(why).collect();
        inside.push(format!("sections not traced to their end: {}", why.join(", ")));
    }
    if !inside.is_empty() {
        lines.push(format!("      {}", inside.join("; ")));
    }
    lines
}

/// The number of instructions in a section. If tracing stopped early in every section, it is the
/// mean number of instructions that were traced.
fn length(site: &Site) -> String {
    if site.stopped == site.traced {
        let each = site.total_instructions / site.traced.max(1);
        return format!("{} instructions or more, on average", count(each));
    }
    let Distribution { median, p90, max, .. } = site.instructions;
    if median == max {
        return format!(
            "{} {} (median and maximum)",
            count(max),
            of_so_many(max as usize, "instruction")
        );
    }
    let (median, p90, max) = (count(median), count(p90), count(max));
    format!("{median} instructions (median; 9 of 10 up to {p90}, at most {max})")
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
            "sections write only with atomic instructions: the lock may not be needed".into()
        }
        Advice::UseAtomic => "it guards only one shared word: use an atomic operation".into(),
        Advice::Shard { pieces } => {
            format!("shard it: one lock guards {} pieces of data", grouped(pieces))
        }
        Advice::LetReadersShare => {
            "sections mostly read: use a lock for readers and writers, or a sequence lock".into()
        }
        Advice::UseOptimistic => {
            "sections are mostly independent: use transactions or an optimistic lock".into()
        }
        Advice::SplitField { independence_without, pieces_without } => format!(
            "split {} off: without it {} of the pairs of sections are independent{}",
            lock.causes.first().map_or_else(|| "the first field".to_owned(), NamedCause::to_split),
            percent(independence_without),
            match pieces_without {
                0 | 1 => String::new(),
                n => format!(", and the lock guards {} separate pieces of data", grouped(n)),
            }
        ),
        Advice::Shorten { share } => {
            format!("shorten the section: {} of it accesses no shared data", percent(share))
        }
        Advice::Leave if proposal.io => {
            return "leave it: sections do input or output, and a trace does not show its order"
                .into();
        }
        Advice::Leave => "leave it: its sections depend on each other".into(),
        Advice::TooFewSections => {
            return "too few sections of different threads were traced: run it longer, name the lock \
                    with --lock, or raise --budget"
                .into();
        }
    };
    let io = if proposal.io { "; note that sections do input or output" } else { "" };
    if matches!(proposal.advice, Advice::Leave) {
        return format!("{what}{io}");
    }
    format!(
        "{what}{io}\n      saves at most {} of waiting, {} of the threads' time",
        duration(proposal.saves_at_most),
        percent(proposal.share_of_thread_time),
    )
}

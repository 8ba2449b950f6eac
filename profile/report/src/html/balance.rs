//! Load balance: a bar for each thread shows how it spent its time. Threads with the same start
//! function form a group. If a finding proposes how many threads each group should have, a table
//! shows its proposal.

use std::collections::BTreeMap;
use std::fmt::Write;

use syncline_analysis::model::{Group, Process, Remedy, Thread, Times};
use syncline_analysis::name::{self, Origin};
use syncline_present::page::Escaped;
use syncline_present::page::number::{counted, duration, percent};

/// The most bars that a group may have. If a group has more threads, the last bar is the mean of
/// the remaining threads.
const BARS: usize = 24;
/// The most groups that are shown.
const GROUPS: usize = 12;

const WIDTH: f64 = 520.0;
/// Room for a thread's name.
const NAME: f64 = 180.0;
const BAR: f64 = 14.0;
const STEP: f64 = 18.0;

/// The section about load balance.
pub fn section(process: &Process) -> String {
    let mut groups: BTreeMap<Option<Origin>, Vec<&Thread>> = BTreeMap::new();
    for thread in &process.threads {
        groups.entry(name::origin(process, thread)).or_default().push(thread);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|a, b| lived(&b.1).total_cmp(&lived(&a.1)));
    let longest = process.threads.iter().map(|t| t.seconds).fold(f64::MIN_POSITIVE, f64::max);
    let mut html = assignment(process);
    html += &legend();
    for (origin, threads) in groups.iter().take(GROUPS) {
        html += &bars(origin.as_ref(), threads, longest);
    }
    match groups.len().saturating_sub(GROUPS) {
        0 => html,
        more => {
            format!("{html}<p class=\"empty\">And {}.</p>\n", counted(more, "more kind"))
        }
    }
}

fn lived(threads: &[&Thread]) -> f64 {
    threads.iter().map(|thread| thread.seconds).sum()
}

/// The colours of the kinds of time, in the order of [`Times::kinds`].
const COLOURS: [&str; 8] = ["run", "ready", "wait", "spin", "futex", "event", "kernel", "unknown"];

fn legend() -> String {
    let kinds = Times::default().kinds();
    let key = |(class, (_, words)): (&str, (f64, &str))| {
        format!("<span class=\"key {class}\"></span> {words} ")
    };
    let keys: String = COLOURS.into_iter().zip(kinds).map(key).collect();
    format!("<p class=\"legend\">{keys}</p>\n")
}

fn mean<'a>(threads: impl ExactSizeIterator<Item = &'a Times>) -> Times {
    let count = threads.len().max(1) as f64;
    Times::sum(threads.copied()).over(count)
}

/// A bar for each thread of a group, the thread with most time on a processor first.
fn bars(origin: Option<&Origin>, threads: &[&Thread], longest: f64) -> String {
    let mut lines: Vec<(String, Times)> = threads
        .iter()
        .map(|thread| (format!("{} {}", thread.name, thread.tid), thread.times))
        .collect();
    lines.sort_by(|a, b| b.1.running.total_cmp(&a.1.running));
    if lines.len() > BARS {
        let rest = lines.split_off(BARS - 1);
        let times = mean(rest.iter().map(|(_, times)| times));
        lines.push((format!("{} others, their mean", rest.len()), times));
    }
    let mean = mean(threads.iter().map(|thread| &thread.times));
    let title = name::title(origin);
    let each = if threads.len() == 1 { "" } else { "each on average " };
    let (width, height) = (WIDTH + NAME, lines.len() as f64 * STEP);
    let mut html = format!(
        "<figure class=\"group\"><figcaption><b>{}</b> {}, {each}{} on a processor and {} waiting for \
         locks</figcaption>\n<svg class=\"bars\" role=\"img\" aria-label=\"What each thread did with its \
         time; the table of threads has the numbers\" width=\"{width}\" \
         height=\"{height:.0}\" viewBox=\"0 0 {width} {height:.0}\">",
        Escaped(&title),
        counted(threads.len(), "thread"),
        duration(mean.running),
        duration(mean.locks)
    );
    for (line, (name, times)) in lines.iter().enumerate() {
        let y = line as f64 * STEP;
        let _ =
            write!(html, "<text x=\"0\" y=\"{:.1}\">{}</text>", y + 12.0, Escaped(&short(name)));
        let mut x = NAME;
        for (class, (seconds, words)) in COLOURS.into_iter().zip(times.kinds()) {
            let width = (seconds / longest * WIDTH).min(width - x).max(0.0);
            if width > 0.05 {
                let _ = write!(
                    html,
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                     height=\"{BAR}\"><title>{words} {}</title></rect>",
                    duration(seconds)
                );
                x += width;
            }
        }
    }
    html + "</svg></figure>\n"
}

fn short(name: &str) -> String {
    match name.chars().count() {
        0..=26 => name.to_owned(),
        _ => name.chars().take(25).chain(['…']).collect(),
    }
}

/// The tables of how many threads each group has and should have, one for each finding that
/// proposes such numbers; empty if no finding does.
fn assignment(process: &Process) -> String {
    let mut html = String::new();
    for finding in &process.findings {
        let Remedy::Rebalance { groups } = &finding.remedy else { continue };
        html += "<div class=\"scroll assignment\"><table><caption>Proposed assignment of threads</caption><thead>\
                 <tr><th scope=\"col\">threads</th><th scope=\"col\" class=\"n\">now</th>\
                 <th scope=\"col\" class=\"n\">proposed</th><th scope=\"col\" class=\"n\">work</th>\
                 <th scope=\"col\" class=\"n\">share</th><th scope=\"col\" class=\"n\">busiest</th>\
                 </tr></thead><tbody>";
        let all: f64 = groups.iter().map(|group| group.work).sum();
        groups.iter().for_each(|group| row(&mut html, group, all));
        html += "</tbody></table></div>\n";
    }
    html
}

fn row(html: &mut String, group: &Group, all: f64) {
    let changed = if group.proposed == group.threads { "" } else { " changed" };
    let share = if all > 0.0 { group.work / all } else { 0.0 };
    let _ = write!(
        html,
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n{changed}\">{}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        Escaped(&group.origin),
        group.threads,
        group.proposed,
        duration(group.work),
        percent(share),
        duration(group.busiest)
    );
}

//! Formats the comparison as tables for docs/locks.md.

use std::fmt::Write as _;

use syncline_sim::Machine;

use super::published::{PUBLISHED, Ratio, simulated};
use super::rates::{Rate, rates};
use super::situation::{DEFAULT, MACHINES, SITUATIONS, Situation, UNFAIR};
use crate::figures::sentence::number;
use crate::lab::Lab;

/// `syncline-today` writes the text of docs/locks.md between these two marks.
pub const MARKS: [&str; 2] =
    ["<!-- machines of today -->\n", "<!-- end of machines of today -->\n"];

/// The advice and the simulation differ if the best lock is more than this many times as fast as
/// the best advised lock. The simulator can't predict smaller differences between two locks
/// (docs/study.md).
const DIFFERS: f64 = 1.25;

/// All measurements, in the order of [`SITUATIONS`], [`MACHINES`] and [`PUBLISHED`].
#[derive(Clone, Debug)]
pub struct Measured {
    /// Rates by situation and machine; `None` if the situation does not exist on the machine.
    pub rates: Vec<Vec<Option<Vec<Rate>>>>,
    /// The simulated ratios.
    pub ratios: Vec<f64>,
}

impl Measured {
    /// Makes all measurements. `step` is called before each part with the part's name.
    ///
    /// # Panics
    /// If a machine is not built in.
    pub fn of(lab: &Lab, mut step: impl FnMut(&str)) -> Measured {
        let machines = MACHINES.map(|name| Machine::named(name).expect("it is built in"));
        let mut row = |situation: &Situation| {
            step(situation.name);
            machines.iter().map(|machine| rates(lab, machine, situation)).collect()
        };
        let rates = SITUATIONS.iter().map(&mut row).collect();
        step("published ratios");
        Measured { rates, ratios: PUBLISHED.iter().map(|ratio| simulated(lab, ratio)).collect() }
    }
}

fn best(rates: &[Rate], may: impl Fn(&str) -> bool) -> Option<&Rate> {
    let known = rates.iter().filter(|rate| may(rate.lock));
    known.max_by(|a, b| a.mean().total_cmp(&b.mean()))
}

/// The text of a cell: the speed of the best lock relative to the default, with the spread over the
/// seeds. If the best advised lock is not the best lock, the speed of the advised lock follows.
fn cell(situation: &Situation, rates: &[Rate], starves: bool) -> Option<String> {
    let default = best(rates, |lock| lock == DEFAULT)?;
    let first = best(rates, |lock| starves || !UNFAIR.contains(&lock))?;
    let advice = situation.advice[usize::from(!starves)];
    let advised = best(rates, |lock| advice.contains(&lock))?;
    let [least, mean, most] = first.over(default).map(ratio);
    let mut text = format!("`{}` {mean} ({least} to {most})", first.lock);
    if advised.lock != first.lock {
        let [_, mean, _] = advised.over(default).map(ratio);
        let mark = if first.mean() > DIFFERS * advised.mean() { "**" } else { "" };
        let _ = write!(text, "; {mark}`{}` {mean}{mark}", advised.lock);
    }
    Some(text)
}

fn ratio(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { number(value) }
}

/// Formats the tables.
pub fn markdown(measured: &Measured) -> String {
    let mut text = String::new();
    for (title, starves) in [("Waiters may starve", true), ("No waiter may starve", false)] {
        let head = MACHINES.join(" | ");
        let _ = write!(text, "| {title} | {head} |\n|---{}|\n", "|---".repeat(MACHINES.len()));
        for (situation, row) in SITUATIONS.iter().zip(&measured.rates) {
            let cells = row.iter().map(|found| {
                let cell = found.as_ref().and_then(|rates| cell(situation, rates, starves));
                cell.unwrap_or_else(|| "-".to_owned())
            });
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(text, "| {} | {} |", situation.name, cells.join(" | "));
        }
        text.push('\n');
    }
    text.push_str("Measured by others (the text below the table says when a ratio *holds*):\n\n");
    text.push_str(
        "| source | what | threads | published | simulated on | simulated ratio | verdict |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|\n");
    for (published, &found) in PUBLISHED.iter().zip(&measured.ratios) {
        let Ratio { source, what, machine, first, second, published: there, .. } = published;
        let verdict = if published.holds(found) { "holds" } else { "misses" };
        let threads = match first.1 == second.1 {
            true => first.1.to_string(),
            false => format!("{}, {}", first.1, second.1),
        };
        let _ = writeln!(
            text,
            "| {source} | {what} | {threads} | {} | {machine}: `{}`, `{}` | {} | {verdict} |",
            ratio(*there),
            first.0,
            second.0,
            ratio(found)
        );
    }
    text
}

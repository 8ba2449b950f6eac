//! Sections 5.3 and 6.1.2: the ticket lock's implementations (S4), and locks under extreme and
//! very low contention (S8, S9).

use super::check::{Part, SAME, median, near, that};
use crate::figure::{Book, Panel};
use crate::figures::sentence::number;
use crate::stress::contenders::EAGER;
use crate::target::MACHINES;

/// S4: "far below" means at most this share of the cycles.
const FAR_BELOW: f64 = 2.0 / 3.0;
/// S4: the cores of the Opteron.
const ALL: usize = 48;

/// Checks S4.
pub fn ticket(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("figure-3", "opteron") else { return Vec::new() };
    let at = |name, threads| panel.value(name, threads).unwrap_or(f64::NAN);
    let [eager, ticket, prefetch] = [EAGER, "ticket", "ticket_prefetch"].map(|name| at(name, ALL));
    vec![
        near("cycles without back-off", eager, 720_000.0, 0.25),
        that("far below with back-off", ticket < eager * FAR_BELOW, number(ticket), "far below"),
        that("better again with prefetch", prefetch < ticket, number(prefetch), "better"),
        near("with prefetch, times as fast on 48 cores", ticket / prefetch, 2.0, 0.25),
    ]
}

const SPIN: [&str; 3] = ["tas", "ttas", "ticket"];
const QUEUE: [&str; 2] = ["mcs", "clh"];
const HIERARCHICAL: [&str; 2] = ["hclh", "hticket"];
const MULTI: [&str; 2] = ["opteron", "xeon"];
const SINGLE: [&str; 2] = ["niagara", "tilera"];
/// "An order of magnitude" means nearer to ten times than to once or to a hundred times, on a
/// logarithmic scale.
const MAGNITUDE: (f64, f64) = (3.16, 31.6);

/// The name and the throughput of the best of these locks; "nothing" and NaN if none was measured.
fn best<'a>(panel: &Panel, names: &[&'a str], threads: usize) -> (&'a str, f64) {
    let values = names.iter().filter_map(|&name| Some((name, panel.value(name, threads)?)));
    values.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("nothing", f64::NAN))
}

/// Whether the best of these locks is the best of all locks, or as good as the best; and a text
/// about the two.
fn are_best(panel: &Panel, names: &[&str], threads: usize) -> (bool, String) {
    let (ours, all) =
        (best(panel, names, threads), panel.best(threads).unwrap_or(("nothing", f64::NAN)));
    let told = format!("{} {}, best {} {} Mops/s", ours.0, number(ours.1), all.0, number(all.1));
    (ours.1 >= all.1 * (1.0 - SAME), told)
}

/// Checks S8.
pub fn one_lock(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for machine in MULTI.into_iter().chain(SINGLE) {
        let Some(panel) = book.panel("figure-5", machine) else { continue };
        let all = panel.last();
        let (what, names, paper) = match machine {
            "xeon" => ("hierarchical locks are best", HIERARCHICAL, "best"),
            _ => ("MCS or CLH is best", QUEUE, "most resilient"),
        };
        let (holds, ours) = are_best(panel, &names, all);
        parts.push(that(format!("{machine}: {what}"), holds, ours, paper));
        let (spin, value) = best(panel, &SPIN, all);
        let ours = format!("{spin} {} Mops/s", number(value));
        parts.push(that(
            format!("{machine}: ticket is the best spin lock"),
            spin == "ticket",
            ours,
            "ticket",
        ));
        let falls = panel.series.iter().filter_map(|s| Some(s.value(1)? / s.value(all.min(4))?));
        let falls = median(falls);
        let ours = format!("one core {} times four", number(falls));
        let (what, holds) = if MULTI.contains(&machine) {
            ("an order of magnitude", (MAGNITUDE.0..=MAGNITUDE.1).contains(&falls))
        } else {
            ("comparable", falls < MAGNITUDE.0)
        };
        parts.push(that(format!("{machine}: {what} from one core to more"), holds, ours, what));
    }
    parts
}

/// S9: differences "vanish" if the greatest throughput is above the least one by at most this
/// share.
const VANISHES: f64 = 0.25;
/// Locks that consist of one or two words.
const SIMPLE: [&str; 4] = ["tas", "ttas", "ticket", "futex"];

/// Checks S9.
pub fn many_locks(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for machine in MACHINES {
        let Some(panel) = book.panel("figure-7", machine) else { continue };
        let all = panel.last();
        if machine == "xeon" {
            let names = ["tas", "ttas", "ticket", "mcs", "clh", "anderson"];
            let values = names.iter().filter_map(|name| panel.value(name, all));
            let (least, most) = values.fold((f64::INFINITY, 0.0), |(l, m), v| (v.min(l), v.max(m)));
            let ours = format!("{} to {} Mops/s", number(least), number(most));
            let holds = most <= least * (1.0 + VANISHES);
            parts.push(that("xeon: differences vanish", holds, ours, "insignificant"));
        } else {
            let (holds, ours) = are_best(panel, &["ticket"], all);
            parts.push(that(format!("{machine}: ticket is best"), holds, ours, "best"));
        }
        let (simple, queue) = (best(panel, &SIMPLE, all), best(panel, &QUEUE, all));
        let ours = format!("{} {}, {} {}", simple.0, number(simple.1), queue.0, number(queue.1));
        let holds = simple.1 >= queue.1 * (1.0 - SAME);
        parts.push(that(
            format!("{machine}: simple locks match queue locks"),
            holds,
            ours,
            "match or beat",
        ));
    }
    parts
}

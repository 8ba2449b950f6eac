//! Section 8: the two-socket machines (S19).

use super::check::{Part, SAME, that};
use crate::figure::Book;
use crate::figures::sentence::number;

/// The machines, each with the number of cores of a socket, and with the paper's ratio of the cost
/// across sockets to the cost within one.
const MACHINES: [(&str, usize, f64); 2] = [("opteron-2384", 4, 1.6), ("xeon-x5660", 6, 2.7)];

/// Checks S19.
pub fn check(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for (machine, socket, paper) in MACHINES {
        if let Some(points) =
            book.panel("table-2", machine).and_then(|p| p.series("load, modified"))
        {
            let [Some(near), Some(far)] = [points.value(0), points.value(1)] else { continue };
            let told = format!("{} times", number(far / near));
            let holds = (far / near - paper).abs() <= 0.1 * paper;
            let paper = format!("{} times", number(paper));
            // The factor in the machine's description comes from the paper's section 8.
            let part = that(format!("{machine}: crossing"), holds, told, &paper);
            parts.push(part.by_construction());
        }
        if let Some(panel) = book.panel("figure-4", machine) {
            let at = |threads| panel.value("fai", threads).unwrap_or(f64::NAN);
            let (alone, within, beyond) = (at(1), at(socket), at(panel.last()));
            let told = [alone, within, beyond].map(number).join(", ");
            let what =
                format!("{machine}: atomics fall beyond one core, and beyond a socket (Mops/s)");
            parts.push(that(what, within < alone && beyond < within, told, "the same trends"));
        }
        if let Some(panel) = book.panel("figure-5", machine) {
            let [one, all] = [1, panel.last()].map(|threads| panel.best(threads));
            let (Some(one), Some(all)) = (one, all) else { continue };
            let told =
                format!("{} {} alone, {} {} with all", one.0, number(one.1), all.0, number(all.1));
            let what =
                format!("{machine}: one lock is slower with all cores, and no spin lock is ahead");
            let spin = ["tas", "ttas", "ticket"];
            let others = panel.series.iter().filter(|series| !spin.contains(&series.name.as_str()));
            let other = others.filter_map(|series| series.value(panel.last())).fold(0.0, f64::max);
            let holds = all.1 < one.1 && other >= all.1 * (1.0 - SAME);
            parts.push(that(what, holds, told, "the same trends"));
        }
    }
    parts
}

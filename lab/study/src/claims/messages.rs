//! Sections 5.3 and 6.2: messages (S12 to S14, S20).

use super::check::{Part, near, that};
use crate::figure::{Book, Panel};
use crate::figures::messages::{HARDWARE, ONE_WAY, PLAIN, ROUND_TRIP, WORD};
use crate::figures::sentence::number;

/// The machines whose messages use cache coherence. The Tilera is not one of them: there, the
/// library "is an interface to the hardware message passing" (footnote 4), which "performs the
/// best" (section 6.2).
const COHERENT: [&str; 3] = ["opteron", "xeon", "niagara"];

/// Checks S12, for the nearest and the farthest partner on each machine. Partners on the same core
/// are left out. The paper counts how often a line goes from "a core x" with "its local caches" to
/// "the second core y" and back. Threads of one core share these caches, so the line does not move.
pub fn transfers(book: &Book) -> Vec<Part> {
    let mut parts = Vec::new();
    for machine in COHERENT {
        let panels = (book.panel("figure-9", machine), book.panel("table-2", machine));
        let (Some(messages), Some(table)) = panels else { continue };
        for (name, paper) in [(ONE_WAY, 2.0), (ROUND_TRIP, 4.0)] {
            let points = messages.series(name).map_or(&[][..], |series| &series.points);
            let within = points.iter().take_while(|point| point.label == SAME_CORE).count();
            let points = &points[within..];
            let ends = [points.first(), points.last()].into_iter().flatten();
            for point in ends.take(points.len().min(2)) {
                // The cycles of fetching a line that the other thread has written.
                let transfer = table.value("load, modified", point.x as usize).unwrap_or(f64::NAN);
                let what = format!("{machine}, {}: {name}, in transfers of a line", point.label);
                parts.push(near(what, point.y / transfer, paper, 0.2));
            }
        }
    }
    parts.extend([ONE_WAY, ROUND_TRIP].iter().filter_map(|name| hardware_is_best(book, name)));
    parts.extend(published(book));
    parts
}

/// Cycles of a message on the Opteron, one way and round trip, as SSYNC's authors have published
/// them for a later version of their library (ssmp-threads, the two files of raw data of `one2one`,
/// medians of 27 runs). The data have a fourth distance, at which messages take no longer than at
/// the third.
const PUBLISHED: [(&str, [f64; 2]); 3] =
    [("same die", [262.0, 507.0]), ("same MCM", [465.0, 901.0]), ("one hop", [504.0, 936.0])];

fn published(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("figure-9", "opteron") else { return Vec::new() };
    let mut parts = Vec::new();
    for (distance, cycles) in PUBLISHED {
        for (name, theirs) in [ONE_WAY, ROUND_TRIP].into_iter().zip(cycles) {
            let points = panel.series(name).map_or(&[][..], |series| &series.points);
            let ours =
                points.iter().find(|point| point.label == distance).map_or(f64::NAN, |p| p.y);
            parts.push(near(
                format!("opteron, {distance}: {name}, cycles; paper: later data (ssmp-threads)"),
                ours,
                theirs,
                0.2,
            ));
        }
    }
    parts
}

/// Compares the Tilera's hardware messages with the fastest messages of the other machines, in
/// cycles. On each machine, two partners count: the nearest one on another core, and the farthest
/// one. `None` if the Tilera was not measured.
fn hardware_is_best(book: &Book, name: &str) -> Option<Part> {
    let of = |machine: &str, name: &str| {
        let points = &book.panel("figure-9", machine)?.series(name)?.points;
        let mut between = points.iter().filter(|point| point.label != SAME_CORE);
        let nearest = between.next()?.y;
        Some((nearest, between.next_back().map_or(nearest, |point| point.y)))
    };
    let (near, far) = of("tilera", &format!("{name}{HARDWARE}"))?;
    let others: Vec<_> = COHERENT.iter().filter_map(|machine| of(machine, name)).collect();
    let least = |ends: fn(&(f64, f64)) -> f64| others.iter().map(ends).fold(f64::NAN, f64::min);
    let (next_near, next_far) = (least(|ends| ends.0), least(|ends| ends.1));
    let ours = format!(
        "{} and {} cycles; the next {} and {}",
        number(near),
        number(far),
        number(next_near),
        number(next_far)
    );
    let best = near < next_near && far < next_far;
    Some(that(format!("tilera: {name}, hardware, nearest and farthest"), best, ours, "the best"))
}

/// The label of the Niagara's column for threads that share a first-level cache.
const SAME_CORE: &str = "same core";
/// The number of clients that fill the server's socket on the Xeon: it has ten cores, and one runs
/// the server.
const SOCKET: usize = 9;
/// SSYNC's largest number of clients.
const MOST: usize = 35;

fn at(panel: &Panel, name: &str, clients: usize) -> f64 {
    panel.value(name, clients).unwrap_or(f64::NAN)
}

/// Checks S13.
pub fn xeon(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("figure-10", "xeon") else { return Vec::new() };
    let [one, round] = [ONE_WAY, ROUND_TRIP].map(|name| at(panel, name, MOST));
    let told = format!("{} and {} Mops/s", number(round), number(one));
    vec![
        near("Mops/s one way within a socket", at(panel, ONE_WAY, SOCKET), 25.0, 0.3),
        near("with a client on another socket", at(panel, ONE_WAY, SOCKET + 1), 8.0, 0.3),
        that("35 clients: round trips overtake", round > one, told, "overtake"),
    ]
}

/// Checks S14, which holds by construction: the costs of hardware messages in the Tilera's
/// description come from these numbers of section 6.2.
pub fn hardware(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("figure-10", "tilera") else { return Vec::new() };
    let mops = |name: &str, size: &str| at(panel, &format!("{name}{HARDWARE}{size}"), MOST);
    let above = 100.0 * (1.0 - 0.3);
    let one_way = mops(ONE_WAY, WORD);
    let parts = [
        near("Mops/s, round trip", mops(ROUND_TRIP, ""), 16.0, 0.3),
        near("Mops/s, round trip of one word", mops(ROUND_TRIP, WORD), 27.0, 0.3),
        that("Mops/s, one way of one word", one_way > above, number(one_way), "over 100"),
    ];
    parts.map(Part::by_construction).into()
}

/// Checks S20.
pub fn prefetch(book: &Book) -> Vec<Part> {
    let Some(panel) = book.panel("figure-9", "opteron") else { return Vec::new() };
    let ratio = |name: &str| {
        let fetched = panel.series(name)?;
        let plain = panel.series(&format!("{name}{PLAIN}"))?;
        let ratios = fetched.points.iter().zip(&plain.points).map(|(f, p)| p.y / f.y);
        Some(ratios.fold(0.0, f64::max))
    };
    let most = [ONE_WAY, ROUND_TRIP].into_iter().filter_map(ratio).fold(0.0, f64::max);
    vec![near("times as fast at most", most, 2.5, 0.25)]
}

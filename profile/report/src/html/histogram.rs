//! Bar charts of waits and holds by length. There is a bar for each doubling of the length, since
//! the lengths of waits span many powers of ten.

use std::collections::BTreeMap;
use std::fmt::Write;

use syncline_analysis::model::{Activity, Bucket, Histogram, Process, Timeline};
use syncline_present::page::Escaped;
use syncline_present::page::number::{count, counted, duration};

const BAR: f64 = 18.0;
const HEIGHT: f64 = 90.0;
/// The number of bars from one label of the axis to the next.
const STEP: usize = 5;

/// Holds shorter than twice this time, in seconds, share the first bar.
const SHORTEST: f64 = 64e-9;

/// The section with the waits for locks, and the holds of locks if the timeline has holds.
pub fn section(process: &Process) -> String {
    let waits = waits(process);
    let mut html = String::from("<div class=\"histograms\">");
    if waits.buckets.is_empty() {
        html += "<p class=\"empty\">No thread waited for a lock.</p>";
    } else {
        html += &figure(&waits, "Waits for locks, all together");
    }
    let holds = holds(&process.timeline);
    if holds.buckets.is_empty() {
        html += "<p class=\"empty\">Only recordings made with <code>syncline record --timeline</code> \
                 have the time of each hold.</p>";
    } else {
        html += &figure(&holds, "Holds of locks, as far as the timeline has them");
    }
    html + "</div>"
}

fn figure(histogram: &Histogram, title: &str) -> String {
    format!("<figure><figcaption>{title}</figcaption>{}</figure>", chart(histogram, title))
}

/// The bars of a histogram, with heights on a logarithmic scale; empty for an empty histogram.
pub fn chart(histogram: &Histogram, title: &str) -> String {
    let buckets = &histogram.buckets;
    let Some(first) = buckets.first().map(lower) else { return String::new() };
    let place = |bucket: &Bucket| (lower(bucket) / first).log2().round();
    let bars = buckets.last().map_or(1.0, place) + 1.0;
    let most = buckets.iter().map(|b| b.waits).max().unwrap_or(1) as f64;
    let width = (bars * BAR).max(3.0 * BAR) + 44.0;
    let mut svg = format!(
        "<svg class=\"chart\" role=\"img\" aria-label=\"{0}: {1}\" width=\"{width:.0}\" \
         height=\"{2}\" viewBox=\"0 0 {width:.0} {2}\">",
        Escaped(title),
        in_words(buckets),
        HEIGHT + 24.0
    );
    for bucket in buckets {
        let height = HEIGHT * (1.0 + bucket.waits as f64).ln() / (1.0 + most).ln();
        let _ = write!(
            svg,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"2\">\
             <title>{} of {}</title></rect>",
            place(bucket) * BAR + 1.0,
            HEIGHT - height + 2.0,
            BAR - 2.0,
            counted(bucket.waits as usize, "time"),
            lengths(bucket)
        );
    }
    let _ = write!(svg, "<path class=\"axis\" d=\"M0 {0}H{width:.0}\"/>", HEIGHT + 2.0);
    for step in (0..=bars as usize).step_by(STEP) {
        let (x, at) = (step as f64 * BAR, first * 2f64.powi(step as i32));
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{}\">{}</text>", HEIGHT + 18.0, duration(at));
    }
    svg + "</svg>"
}

/// The histogram in a sentence.
fn in_words(buckets: &[Bucket]) -> String {
    let total = buckets.iter().fold(0u64, |sum, b| sum.saturating_add(b.waits));
    let Some(most) = buckets.iter().max_by_key(|b| b.waits) else { return "none".to_owned() };
    format!("{} in all, {} of them of {}", count(total), count(most.waits), lengths(most))
}

/// The lengths of the waits in a bucket. The last bucket has no upper bound.
fn lengths(bucket: &Bucket) -> String {
    match bucket.to {
        Some(to) => format!("{} to {}", duration(bucket.from), duration(to)),
        None => format!("{} or more", duration(bucket.from)),
    }
}

/// The lower bound of a bucket in the chart. The first bucket begins at 0, and is drawn from half
/// of its upper bound on.
fn lower(bucket: &Bucket) -> f64 {
    if bucket.from > 0.0 { bucket.from } else { bucket.to.unwrap_or(1.0) / 2.0 }
}

/// The histogram of the waits for all locks.
fn waits(process: &Process) -> Histogram {
    let mut buckets: BTreeMap<u64, Bucket> = BTreeMap::new();
    for bucket in process.only_locks().flat_map(|lock| &lock.figures.histogram.buckets) {
        // Numbers that are not negative have the same order as their bits.
        let sum = buckets.entry(bucket.from.to_bits()).or_insert(Bucket { waits: 0, ..*bucket });
        sum.waits = sum.waits.saturating_add(bucket.waits);
    }
    Histogram { buckets: buckets.into_values().collect() }
}

/// The histogram of the holds of a timeline.
fn holds(timeline: &Timeline) -> Histogram {
    let mut buckets: BTreeMap<i32, Bucket> = BTreeMap::new();
    let spans = timeline.threads.iter().flatten().filter(|s| s.activity == Activity::Hold);
    for span in spans {
        let doublings = ((span.ended - span.began) / SHORTEST).max(1.0).log2().floor() as i32;
        let from = if doublings == 0 { 0.0 } else { SHORTEST * 2f64.powi(doublings) };
        let to = Some(SHORTEST * 2f64.powi(doublings + 1));
        buckets.entry(doublings).or_insert(Bucket { from, to, waits: 0 }).waits += 1;
    }
    Histogram { buckets: buckets.into_values().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncline_recording::Op;

    #[test]
    fn holds_are_counted_by_doublings() {
        let hold = |ended| syncline_analysis::model::Span {
            began: 1.0,
            ended: 1.0 + ended,
            activity: Activity::Hold,
            op: Op::MutexLock,
            lock: None,
            site: None,
            stack: 0,
            by: None,
            interrupted: false,
        };
        let threads = vec![vec![hold(0.0), hold(100e-9)], vec![hold(200e-9), hold(210e-9)]];
        let histogram = holds(&Timeline { threads, ..Timeline::default() });
        let counts: Vec<_> = histogram.buckets.iter().map(|b| (b.from, b.waits)).collect();
        assert_eq!(counts, [(0.0, 2), (128e-9, 2)]);
        assert!(chart(&histogram, "Holds").contains("Holds: 4 in all, 2 of them of"));
    }

    #[test]
    fn an_empty_histogram_has_no_chart() {
        assert_eq!(chart(&Histogram::default(), "Waits"), "");
    }
}

//! The timeline as a table of numbers, for users who can't see the picture.

use super::reduce::What;
use crate::html::table::{Cell, Column, Format, Row, Table, text};
use syncline_analysis::model::{Kind, Process, Span, Thread};

const COLUMNS: [Column; 8] = [
    ("thread", "its name and number", Format::Text),
    ("lived", "from its start to its end", Format::Duration),
    ("ran", "neither waiting for a lock, a futex nor an event", Format::Duration),
    ("for locks", "time waited for locks", Format::Duration),
    ("in futexes", "time waited in futexes", Format::Duration),
    ("for events", "time waited for events", Format::Duration),
    ("held", "time with at least one lock held, as far as the log has it", Format::Duration),
    ("longest wait", "for a lock", Format::Duration),
];

/// The table. Its rows have ids that begin with `id`.
pub fn table(process: &Process, id: String) -> String {
    let caption = "Timeline in numbers";
    let table = Table { caption, one: "thread", id, columns: &COLUMNS, sorted: None };
    let threads = process.threads.len().min(process.timeline.threads.len());
    table.html(threads, |place, _| {
        let (thread, spans) = (&process.threads[place], &process.timeline.threads[place]);
        let waited = |kind| covered(spans.iter().filter(|s| What::of(s) == What::Wait(kind)));
        let waits = [waited(Kind::Lock), waited(Kind::Futex), waited(Kind::Event)];
        let lock_waits = spans.iter().filter(|s| What::of(s) == What::Wait(Kind::Lock));
        let numbers = [
            thread.seconds,
            (thread.seconds - waits.iter().sum::<f64>()).max(0.0),
            waits[0],
            waits[1],
            waits[2],
            covered(spans.iter().filter(|s| What::of(s) == What::Hold)),
            lock_waits.map(|s| s.ended - s.began).fold(0.0, f64::max),
        ];
        let numbers = numbers.into_iter().map(Cell::Number);
        let cells = [text(title(thread))].into_iter().chain(numbers).collect();
        Row { cells, details: String::new(), brief: Vec::new() }
    })
}

/// Seconds that at least one of the spans covers.
fn covered<'a>(spans: impl Iterator<Item = &'a Span>) -> f64 {
    let mut ranges: Vec<(f64, f64)> = spans.map(|s| (s.began, s.ended)).collect();
    ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut until) = (0.0, f64::NEG_INFINITY);
    for (began, ended) in ranges {
        sum += (ended - began.max(until)).max(0.0);
        until = until.max(ended);
    }
    sum
}

/// A thread's name and ID.
pub fn title(thread: &Thread) -> String {
    format!("{} {}", thread.name, thread.tid)
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use syncline_analysis::model::Activity;

    #[test]
    fn nested_holds_are_not_counted_twice() {
        let hold = |began, ended| Span {
            began,
            ended,
            activity: Activity::Hold,
            op: Op::MutexLock,
            lock: None,
            site: None,
            stack: 0,
            by: None,
            interrupted: false,
        };
        let spans = [hold(1.0, 2.0), hold(0.0, 5.0), hold(4.0, 6.0), hold(8.0, 9.0)];
        assert_eq!(covered(spans.iter()), 7.0);
    }
}

//! The table of threads.

use crate::html::table::{Cell, Column, Format, Row, Table, text};
use syncline_analysis::model::{Process, Thread};
use syncline_analysis::name;
use syncline_present::page::number::duration;

const COLUMNS: [Column; 12] = [
    ("thread", "its name and number", Format::Text),
    ("started in", "its start function, or the call site that created it", Format::Text),
    ("lived", "from its start to its end", Format::Duration),
    ("on cpu", "on a processor, if that is known", Format::Duration),
    ("ready", "ready to run without a processor, outside of waits", Format::Duration),
    ("for locks", "time waited for locks", Format::Duration),
    ("in futexes", "time waited in futexes", Format::Duration),
    ("for events", "time waited for events", Format::Duration),
    (
        "in tries",
        "in refused tries for locks, in yields, and in loops that only wait",
        Format::Duration,
    ),
    ("kernel", "other time in the kernel: asleep, or in input and output", Format::Duration),
    ("acquired", "acquisitions of locks", Format::Count),
    ("waiting", "what it was waiting for at the end", Format::Text),
];

/// The table of a process's threads. Its rows have ids that begin with `id`.
pub fn threads(process: &Process, id: String) -> String {
    let mut threads: Vec<&Thread> = process.threads.iter().collect();
    threads.sort_by(|a, b| b.waiting.locks.total_cmp(&a.waiting.locks));
    let table = Table { caption: "Threads", one: "thread", id, columns: &COLUMNS, sorted: Some(5) };
    table.html(threads.len(), |place, _| {
        let thread = threads[place];
        let now = thread.waiting_now.as_ref();
        let cells = vec![
            text(format!("{} {}", thread.name, thread.tid)),
            text(name::title(name::origin(process, thread).as_ref())),
            Cell::Number(thread.seconds),
            thread.cpu.map_or(Cell::Unknown, Cell::Number),
            thread.ready.map_or(Cell::Unknown, |_| Cell::Number(thread.times.ready)),
            Cell::Number(thread.waiting.locks),
            Cell::Number(thread.waiting.futexes),
            Cell::Number(thread.waiting.events),
            Cell::Number(thread.times.spinning),
            thread.ready.map_or(Cell::Unknown, |_| Cell::Number(thread.times.kernel)),
            Cell::Number(thread.acquisitions as f64),
            text(now.map_or_else(String::new, |now| {
                format!("{}, {}", now.op.label(), duration(now.seconds))
            })),
        ];
        Row { cells, details: String::new(), brief: Vec::new() }
    })
}

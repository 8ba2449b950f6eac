//! The contents of a view: the locks of all processes in one table, with the most costly first.

use std::cmp::Ordering;

use syncline_analysis::model::{Kind, Stuck};
use syncline_analysis::{LockRates, Rates};

use syncline_present::number::{counted, percent, rate};

/// A lock that costs more than this share of a thread's time is highlighted.
const NOTABLE: f64 = 0.1;

/// The columns with their widths. The last column gets the rest of the line.
pub const COLUMNS: [(&str, usize); 6] =
    [("WAITED", 8), ("NOW", 4), ("CONTENDED", 9), ("CALLS/S", 10), ("LOCK", 32), ("MOSTLY AT", 0)];

/// The view that one reading of a recording gives.
#[derive(Debug, PartialEq)]
pub struct View {
    /// A line about the whole program.
    pub headline: String,
    /// A paragraph for each group of threads that can't go on, such as a cycle of waiting threads.
    pub stuck: Vec<String>,
    /// The locks, and after them futexes and events, since a thread that waits for one of these may
    /// just be idle.
    pub rows: Vec<Row>,
}

/// The row of a lock.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The texts of the row, in the order of [`COLUMNS`].
    pub cells: [String; 6],
    /// Whether the lock is highlighted.
    pub notable: bool,
}

impl View {
    /// The view of these processes.
    pub fn of(processes: &[Rates]) -> View {
        let mut all: Vec<(&Rates, &LockRates)> =
            processes.iter().flat_map(|p| p.locks.iter().map(move |lock| (p, lock))).collect();
        all.sort_by(|(_, a), (_, b)| costlier(a, b));
        let several = processes.len() > 1;
        View {
            headline: headline(processes),
            stuck: processes.iter().flat_map(|p| p.stuck.iter().map(stuck)).collect(),
            rows: all.into_iter().map(|(process, lock)| row(process, lock, several)).collect(),
        }
    }
}

fn costlier(a: &LockRates, b: &LockRates) -> Ordering {
    Kind::of(a.primitive)
        .cmp(&Kind::of(b.primitive))
        .then(b.waited.total_cmp(&a.waited))
        .then(b.waiting.cmp(&a.waiting))
        .then(b.calls.total_cmp(&a.calls))
}

fn headline(processes: &[Rates]) -> String {
    let threads: usize = processes.iter().map(|process| process.threads).sum();
    let locks = || {
        let all = processes.iter().flat_map(|process| &process.locks);
        all.filter(|lock| Kind::of(lock.primitive) == Kind::Lock)
    };
    format!(
        "{}, {}, {} waiting for a lock, {} acquisitions/s, \
         {} of one thread's time lost",
        counted(processes.len(), "process"),
        counted(threads, "thread"),
        locks().map(|lock| lock.waiting).sum::<usize>(),
        rate(sum(locks().map(|lock| lock.calls))),
        percent(sum(locks().map(|lock| lock.waited)))
    )
}

fn stuck(stuck: &Stuck) -> String {
    let (title, meaning) = stuck.trap.in_words();
    format!("{title}  {meaning}: {}", stuck.why)
}

/// The sum of these numbers. It is 0 if there are none; `Iterator::sum` would return -0 then.
fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |sum, number| sum + number)
}

fn row(process: &Rates, lock: &LockRates, several: bool) -> Row {
    let contended = if lock.calls > 0.0 { (lock.waits / lock.calls).min(1.0) } else { 0.0 };
    let place = match several {
        true => format!("{}: {}", process.pid, lock.place),
        false => lock.place.clone(),
    };
    let event = Kind::of(lock.primitive) == Kind::Event;
    Row {
        cells: [
            percent(lock.waited),
            lock.waiting.to_string(),
            if event { String::new() } else { percent(contended) },
            format!("{:.0}", lock.calls),
            lock.name.clone(),
            place,
        ],
        notable: lock.waited > NOTABLE && Kind::of(lock.primitive) == Kind::Lock,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use syncline_analysis::model::Trap;
    use syncline_recording::Primitive;

    /// A process with three threads and a busy lock, a quiet lock, and an idle worker.
    pub fn example() -> Rates {
        let lock = |primitive, name: &str, calls, waits, waited, waiting| LockRates {
            name: name.to_owned(),
            address: 0xabc,
            primitive,
            place: format!("{name} at app.c:1"),
            calls,
            waits,
            waited,
            waiting,
        };
        Rates {
            pid: 42,
            executable: "/bin/app".to_owned(),
            seconds: 1.0,
            threads: 3,
            locks: vec![
                lock(Primitive::Condvar, "idle", 2.0, 2.0, 0.9, 1),
                lock(Primitive::Mutex, "quiet", 7.0, 0.0, 0.0, 0),
                lock(Primitive::Mutex, "busy", 1200.0, 300.0, 0.5, 2),
            ],
            waiting: Vec::new(),
            stuck: Vec::new(),
        }
    }

    fn column(view: &View, place: usize) -> Vec<&str> {
        view.rows.iter().map(|row| row.cells[place].as_str()).collect()
    }

    #[test]
    fn locks_come_before_events_and_the_costliest_first() {
        let view = View::of(&[example()]);
        assert_eq!(column(&view, 4), ["busy", "quiet", "idle"]);
        assert_eq!(column(&view, 0), ["50.0 %", "0 %", "90.0 %"]);
        assert_eq!(column(&view, 2), ["25.0 %", "0 %", ""]);
        let notable: Vec<_> = view.rows.iter().map(|row| row.notable).collect();
        assert_eq!(notable, [true, false, false], "an idle worker costs nothing");
    }

    #[test]
    fn the_headline_counts_locks_only() {
        assert_eq!(
            View::of(&[example()]).headline,
            "1 process, 3 threads, 2 waiting for a lock, 1,207 acquisitions/s, \
             50.0 % of one thread's time lost"
        );
    }

    /// A process with three threads, two of which are in a deadlock.
    pub fn example_of_a_deadlock() -> Rates {
        let why = "thread 7 (one) waits for a; thread 8 (two) waits for b.".to_owned();
        let stuck = Stuck { trap: Trap::Deadlock, threads: vec![0, 1], seconds: 3.0, why };
        Rates { stuck: vec![stuck], ..example() }
    }

    #[test]
    fn call_sites_name_their_process_if_there_are_several() {
        let view = View::of(&[example(), Rates { pid: 43, ..example() }]);
        assert_eq!(column(&view, 5)[..2], ["42: busy at app.c:1", "43: busy at app.c:1"]);
    }
}

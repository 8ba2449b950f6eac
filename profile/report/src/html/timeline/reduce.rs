//! Reduces the logs of threads to what a screen can show.
//!
//! A log may have millions of waits and holds, most of them shorter than a pixel at any zoom that a
//! user would choose. So time is divided into cells. A span that is at least as long as a cell
//! stays as it is. The shorter spans of a cell are summed to a [`Piece`] for each kind, which says
//! how much of its time they take, and has the longest of them.

use std::collections::HashMap;

use syncline_analysis::model::{Activity, Kind, Span, Timeline};

/// The most pieces of a whole timeline, which take about 2 MB of the page.
pub const MOST: usize = 50_000;

/// With cells of a certain length, any log would stay within the limit. The first length that is
/// tried is this many times shorter.
const FINER: f64 = 64.0;

/// The activity of a thread, apart from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The thread waited for an object of this kind.
    Wait(Kind),
    /// The thread held a lock.
    Hold,
}

impl What {
    /// The kind of a span.
    pub fn of(span: &Span) -> What {
        match span.activity {
            Activity::Wait => What::Wait(Kind::of(span.op.primitive())),
            Activity::Hold => What::Hold,
        }
    }
}

/// A wait or a hold, or several short ones that are close together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// When the piece began, in seconds since the recording began.
    pub began: f64,
    /// When the piece ended, in seconds since the recording began.
    pub ended: f64,
    /// The total seconds of the spans.
    pub busy: f64,
    /// How many spans the piece represents.
    pub count: u64,
    /// The longest of the spans.
    pub longest: Span,
}

/// The pieces of each thread, ordered by their beginnings; at most `most` in all, if possible. Also
/// returns the length of a cell in seconds, 0 if no spans were summed.
pub fn reduce(timeline: &Timeline, most: usize) -> (Vec<Vec<Piece>>, f64) {
    let run = timeline.to.max(f64::MIN_POSITIVE);
    let kinds = 4.0 * timeline.threads.len() as f64;
    let mut cell = 0.0;
    loop {
        let pieces: Vec<Vec<Piece>> =
            timeline.threads.iter().map(|spans| thread(spans, cell)).collect();
        if pieces.iter().map(Vec::len).sum::<usize>() <= most || cell >= run {
            return (pieces, cell);
        }
        cell = if cell == 0.0 { run * kinds / most as f64 / FINER } else { cell * 2.0 };
    }
}

fn thread(spans: &[Span], cell: f64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut sums: HashMap<(What, u64), usize> = HashMap::new();
    for span in spans {
        let length = (span.ended - span.began).max(0.0);
        let piece =
            Piece { began: span.began, ended: span.ended, busy: length, count: 1, longest: *span };
        if length >= cell {
            pieces.push(piece);
            continue;
        }
        let key = (What::of(span), (span.began / cell) as u64);
        match sums.get(&key) {
            None => {
                sums.insert(key, pieces.len());
                pieces.push(piece);
            }
            Some(&place) => {
                let sum = &mut pieces[place];
                sum.began = sum.began.min(span.began);
                sum.ended = sum.ended.max(span.ended);
                sum.busy += length;
                sum.count += 1;
                if length > sum.longest.ended - sum.longest.began {
                    sum.longest = *span;
                }
            }
        }
    }
    pieces.sort_by(|a, b| a.began.total_cmp(&b.began));
    pieces
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;

    fn span(began: f64, length: f64, activity: Activity) -> Span {
        let op = Op::MutexLock;
        let ended = began + length;
        Span {
            began,
            ended,
            activity,
            op,
            lock: None,
            site: None,
            stack: 0,
            by: None,
            interrupted: false,
        }
    }

    #[test]
    fn a_short_log_stays_as_it_is() {
        let spans = vec![span(1.0, 0.5, Activity::Wait), span(2.0, 0.0, Activity::Hold)];
        let timeline = Timeline { to: 4.0, threads: vec![spans], ..Timeline::default() };
        let (pieces, cell) = reduce(&timeline, MOST);
        assert_eq!((pieces[0].len(), cell), (2, 0.0));
    }

    #[test]
    fn short_spans_are_summed_and_long_ones_stay() {
        let mut spans: Vec<Span> =
            (0..10_000).map(|n| span(n as f64 * 1e-4, 2e-5, Activity::Hold)).collect();
        spans.push(span(1.0, 1.0, Activity::Wait));
        let timeline = Timeline { to: 2.0, threads: vec![spans], ..Timeline::default() };
        let (pieces, cell) = reduce(&timeline, 100);
        let pieces = &pieces[0];
        assert!(pieces.len() <= 100 && cell > 0.0);
        assert_eq!(pieces.iter().map(|p| p.count).sum::<u64>(), 10_001);
        let busy: f64 = pieces.iter().map(|p| p.busy).sum();
        assert!((busy - 1.2).abs() < 1e-9, "{busy}");
        let last = pieces.last().unwrap();
        assert_eq!((last.began, last.ended, last.count), (1.0, 2.0, 1));
    }

    #[test]
    fn the_limit_holds_for_any_log() {
        let spans: Vec<Span> = (0..5000)
            .map(|n| {
                span(f64::from(n), 0.9, if n % 2 == 0 { Activity::Wait } else { Activity::Hold })
            })
            .collect();
        let timeline = Timeline { to: 5000.0, threads: vec![spans], ..Timeline::default() };
        let (pieces, _) = reduce(&timeline, 64);
        assert!(pieces[0].len() <= 64, "{}", pieces[0].len());
    }
}

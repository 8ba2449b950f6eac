//! What each thread had to do, measured in *work*: seconds on a processor that the thread does not
//! share.
//!
//! If more threads ran than there are processors, each got a part of a processor, and a second on
//! the clock was less than a second of work. A track says what ended each wait: the work that
//! another thread had done by then. Thus a track does not say when things happened, only what had
//! to happen first; [`super::replay`] finds out when.

use syncline_recording::{Op, Primitive};

use super::kept::Kept;
use crate::model::{Activity, Process, Span, Thread};

/// A thread that had at least this share of a processor while it ran is assumed to demand a whole
/// one, since the clock of processor time is not exact.
const WHOLE: f64 = 0.9;

/// What one thread had to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// What had to happen before the thread started.
    pub starts: Ends,
    /// The thread's waits, in order.
    pub waits: Vec<Wait>,
    /// The thread's work from start to end, in seconds.
    pub work: f64,
    /// Seconds of the thread's recorded life that the track represents.
    pub lived: f64,
    /// The part of a processor that the thread demands while it works. It is less than 1 if the
    /// thread sleeps or reads files in between, which recordings do not show.
    pub demand: f64,
}

/// A wait in a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// The thread's work before the wait, in seconds.
    pub at: f64,
    /// What ends the wait.
    pub ends: Ends,
    /// Whether the thread keeps its processor busy while it waits.
    pub spins: bool,
    /// The call site, as an index of [`Process::sites`].
    pub site: Option<usize>,
    /// The lock, as an index of [`Process::locks`].
    pub lock: Option<usize>,
    /// When the wait ended in the recording, in seconds.
    pub ended: f64,
    /// How long the wait took in the recording, in seconds.
    pub seconds: f64,
}

/// What ends a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    /// Another thread has done a certain amount of work.
    With {
        /// The index of that thread.
        thread: usize,
        /// The amount of its work, in seconds.
        work: f64,
        /// Seconds until the waiter then continues: the wake-up.
        delay: f64,
    },
    /// This many seconds have passed. Used if it is not known what ended the wait.
    After(f64),
}

/// The tracks of a process, one for each thread.
pub fn tracks(process: &Process, processors: f64) -> Vec<Track> {
    let lives: Vec<Life> = lives(process);
    let demands = vec![1.0; lives.len()];
    let pace = Pace::new(&lives, &demands, processors);
    let demands: Vec<f64> = process
        .threads
        .iter()
        .zip(&lives)
        .map(|(thread, life)| demand(thread, life, &pace))
        .collect();
    let pace = Pace::new(&lives, &demands, processors);
    let works: Vec<Work> = lives.iter().map(|life| Work::new(life, &pace)).collect();
    let ends = |by: Option<usize>, from: f64, to: f64| match by {
        Some(thread) if thread < works.len() => {
            let life = &lives[thread];
            // If the other thread was itself waiting when this wait ended, it had done its part
            // before its own wait began.
            let since = life.waiting_at(to).map_or(to, |wait| wait.began).max(from);
            Ends::With { thread, work: works[thread].by(to, life, &pace), delay: to - since }
        }
        _ => Ends::After(to - from),
    };
    let track = |(number, life): (usize, &Life)| Track {
        starts: match process.threads[number].creator {
            Some(creator) if creator != number => ends(Some(creator), life.began, life.began),
            _ => Ends::After(life.began),
        },
        waits: life
            .waits
            .iter()
            .zip(&works[number].before)
            .map(|(wait, &at)| Wait {
                at,
                ends: ends(wait.by.filter(|&by| by != number), wait.began, wait.ended),
                spins: spins(wait.op),
                site: wait.site,
                lock: wait.lock,
                ended: wait.ended,
                seconds: wait.ended - wait.began,
            })
            .collect(),
        work: works[number].in_all,
        lived: life.ended - life.began,
        demand: demands[number],
    };
    lives.iter().enumerate().map(track).collect()
}

/// The part of a thread's life that is replayed, in seconds of [`Kept`].
struct Life {
    began: f64,
    ended: f64,
    /// The waits in order, none within another.
    waits: Vec<Span>,
}

impl Life {
    /// The wait that the thread is in at a moment; `None` if it runs.
    fn waiting_at(&self, moment: f64) -> Option<&Span> {
        let next = self.waits.partition_point(|wait| wait.ended <= moment);
        self.waits.get(next).filter(|wait| wait.began <= moment)
    }

    /// The stretches in which the thread ran.
    fn running(&self) -> impl Iterator<Item = (f64, f64)> {
        let begins = [self.began].into_iter().chain(self.waits.iter().map(|wait| wait.ended));
        let ends = self.waits.iter().map(|wait| wait.began).chain([self.ended]);
        begins.zip(ends).filter(|(began, ended)| began < ended)
    }
}

/// The part of each thread's life that is replayed.
fn lives(process: &Process) -> Vec<Life> {
    let kept = Kept::of(process);
    let life = |(number, thread): (usize, &Thread)| {
        let idle = thread.waiting_now.as_ref().map_or(0.0, |now| now.seconds);
        let began = kept.until(thread.started);
        let ended = kept.until(thread.started + thread.seconds - idle).max(began);
        let spans = process.timeline.threads.get(number).map_or(&[][..], |spans| spans);
        let mut waits: Vec<Span> = Vec::new();
        let mut last = began;
        for span in spans.iter().filter(|span| span.activity == Activity::Wait) {
            let (from, to) = (kept.until(span.began), kept.until(span.ended));
            if from >= last && from < to && to <= ended {
                last = to;
                waits.push(Span {
                    began: from,
                    ended: to,
                    by: process.timeline.ended_by(number, span),
                    ..*span
                });
            }
        }
        Life { began, ended, waits }
    };
    process.threads.iter().enumerate().map(life).collect()
}

fn spins(op: Op) -> bool {
    op.primitive() == Primitive::Spinlock
}

/// The speed at which running threads did work, over time: 1 while each had a processor.
struct Pace {
    /// The moments at which the pace changed, each with the work that one thread could have done by
    /// that moment, and the pace after it.
    changes: Vec<(f64, f64, f64)>,
}

impl Pace {
    fn new(lives: &[Life], demands: &[f64], processors: f64) -> Pace {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for (life, &demand) in lives.iter().zip(demands) {
            for (began, ended) in life.running() {
                steps.extend([(began, demand), (ended, -demand)]);
            }
            for wait in life.waits.iter().filter(|wait| spins(wait.op)) {
                steps.extend([(wait.began, 1.0), (wait.ended, -1.0)]);
            }
        }
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut wanted, mut work, mut pace, mut last) = (0.0f64, 0.0, 1.0, 0.0);
        let mut changes = vec![(0.0, 0.0, 1.0)];
        for (moment, more) in steps {
            work += (moment - last) * pace;
            wanted += more;
            pace = if wanted > processors { processors / wanted } else { 1.0 };
            last = moment;
            changes.push((moment, work, pace));
        }
        Pace { changes }
    }

    /// The work that a thread without waits could have done until `moment`.
    fn until(&self, moment: f64) -> f64 {
        let after = self.changes.partition_point(|&(began, ..)| began <= moment);
        let (began, work, pace) = self.changes[after.saturating_sub(1)];
        work + (moment - began) * pace
    }

    fn between(&self, began: f64, ended: f64) -> f64 {
        self.until(ended) - self.until(began)
    }
}

/// The part of a processor that a thread demanded while it ran.
fn demand(thread: &Thread, life: &Life, pace: &Pace) -> f64 {
    let (Some(cpu), 1) = (thread.cpu, thread.lifetimes) else { return 1.0 };
    let could: f64 = life.running().map(|(began, ended)| pace.between(began, ended)).sum();
    // `cpu` is the processor time of the whole life. The replay may have only a part of that life.
    let part = if thread.seconds > 0.0 { (life.ended - life.began) / thread.seconds } else { 0.0 };
    let share = if could > 0.0 { cpu * part / could } else { 1.0 };
    if share >= WHOLE { 1.0 } else { share.max(0.0) }
}

/// A thread's work.
struct Work {
    /// The work that was done before each wait.
    before: Vec<f64>,
    in_all: f64,
}

impl Work {
    fn new(life: &Life, pace: &Pace) -> Work {
        let mut before = Vec::with_capacity(life.waits.len());
        let (mut sum, mut ran_from) = (0.0, life.began);
        for wait in &life.waits {
            sum += pace.between(ran_from, wait.began);
            before.push(sum);
            ran_from = wait.ended;
        }
        Work { before, in_all: sum + pace.between(ran_from, life.ended.max(ran_from)) }
    }

    /// The work done by a moment.
    fn by(&self, moment: f64, life: &Life, pace: &Pace) -> f64 {
        if moment >= life.ended {
            return self.in_all;
        }
        let next = life.waits.partition_point(|wait| wait.ended <= moment);
        match life.waits.get(next) {
            Some(wait) if wait.began <= moment => self.before[next],
            _ => {
                let ran_from = if next == 0 { life.began } else { life.waits[next - 1].ended };
                let before = if next == 0 { 0.0 } else { self.before[next - 1] };
                before + pace.between(ran_from.min(moment), moment)
            }
        }
    }
}

//! Watches the ranks until all have ended, and says what a failed one did last.

use std::io::{Write as _, stderr};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::Duration;

use syncline_dsm::program::{JOINED, LEFT, LOST, REFUSED};
use syncline_dsm::shape::{ASKED_LOCK, ASKED_PAGE, Control, Layout};
use syncline_fabric::Position;
use syncline_fabric::host::Job;

use crate::failure::{CANNOT_RECORD, Failure, RECORD_FAILED};

/// The time between two checks of the ranks. A death is noticed well within a second.
const EVERY: Duration = Duration::from_millis(10);
/// The time for which the other ranks may still run after a rank has failed with a message of its
/// own, so that they can print their messages.
const PATIENCE: Duration = Duration::from_millis(500);

/// The processes of all ranks, and their parts of the shared memory.
pub trait Ranks {
    /// A rank's exit status; `None` if it still runs.
    fn ended(&mut self, rank: usize) -> Result<Option<ExitStatus>, Failure>;

    /// A word of a rank's part; 0 if the part is lost.
    fn load(&self, at: Position) -> u64;

    /// Kills the ranks that still run. Their parts stay.
    fn end(&mut self);

    /// A rank, in words.
    fn name(&self, rank: usize) -> String {
        format!("rank {rank}")
    }
}

impl Ranks for Job {
    fn ended(&mut self, rank: usize) -> Result<Option<ExitStatus>, Failure> {
        Job::ended(self, rank).map_err(|error| Failure::new(RECORD_FAILED, error))
    }

    fn load(&self, at: Position) -> u64 {
        Job::load(self, at)
    }

    fn end(&mut self) {
        Job::end(self);
    }
}

/// How a program uses shared memory.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// It was written for it.
    Written,
    /// It is an ordinary program.
    Unmodified,
}

impl Kind {
    /// What a rank's program does first and last with shared memory, in words.
    fn start_and_end(self) -> (&'static str, &'static str) {
        match self {
            Kind::Written => ("syncline_dsm_init", "syncline_dsm_finish"),
            Kind::Unmodified => ("the start of main", "the program's end"),
        }
    }
}

/// The part of the program in which a rank ended.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// It had not joined the shared memory. A program that never joins does not use shared memory.
    Before,
    /// It had joined the shared memory and not left it.
    Inside,
    /// It had left the shared memory in order. A rank leaves only when all ranks have come to this
    /// point.
    After,
}

/// A rank that has ended.
#[derive(Clone, Copy)]
struct Ended {
    rank: usize,
    status: ExitStatus,
    stage: Stage,
}

/// Waits until all ranks have ended, and returns the exit status. All other ranks are ended if a rank ends inside the shared
/// memory, fails before it has joined, or ends without joining although others have joined.
pub fn watch(
    job: &mut dyn Ranks,
    ranks: usize,
    layout: &Layout,
    program: Kind,
) -> Result<u8, Failure> {
    let (_, last) = program.start_and_end();
    let mut ended: Vec<Option<Ended>> = vec![None; ranks];
    let mut first_failed = None;
    while ended.iter().any(Option::is_none) {
        sleep(EVERY);
        let running = |(_, ended): &(usize, &mut Option<_>)| ended.is_none();
        for (rank, ended) in ended.iter_mut().enumerate().filter(running) {
            let Some(status) = job.ended(rank)? else { continue };
            let it = Ended { rank, status, stage: stage(job, rank, layout) };
            *ended = Some(it);
            match it.stage {
                Stage::Before | Stage::After if status.success() => {}
                // The other ranks don't need it any more.
                Stage::After => {
                    if status.signal().is_some() {
                        say(&format!("{} {} after {last}", job.name(rank), ending(status)));
                    }
                    first_failed = first_failed.or(Some(code(status)));
                }
                Stage::Before | Stage::Inside => return Ok(end(job, it, layout, program)),
            }
        }
        let all_absent =
            ended.iter().all(|ended| ended.is_some_and(|it| it.stage == Stage::Before));
        if program == Kind::Unmodified && all_absent {
            let message = "the program ended before it called main, so it did not run on ranks";
            return Err(Failure::message(CANNOT_RECORD, message));
        }
        let absent = ended.iter().flatten().find(|ended| ended.stage == Stage::Before);
        if let Some(absent) = absent
            && (0..ranks).any(|rank| stage(job, rank, layout) != Stage::Before)
        {
            return Ok(end(job, *absent, layout, program));
        }
    }
    Ok(first_failed.unwrap_or(0))
}

/// The stage of a rank.
fn stage(job: &dyn Ranks, rank: usize, layout: &Layout) -> Stage {
    match job.load(layout.control(rank, Control::State)) {
        JOINED => Stage::Inside,
        LEFT => Stage::After,
        _ => Stage::Before,
    }
}

/// Ends all ranks because one has ended. Prints how that rank ended and, if it was inside the
/// shared memory, what it had requested last. Prints nothing if the rank itself has printed an
/// error.
fn end(job: &mut dyn Ranks, it: Ended, layout: &Layout, program: Kind) -> u8 {
    let (first, last) = program.start_and_end();
    let Ended { rank, status, stage } = it;
    let own = status.code().filter(|code| *code != 0);
    let (when, own) = match stage {
        Stage::Before => (format!("before {first}"), own),
        Stage::Inside | Stage::After => (
            format!("before {last}; {}", last_request(job, rank, layout)),
            own.filter(|code| *code == LOST || program == Kind::Unmodified && *code == REFUSED),
        ),
    };
    match own {
        Some(_) => sleep(PATIENCE),
        None => {
            let name = job.name(rank);
            say(&format!("{name} {} {when}; all other ranks were ended", ending(status)));
        }
    }
    job.end();
    own.unwrap_or(LOST) as u8
}

/// The last request of a rank that had joined the shared memory, in words.
fn last_request(job: &dyn Ranks, rank: usize, layout: &Layout) -> String {
    let asked = job.load(layout.control(rank, Control::Asked));
    if asked & ASKED_LOCK != 0 {
        format!("the last lock that it requested is number {}", asked & !ASKED_LOCK)
    } else if asked & ASKED_PAGE != 0 {
        let at = asked & !ASKED_PAGE;
        format!("the last page that it requested is at {at:#x} of the shared memory")
    } else {
        "it had requested no page and no lock yet".to_owned()
    }
}

/// The end of a rank, in words.
fn ending(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => match nix::sys::signal::Signal::try_from(signal) {
            Ok(signal) => format!("was ended by {signal}"),
            Err(_) => format!("was ended by signal {signal}"),
        },
        None => format!("ended with status {}", status.code().unwrap_or_default()),
    }
}

/// The exit status for a rank that ended: the rank's own status, or [`LOST`] if a signal ended it.
fn code(status: ExitStatus) -> u8 {
    status.code().unwrap_or(LOST) as u8
}

pub fn say(sentence: &str) {
    // An error is ignored: standard error may be closed.
    let _ = writeln!(stderr(), "syncline: {sentence}");
}

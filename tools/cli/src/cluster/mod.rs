//! `syncline cluster`: starts a program as several ranks with shared memory, and watches them.
//!
//! The ranks share memory that this process has made. Only this process watches the ranks, so it
//! notices a death no matter what the other ranks wait for.

pub mod args;
mod races;
mod unmodified;

use std::io::{Write as _, stderr};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use syncline_dsm::program::{JOINED, LEFT, LOST, REFUSED};
use syncline_dsm::shape::{ASKED_LOCK, ASKED_PAGE, Control, Layout};
use syncline_fabric::Host;
use syncline_fabric::host::{Error, Job};

use crate::failure::{CANNOT_RECORD, Failure, RECORD_FAILED};
use crate::record::program::find;

/// The exit status if the program succeeded, and `--check` has found data races.
const RACES: u8 = 5;
/// The time between two checks of the ranks. A death is noticed well within a second.
const EVERY: Duration = Duration::from_millis(10);
/// The time for which the other ranks may still run after a rank has failed with a message of its
/// own, so that they can print their messages.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs the ranks. Returns the exit status of the first rank that failed outside of the shared
/// memory. Returns [`LOST`] in three cases: a signal ended that rank; a rank ended inside the
/// shared memory, with any status; or a rank ended with success and had not joined although others
/// had.
pub fn run(args: &args::Cluster) -> Result<ExitCode, Failure> {
    let program = find(&args.program.command[0])?;
    let options = args.options();
    let layout = options.shape(args.ranks).layout();
    let preloaded = match args.unmodified {
        true => unmodified::variables(&program)?,
        false => Vec::new(),
    };
    let parent = std::process::id();
    let command = |rank: usize| {
        let mut command = Command::new(&program);
        command.arg0(&args.program.command[0]).args(&args.program.command[1..]);
        command.envs(options.variables()).envs(preloaded.iter().cloned());
        if rank > 0 {
            command.stdin(Stdio::null());
        }
        // SAFETY: between fork and exec, `end_with` only makes two system calls and allocates
        // nothing.
        unsafe { command.pre_exec(move || end_with(parent)) };
        command
    };
    let mut job = Host::launch(args.ranks, layout.bytes, command).map_err(|error| match error {
        Error::Start(_) => Failure::new(CANNOT_RECORD, error),
        _ => {
            let needed = (layout.bytes * args.ranks) >> 20;
            Failure::new(RECORD_FAILED, error).hint(format!(
                "all ranks together need {needed} MiB of memory; a smaller --memory needs less"
            ))
        }
    })?;
    let kind = if args.unmodified { Kind::Unmodified } else { Kind::Written };
    let status = watch(&mut job, args.ranks, &layout, kind)?;
    let races = races::found(&job, args.ranks, &layout, &program);
    if races.is_empty() {
        return Ok(ExitCode::from(status));
    }
    say("a data race: two ranks have changed the same bytes without synchronizing in between:");
    races.iter().for_each(|place| say(&format!("  {place}")));
    Ok(ExitCode::from(if status == 0 { RACES } else { status }))
}

/// Makes this process end when Syncline, its parent, ends.
fn end_with(parent: u32) -> std::io::Result<()> {
    use nix::sys::{prctl, signal::Signal};
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // Syncline may have ended before the call above.
    if nix::unistd::getppid().as_raw() as u32 != parent {
        return Err(std::io::ErrorKind::BrokenPipe.into());
    }
    Ok(())
}

/// How a program uses shared memory.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
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

/// Waits until all ranks have ended. All other ranks are ended if a rank ends inside the shared
/// memory, fails before it has joined, or ends without joining although others have joined.
fn watch(job: &mut Job, ranks: usize, layout: &Layout, program: Kind) -> Result<u8, Failure> {
    let (_, last) = program.start_and_end();
    let mut ended: Vec<Option<Ended>> = vec![None; ranks];
    let mut first_failed = None;
    while ended.iter().any(Option::is_none) {
        sleep(EVERY);
        let running = |(_, ended): &(usize, &mut Option<_>)| ended.is_none();
        for (rank, ended) in ended.iter_mut().enumerate().filter(running) {
            let status = job.ended(rank).map_err(|e| Failure::new(RECORD_FAILED, e))?;
            let Some(status) = status else { continue };
            let it = Ended { rank, status, stage: stage(job, rank, layout) };
            *ended = Some(it);
            match it.stage {
                Stage::Before | Stage::After if status.success() => {}
                // The other ranks don't need it any more.
                Stage::After => {
                    if status.signal().is_some() {
                        say(&format!("rank {rank} {} after {last}", ending(status)));
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
fn stage(job: &Job, rank: usize, layout: &Layout) -> Stage {
    match job.load(layout.control(rank, Control::State)) {
        JOINED => Stage::Inside,
        LEFT => Stage::After,
        _ => Stage::Before,
    }
}

/// Ends all ranks because one has ended. Prints how that rank ended and, if it was inside the
/// shared memory, what it had requested last. Prints nothing if the rank itself has printed an
/// error.
fn end(job: &mut Job, it: Ended, layout: &Layout, program: Kind) -> u8 {
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
        None => say(&format!("rank {rank} {} {when}; all other ranks were ended", ending(status))),
    }
    job.end();
    own.unwrap_or(LOST) as u8
}

/// The last request of a rank that had joined the shared memory, in words.
fn last_request(job: &Job, rank: usize, layout: &Layout) -> String {
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

fn say(sentence: &str) {
    // An error is ignored: standard error may be closed.
    let _ = writeln!(stderr(), "syncline: {sentence}");
}

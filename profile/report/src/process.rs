//! Texts that several reports share.

use syncline_recording::command_line;

use syncline_analysis::model::{Process, Quadrant, Runs, State};
use syncline_present::number::{counted, duration, percent};

/// A predicted gain below this is reported as negligible.
pub const LEAST_GAIN: f64 = 0.01;

/// How a process ended.
pub fn state(process: &Process) -> String {
    match process.state {
        State::Exited { status: Some(status) } => format!("exit status {status}"),
        State::Exited { status: None } => "exited".to_owned(),
        State::Killed { signal } => format!("ended by signal {signal}"),
        State::Running => "still runs".to_owned(),
        State::Unknown => "ended without notice, or still runs".to_owned(),
    }
}

/// The command line of a process.
pub fn command(process: &Process) -> String {
    if process.arguments.is_empty() { process.name() } else { command_line(&process.arguments) }
}

/// The number of threads, in words.
pub fn threads(process: &Process) -> String {
    let threads = process.threads.iter().map(|thread| thread.lifetimes.max(1) as usize).sum();
    counted(threads, "thread")
}

/// The number of runs that were read as one, and which of them is shown.
pub fn runs(runs: &Runs) -> String {
    let seconds = || runs.runs.iter().map(|run| run.seconds);
    format!(
        "{}, from {} to {}; run {} is shown",
        counted(runs.runs.len(), "run"),
        duration(seconds().fold(f64::INFINITY, f64::min)),
        duration(seconds().fold(0.0, f64::max)),
        runs.shown + 1
    )
}

/// In how many runs a finding was seen, by the finding's index in the list; `None` if there is only
/// one run.
pub fn seen(process: &Process, finding: usize) -> Option<String> {
    let runs = process.runs.as_ref()?;
    let seen = runs.seen(finding)?;
    let often = format!("in {} of {}", seen.runs, counted(runs.runs.len(), "run"));
    Some(match (seen.least, seen.most) {
        (Some(least), Some(most)) if seen.runs > 1 => {
            format!("{often}, which predict {} to {}", percent(least), percent(most))
        }
        _ => often,
    })
}

/// Time ready without a processor has a line if it takes at least this share of the threads' time.
const SHORT: f64 = 0.05;
/// If threads could use this many processors more than there are, the processors are too few.
const MORE: f64 = 0.5;
/// A run that got at least this share of the processors had them to itself.
const WHOLE: f64 = 0.9;

/// Which programs had the processors that threads were ready for.
#[derive(PartialEq)]
enum Had {
    /// The run itself had nearly all of them.
    Itself,
    /// The run had some, and its threads could have used more than there are.
    TooFew,
    /// Other programs had the rest.
    Others,
}

/// Why threads that were ready to run had no processor; `None` if that hardly happened.
pub fn short_of_processors(process: &Process) -> Option<String> {
    if process.ready() <= SHORT * process.thread_seconds {
        return None;
    }
    let Some(processors) = known_processors(process) else {
        return Some("other programs had the processors".to_owned());
    };
    Some(processors_had(process.ran(), process.ready(), process.seconds, processors))
}

/// Whether threads were ready to run for a good part of the run, and other programs had the processors.
pub fn had_others(process: &Process) -> bool {
    let had = |processors| who_had(process.ran(), process.ready(), process.seconds, processors);
    process.ready() > SHORT * process.thread_seconds
        && known_processors(process).is_none_or(|processors| had(processors) == Had::Others)
}

fn known_processors(process: &Process) -> Option<usize> {
    process.processors.filter(|&processors| processors > 0)
}

fn who_had(ran: f64, ready: f64, seconds: f64, processors: usize) -> Had {
    if ran >= WHOLE * seconds * processors as f64 {
        Had::Itself
    } else if (ran + ready) / seconds >= processors as f64 + MORE {
        Had::TooFew
    } else {
        Had::Others
    }
}

/// The share of the processors that a run got, in words: its threads ran for `ran` seconds and were
/// ready without a processor for `ready` seconds.
fn processors_had(ran: f64, ready: f64, seconds: f64, processors: usize) -> String {
    let share = percent(ran / (seconds * processors as f64));
    // The mean number of processors that the threads would have used if each had had one.
    let could_use = (ran + ready) / seconds;
    let all = counted(processors, "processor");
    match who_had(ran, ready, seconds, processors) {
        Had::Itself => {
            format!("its threads could use {could_use:.1} processors, and there are {processors}")
        }
        Had::TooFew => {
            format!("the run got {share} of {all}; its threads could use {could_use:.1}")
        }
        Had::Others => format!("the run got {share} of {all}; other programs had the rest"),
    }
}

/// The quadrants, most costly first, and what they mean.
pub const QUADRANTS: [(Quadrant, &str); 4] = [
    (Quadrant::Q2, "contended, taken often"),
    (Quadrant::Q1, "contended, taken seldom"),
    (Quadrant::Q4, "not contended, taken often"),
    (Quadrant::Q3, "not contended, taken seldom"),
];

#[cfg(test)]
mod tests {
    use super::processors_had;

    #[test]
    fn more_threads_than_processors_are_told_from_other_programs() {
        let in_ten_seconds = |ran, ready| processors_had(ran, ready, 10.0, 2);
        assert_eq!(
            in_ten_seconds(19.0, 20.0),
            "its threads could use 3.9 processors, and there are 2"
        );
        let busy = "the run got 50.0 % of 2 processors; its threads could use 2.5";
        assert_eq!(in_ten_seconds(10.0, 15.0), busy);
        let others = "the run got 50.0 % of 2 processors; other programs had the rest";
        assert_eq!(in_ten_seconds(10.0, 14.9), others);
    }
}

//! Texts about a process that several formats of the report share.

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
        State::Executed => "executed another program".to_owned(),
        State::Running => "still runs".to_owned(),
        State::Unknown => "ended without notice, or still runs".to_owned(),
    }
}

/// The command line of a process.
pub fn command(process: &Process) -> String {
    if process.arguments.is_empty() { process.name() } else { command_line(&process.arguments) }
}

/// The number of threads, as text.
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

/// A text that says in how many runs a finding was seen. `finding` is its index in the list of
/// findings. `None` if there is only one run.
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

/// The report says why threads were ready without a processor if that took more than this share of
/// their time.
const SHORT: f64 = 0.05;
/// There are too few processors if threads could use this many more than there are.
const MORE: f64 = 0.5;
/// A run that got at least this share of the processors had them to itself.
const WHOLE: f64 = 0.9;

/// Processors count as idle if they were idle for at least this share of the time that the run did
/// not get.
const MOSTLY: f64 = 0.5;

/// Which threads had the processors while the run's threads were ready to run.
#[derive(PartialEq)]
enum Had {
    /// The run itself had nearly all processors.
    Itself,
    /// The run had a part of the processors, and its threads could have used more than there are.
    /// It is unknown which threads had the rest.
    TooFew,
    /// No thread: processors were idle while no more threads were ready, as in a stage that one
    /// thread does alone, or until woken threads got a processor.
    Nothing,
    /// Threads of other programs.
    Others,
}

/// How much of the processors a run got. All times are in seconds.
struct Processors {
    /// Processor time of the run's threads.
    ran: f64,
    /// How long the run's threads were ready to run and had no processor.
    ready: f64,
    /// How long the run took.
    seconds: f64,
    number: usize,
    /// How long processors were idle, summed; `None` if unknown.
    idle: Option<f64>,
}

/// A text that says why threads that were ready to run had no processor; `None` if they nearly
/// always had one.
pub fn short_of_processors(process: &Process) -> Option<String> {
    if process.ready() <= SHORT * process.thread_seconds {
        return None;
    }
    let Some(processors) = Processors::of(process) else {
        return Some("other programs had the processors".to_owned());
    };
    Some(processors.sentence())
}

/// Whether threads were often ready to run while other programs had the processors, or probably had
/// them because the number of processors is unknown.
pub fn had_others(process: &Process) -> bool {
    process.ready() > SHORT * process.thread_seconds
        && Processors::of(process).is_none_or(|processors| processors.had() == Had::Others)
}

impl Processors {
    /// The processor times of a process; `None` if the number of processors is unknown.
    fn of(process: &Process) -> Option<Processors> {
        let number = process.processors.filter(|&processors| processors > 0)?;
        let (ran, ready) = (process.ran(), process.ready());
        Some(Processors { ran, ready, seconds: process.seconds, number, idle: process.idle })
    }

    fn had(&self) -> Had {
        let all = self.seconds * self.number as f64;
        match self.idle {
            _ if self.ran >= WHOLE * all => Had::Itself,
            Some(idle) if idle >= MOSTLY * (all - self.ran) => Had::Nothing,
            None if self.could_use() >= self.number as f64 + MORE => Had::TooFew,
            _ => Had::Others,
        }
    }

    /// How many processors the threads would have used on average if each thread had had one.
    fn could_use(&self) -> f64 {
        (self.ran + self.ready) / self.seconds
    }

    fn sentence(&self) -> String {
        let of_all = |seconds: f64| percent(seconds / (self.seconds * self.number as f64));
        let (got, could_use) = (of_all(self.ran), self.could_use());
        let all = counted(self.number, "processor");
        match self.had() {
            Had::Itself => format!("the run had only {all}; its threads could use {could_use:.1}"),
            Had::TooFew => {
                format!("the run got {got} of {all}; its threads could use {could_use:.1}")
            }
            Had::Nothing => format!(
                "the run got {got} of {all}, and {} was idle: often fewer threads were ready, or \
                 woken threads started late",
                of_all(self.idle.unwrap_or(0.0))
            ),
            Had::Others => format!("the run got {got} of {all}; other programs had the rest"),
        }
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
    use super::Processors;

    #[test]
    fn too_many_threads_differ_from_other_programs_and_idle_processors() {
        let in_ten_seconds =
            |ran, ready, idle| Processors { ran, ready, seconds: 10.0, number: 2, idle }.sentence();
        let whole = "the run had only 2 processors; its threads could use 3.9";
        let busy = "the run got 50.0 % of 2 processors; its threads could use 2.5";
        let others = "the run got 50.0 % of 2 processors; other programs had the rest";
        let idle = "the run got 50.0 % of 2 processors, and 30.0 % was idle: often fewer threads were \
             ready, or woken threads started late";
        assert_eq!(in_ten_seconds(19.0, 20.0, None), whole);
        assert_eq!(in_ten_seconds(10.0, 15.0, None), busy);
        assert_eq!(in_ten_seconds(10.0, 14.9, None), others);
        assert_eq!(in_ten_seconds(10.0, 14.9, Some(4.9)), others);
        assert_eq!(in_ten_seconds(10.0, 14.9, Some(6.0)), idle);
        assert_eq!(in_ten_seconds(10.0, 15.0, Some(6.0)), idle);
        assert_eq!(in_ten_seconds(10.0, 15.0, Some(1.0)), others);
    }
}

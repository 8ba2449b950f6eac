//! The command line of `syncline try`. `syncline tune` has some of its arguments too.

use regex::bytes::Regex;
use syncline_try::{Load, Measure, Ready};

use crate::arguments::{Program, parse_percent, parse_runs};
use crate::mends::Mend;
use crate::statuses;
use syncline_targets::Locks;

/// Find out which locks make a program faster
///
/// Runs the program in rounds: in each round, once with its own locks and once with each variant.
/// Only runs of the same round are compared. "No difference" means that a difference is too small
/// to matter. Ctrl-C ends the command and shows the result of the complete rounds. To run the
/// program with the fastest locks, use `syncline exec`.
///
/// For example: `syncline try --lock gate,mcs,ticket --runs 20 -- ./app`
#[derive(clap::Args)]
#[command(
    override_usage = "syncline try [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::TRYING
)]
pub struct Try {
    /// Locks to try, each as for `syncline exec` [default without --mend: gate,mcs,ttas,futex]
    #[arg(short, long, value_name = "LOCK,...", value_delimiter = ',')]
    pub lock: Vec<Locks>,

    /// Changes to try that need no other lock [default without --lock and --site: spin and packed,
    /// and spread and one-socket if they differ from packed on this machine]
    #[arg(short, long, value_enum, value_name = "CHANGE,...", value_delimiter = ',')]
    pub mend: Vec<Mend>,

    /// Replace only locks that are first acquired at this call site, named as in reports
    #[arg(short, long, value_name = "PLACE")]
    pub site: Option<String>,

    /// How many times to run the program with each variant
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = parse_runs)]
    pub runs: usize,

    #[command(flatten)]
    pub mattering: Mattering,

    #[command(flatten)]
    pub measuring: Measuring,

    #[command(flatten)]
    pub program: Program,
}

/// How runs are compared.
#[derive(clap::Args)]
pub struct Measuring {
    /// Compare a number that the program prints: the match of this regular expression or its group
    ///
    /// The last match counts. The number must be above 0, and more is better. With --load, the load
    /// prints the number.
    #[arg(long, value_name = "REGEX", conflicts_with = "cpu", group = "figure")]
    pub metric: Option<Regex>,

    /// Compare a number that this shell command extracts from the output of the program or the load
    ///
    /// The command reads the output from its standard input, and prints the number.
    #[arg(long, value_name = "COMMAND", conflicts_with = "cpu", group = "figure")]
    pub metric_command: Option<String>,

    /// With --metric or --metric-command: less is better
    #[arg(long, requires = "figure")]
    pub less_is_better: bool,

    /// Compare processor time instead of elapsed time
    #[arg(long)]
    pub cpu: bool,

    /// Treat the program as a server, and run this shell command against it when it is ready
    ///
    /// When the command has ended, the server gets SIGTERM. Runs are compared by the time that the
    /// command takes or by the number that it prints; with --cpu, by the server's processor time.
    #[arg(long, value_name = "COMMAND", requires = "ready")]
    pub load: Option<String>,

    /// With --load: port, HOST:PORT or path of a socket at which the server answers when it is ready
    #[arg(long, value_name = "PORT", group = "ready", requires = "load")]
    pub ready_port: Option<String>,

    /// With --load: regular expression that the server's output matches when it is ready
    #[arg(long, value_name = "REGEX", group = "ready", requires = "load")]
    pub ready_line: Option<Regex>,
}

impl Measuring {
    /// The measure that these options select.
    pub fn measure(&self) -> Measure {
        let less = self.less_is_better;
        match (&self.metric, &self.metric_command) {
            (Some(pattern), _) => Measure::Printed { pattern: pattern.clone(), less },
            (None, Some(command)) => Measure::Made { command: command.clone(), less },
            (None, None) if self.cpu => Measure::Processor,
            (None, None) => Measure::Wall,
        }
    }

    /// The load that runs against the program, if the program is a server; otherwise `None`.
    pub fn load(&self) -> Option<Load> {
        let ready = match (&self.ready_port, &self.ready_line) {
            (Some(port), _) => Ready::Answers(address(port)),
            (None, Some(line)) => Ready::Prints(line.clone()),
            (None, None) => return None,
        };
        Some(Load { command: self.load.clone()?, ready })
    }
}

/// The smallest difference that matters.
#[derive(clap::Args)]
pub struct Mattering {
    /// Smallest difference that matters, in percent
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = parse_percent)]
    pub difference: f64,
}

impl Mattering {
    /// The smallest difference that matters, as a share.
    pub fn matters(&self) -> f64 {
        self.difference / 100.0
    }
}

/// Completes an address: a port alone means a port of this machine.
fn address(port: &str) -> String {
    match port.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => port.to_owned(),
    }
}

//! The command line of `./x foreign`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};

use crate::supervise::Supervised;

/// Run test programs, which are built already, with and without Syncline, and list what differs
///
/// Exit status: 0 if all differences are expected, 1 if there are others, 2 if the command line is
/// wrong or there is nothing to run.
#[derive(Parser)]
#[command(name = "./x foreign")]
pub struct Arguments {
    /// Folders of test programs; the name of a folder is the name of its suite
    #[arg(value_name = "DIR", required_unless_present = "supervise")]
    pub folders: Vec<PathBuf>,
    /// Run only programs whose name, SUITE/PATH, contains this text
    #[arg(long, value_name = "SUBSTRING", default_value = "")]
    pub only: String,
    /// Commands to run programs under: `record`, `inspect`, `exec` (with every lock that sleeps), or
    /// `exec:LOCKS`
    #[arg(long, value_delimiter = ',', default_value = "record,inspect,exec")]
    pub ways: Vec<String>,
    /// Number of programs to run at the same time
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: usize,
    /// File of expected differences
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/foreign/expected.txt"))]
    pub expected: PathBuf,
    /// Shortest time limit of a run under Syncline, which is otherwise 10 times the native run
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    pub least_limit: Duration,
    #[command(flatten)]
    supervised: Internal,
}

/// The arguments that this program passes to itself when it starts a run.
#[derive(Args)]
struct Internal {
    #[arg(long, hide = true, value_parser = seconds)]
    supervise: Option<Duration>,
    #[arg(last = true, hide = true)]
    command: Vec<std::ffi::OsString>,
}

/// The task of this process.
pub enum Task {
    /// Run one program and supervise it.
    Supervise(Supervised),
    /// Compare test programs with and without Syncline.
    Compare(Arguments),
}

impl Arguments {
    /// The task that the arguments request.
    pub fn task(self) -> Task {
        match self.supervised.supervise {
            Some(limit) => Task::Supervise(Supervised { limit, words: self.supervised.command }),
            None => Task::Compare(self),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

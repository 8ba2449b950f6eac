//! The command line of `syncline tune`.

use std::path::PathBuf;

use syncline_statistics::Looks;

use crate::arguments::{MOST_RUNS, Program, parse_runs};
use crate::attempt::args::{Mattering, Measuring};
use crate::statuses;
use syncline_targets::Locks;

/// Find the best lock for each call site, and write a policy
///
/// Records the program three times, selects the call sites whose locks cost it time, and tries
/// other locks at one call site after another, the greatest predicted gain first. Locks that are
/// certainly faster are kept, and written to a policy file for `syncline exec --policy`. While the
/// result of a lock is undecided, the program is run with it again, up to --at-most times. Ctrl-C
/// ends the command and keeps what has been measured.
///
/// For example: `syncline tune --cpu -o app.toml -- ./app`
#[derive(clap::Args)]
#[command(
    override_usage = "syncline tune [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::COMPARING
)]
pub struct Tune {
    /// File to write the policy to
    #[arg(short, long, value_name = "POLICY", default_value = "syncline-policy.toml")]
    pub output: PathBuf,

    /// Take the findings from this recording of the program instead of recording it
    #[arg(long, value_name = "RECORDING")]
    pub from: Option<PathBuf>,

    /// How many times to run the program with each lock before the first decision
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = parse_runs)]
    pub runs: usize,

    /// Most times to run the program with an undecided lock [default: four times --runs]
    #[arg(long, value_name = "N", value_parser = parse_runs)]
    pub at_most: Option<usize>,

    /// Locks to try at each call site [default: those that suit what was found there]
    #[arg(short, long, value_name = "LOCK,...", value_delimiter = ',')]
    pub lock: Vec<Locks>,

    /// Most call sites to tune
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_runs)]
    pub places: usize,

    #[command(flatten)]
    pub measuring: Measuring,

    #[command(flatten)]
    pub mattering: Mattering,

    #[command(flatten)]
    pub program: Program,
}

/// By default, an undecided lock gets at most this many times the runs that come before its first
/// verdict.
const PATIENCE: usize = 4;

impl Tune {
    /// The numbers of runs after which the locks at a call site are compared.
    pub fn looks(&self) -> Looks {
        let most = self.at_most.unwrap_or((PATIENCE * self.runs).min(MOST_RUNS));
        Looks::several(self.runs.min(most), most)
    }
}

//! The arguments of `syncline exec`.

use std::path::PathBuf;

use clap::ArgGroup;

use super::place::Placement;
use crate::arguments::Program;
use crate::statuses;
use syncline_targets::Locks;

/// Run a program with other locks in place of its own
///
/// Replaces the pthread mutexes, condition variables, spinlocks and reader-writer locks of a
/// dynamically linked program with locks of Syncline's library. The program itself is not changed.
/// Syncline's process becomes the program, so this is fit for production. docs/exec.md says what is
/// replaced, what is not, and what the limits are.
///
/// For example: `syncline exec --lock gate+rw_readers -- ./server`
#[derive(clap::Args)]
#[command(
    override_usage = "syncline exec --lock LOCK[+LOCK] [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       \
                      syncline exec --policy FILE [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       \
                      syncline exec --place WHERE [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::RUNNING,
    group(ArgGroup::new("change").required(true).multiple(true).args(["lock", "policy", "place"]))
)]
pub struct Exec {
    /// Lock to use, by its name in `syncline locks`
    ///
    /// A suffix says how waiters wait: `mcs-spin`, `mcs-yield` or `mcs-park`. Without a suffix, they
    /// park, if the lock can do that. An exclusive lock replaces mutexes and spinlocks, and a lock for readers and writers
    /// replaces reader-writer locks. `gate+rw_readers` names one of each.
    #[arg(short, long, value_name = "LOCK")]
    pub lock: Option<Locks>,

    /// Choose a lock for each object by the rules in FILE, which `syncline tune` can write
    ///
    /// A rule chooses objects by the call site that creates or first acquires them, by the name or
    /// address of a variable, or by the kind of memory that they are in. syncline-policy(5)
    /// describes the file.
    #[arg(short, long, value_name = "FILE", conflicts_with = "lock")]
    pub policy: Option<PathBuf>,

    /// Processors on which the program's threads run [default: as the system decides]
    #[arg(long, value_enum, value_name = "WHERE")]
    pub place: Option<Placement>,

    /// When the program ends, print on standard error what was replaced and what was not
    #[arg(long)]
    pub report: bool,

    #[command(flatten)]
    pub program: Program,
}

//! Detaches the recorder from children that a process forked while it was being recorded. Each such
//! child has a copy of the recorder, and of the tables that lead to it.

use std::collections::HashSet;
use std::fs::{read_dir, read_to_string};
use std::time::{Duration, Instant};

use crate::claim::Claim;
use crate::refusal::Error;
use crate::target::Target;

/// After this time, no more attempts are made, and the remaining children stay recorded.
const PATIENCE: Duration = Duration::from_secs(10);

/// Identifies the copy of the recorder that was loaded into a process. Its file is memory without a
/// name, which only this process and those that were forked from it have mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy(String);

impl Copy {
    /// Identifies the file that a process has mapped from this address on; `None` if there is none.
    pub fn of(pid: u32, at: u64) -> Option<Copy> {
        let maps = read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let line = maps.lines().find(|line| line.starts_with(&format!("{at:x}-")))?;
        // The file's device and inode number, which come after the range, the access and the
        // offset.
        let mut words = line.split_ascii_whitespace().skip(3);
        Some(Copy(format!(" {} {} ", words.next()?, words.next()?)))
    }

    /// All processes that have mapped this copy.
    fn processes(&self) -> impl Iterator<Item = u32> {
        let entries = read_dir("/proc").into_iter().flatten();
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        numbers.filter(|pid| {
            let maps = read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            maps.contains(&self.0)
        })
    }
}

/// The result of detaching the recorder from forked children.
#[derive(Clone, Debug, Default)]
pub struct Children {
    /// From how many children the recorder was detached.
    pub left: usize,
    /// The children that are still recorded, each with the reason.
    pub going_on: Vec<(u32, String)>,
}

/// Detaches this copy of the recorder from all processes that are recorded. This is repeated until
/// there are no more, because one of them may fork another one meanwhile. Processes to which
/// another command has attached the recorder are left to that command.
pub fn leave(
    copy: &Copy,
    is_recorded: impl Fn(u32) -> bool,
    leave: impl Fn(&Target) -> Result<(), Error>,
) -> Children {
    let until = Instant::now() + PATIENCE;
    let mut children = Children::default();
    let mut others = HashSet::new();
    loop {
        let recorded = |pid: &u32| !others.contains(pid) && is_recorded(*pid);
        let found: Vec<u32> = copy.processes().filter(recorded).collect();
        if found.is_empty() {
            return children;
        }
        for pid in found {
            let left = Target::find(pid).and_then(|target| {
                let claim = Claim::new(&target)?;
                crate::seccomp::check(&target)?;
                leave(&target).map(|()| drop(claim))
            });
            match left {
                Ok(()) => children.left += 1,
                Err(error) => {
                    others.insert(pid);
                    if is_recorded(pid) && !error.is_claimed() {
                        children.going_on.push((pid, error.to_string()));
                    }
                }
            }
            if Instant::now() > until {
                let rest =
                    copy.processes().filter(|pid| !others.contains(pid) && is_recorded(*pid));
                children.going_on.extend(rest.map(|pid| (pid, "no time was left".to_owned())));
                return children;
            }
        }
    }
}

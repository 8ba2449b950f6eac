//! The environment variables by which `record` gives the preload library its options.
//!
//! | variable | meaning |
//! |---|---|
//! | `LD_PRELOAD` | the library, and after it what was there before |
//! | `SYNCLINE_RECORDING` | the folder's absolute path |
//! | `SYNCLINE_RECORDING_ID` | the folder's device and inode numbers, `DEVICE:INODE` |
//! | `SYNCLINE_RECORDING_OTHERS` | the name of the subfolder for other users' processes; empty if none |
//! | `SYNCLINE_CLOCK` | 1: time stamp counter; 2: `CLOCK_MONOTONIC` |
//! | `SYNCLINE_TICKS_PER_SECOND` | how many ticks of that clock a second has |
//! | `SYNCLINE_MAX_SIZE` | the most bytes of one process's file |
//! | `SYNCLINE_TIMELINE` | 1: every acquisition is timed and logged; 0: only waits are logged |

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use syncline_recording::clock::Clock;

/// The variables that describe the folder: its path, its device and inode numbers, and its
/// subfolder.
pub const FOLDER: [&str; 3] =
    ["SYNCLINE_RECORDING", "SYNCLINE_RECORDING_ID", "SYNCLINE_RECORDING_OTHERS"];

/// The options for the preload library.
pub struct Environment {
    /// The path of the library.
    pub library: PathBuf,
    /// The clock that the library reads.
    pub clock: Clock,
    /// The most bytes that the file of one process may take.
    pub max_size: u64,
    /// Whether every acquisition is timed and logged.
    pub timeline: bool,
}

impl Environment {
    /// The environment variables to set. `folder` has the ones that say where the library makes its
    /// files; [`Folder::variables`](super::Folder::variables) returns them.
    pub fn variables(
        &self,
        folder: [(&'static str, OsString); 3],
    ) -> Vec<(&'static str, OsString)> {
        let preload = preload(&self.library, env::var_os("LD_PRELOAD").as_deref());
        let mut variables = vec![
            ("LD_PRELOAD", preload),
            ("SYNCLINE_CLOCK", self.clock.kind.to_string().into()),
            ("SYNCLINE_TICKS_PER_SECOND", self.clock.ticks_per_second.to_string().into()),
            ("SYNCLINE_MAX_SIZE", self.max_size.to_string().into()),
            ("SYNCLINE_TIMELINE", u8::from(self.timeline).to_string().into()),
        ];
        variables.extend(folder);
        variables
    }
}

/// The value of `LD_PRELOAD`. Syncline's library comes first, so that no other library is called
/// between the program and it.
pub fn preload(library: &std::path::Path, present: Option<&OsStr>) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(present) = present.filter(|present| !present.is_empty()) {
        value.push(":");
        value.push(present);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn preloaded_libraries_stay_behind_ours() {
        let ours = Path::new("/lib/ours.so");
        assert_eq!(preload(ours, None), "/lib/ours.so");
        assert_eq!(preload(ours, Some(OsStr::new(""))), "/lib/ours.so");
        assert_eq!(preload(ours, Some(OsStr::new("a.so b.so"))), "/lib/ours.so:a.so b.so");
    }
}

//! `samples.json`: where threads were on a processor and where they slept, as `syncline-sampler`
//! saw it.
//!
//! There is one file for all processes of a recording, written when the recording ends. A recording
//! is complete without it: the kernel may refuse samples.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::folder::Folder;
use crate::session::read_json;

/// What was sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Version of this file's format.
    pub version: u32,
    /// Samples that were taken but could not be kept.
    pub lost: u64,
    /// Why the kernel refused samples of running threads, if it did.
    pub refused: Option<String>,
    /// The processes, by their numbers.
    pub processes: Vec<SampledProcess>,
}

/// The samples of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledProcess {
    /// Its number.
    pub pid: u32,
    /// Frames, numbered from 1. Each has the number of its caller's frame (0 if there is none) and
    /// an address: the instruction that was about to run if a thread was seen in this frame, and a
    /// return address if the frame is another's caller.
    pub frames: Vec<(u32, u64)>,
    /// Its threads, by their numbers.
    pub threads: Vec<SampledThread>,
}

/// The samples of a thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledThread {
    /// The kernel's thread number.
    pub tid: u32,
    /// Processor time that its samples stand for, in nanoseconds. No samples are taken in the
    /// kernel, so those in `seen` may stand for less.
    pub covered: u64,
    /// Numbers of frames, as in [`SampledProcess::frames`], each with the processor time in
    /// nanoseconds that the samples there stand for. The rarer the samples were when one was taken,
    /// the more time it stands for.
    pub seen: Vec<(u32, u64)>,
    /// Each has the number of a frame at which it slept, the number of the system call in which it
    /// slept, and for how long in nanoseconds. The thread is looked at some ten times a second.
    pub slept: Vec<(u32, u32, u64)>,
}

impl Samples {
    /// The version that this crate writes and reads.
    pub const VERSION: u32 = 2;
    /// The file's name.
    pub const FILE: &str = "samples.json";

    /// Writes it into the folder.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn write(&self, folder: &Folder) -> Result<(), Error> {
        let text = serde_json::to_string(self).expect("samples are plain data");
        folder.put(Self::FILE, (text + "\n").as_bytes())
    }

    /// Reads the folder's samples; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`], [`Error::Version`], and those of [`Folder::file`].
    pub fn read(folder: &Path) -> Result<Option<Samples>, Error> {
        let samples: Option<Samples> = read_json(folder, Self::FILE)?;
        let Some(samples) = samples else { return Ok(None) };
        if samples.version != Self::VERSION {
            return Err(Error::Version {
                path: folder.join(Self::FILE),
                found: samples.version,
                read: Self::VERSION,
            });
        }
        Ok(Some(samples))
    }

    /// The samples of a process.
    pub fn of(&self, pid: u32) -> Option<&SampledProcess> {
        self.processes.iter().find(|process| process.pid == pid)
    }
}

impl SampledProcess {
    /// The stack that begins with this frame, innermost first. It ends at a number that no frame
    /// has, or at a frame whose caller does not have a lower number.
    pub fn stack(&self, number: u32) -> Vec<u64> {
        let mut stack = Vec::new();
        let mut number = number as usize;
        while let Some(&(caller, address)) =
            number.checked_sub(1).and_then(|at| self.frames.get(at))
        {
            stack.push(address);
            // A caller has a lower number, so a damaged file can't cause an endless loop.
            if caller as usize >= number {
                break;
            }
            number = caller as usize;
        }
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_its_frames_from_the_innermost_on() {
        let process = SampledProcess {
            frames: vec![(0, 0x10), (1, 0x20), (2, 0x30), (4, 0x40), (9, 0x50)],
            ..SampledProcess::default()
        };
        assert_eq!(process.stack(3), [0x30, 0x20, 0x10]);
        assert_eq!(process.stack(1), [0x10]);
        assert!(process.stack(0).is_empty());
        assert!(process.stack(6).is_empty(), "there is no such frame");
        assert_eq!(process.stack(4), [0x40], "its own caller");
        assert_eq!(process.stack(5), [0x50], "called by a frame that comes later");
    }
}

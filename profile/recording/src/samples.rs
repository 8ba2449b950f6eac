//! `samples.json`: where threads were on a processor and where they slept, as `syncline-sampler`
//! saw it.
//!
//! The file is written now and then while the program runs, and again when the recording ends. It
//! has all processes. A recording may lack it, because the kernel may refuse samples.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::folder::Folder;
use crate::session::read_json;

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// The version of the file's format.
    pub version: u32,
    /// How many samples were taken but could not be kept.
    pub lost: u64,
    /// Why the kernel refused samples of running threads; `None` if it did not refuse.
    pub refused: Option<String>,
    /// The processes, by their numbers.
    pub processes: Vec<SampledProcess>,
}

/// The samples of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledProcess {
    /// Its number.
    pub pid: u32,
    /// The frames, numbered from 1. Each has the number of its caller's frame (0 if there is none)
    /// and an address. If a thread was seen in the frame itself, this is the address of the
    /// instruction that it was about to execute. If the frame is the caller of another, it is a
    /// return address. From [`Self::PYTHON`] on, an address stands for a position in a Python
    /// function: `PYTHON + n` for `python[n]`.
    pub frames: Vec<(u32, u64)>,
    /// The positions in Python functions at which threads slept.
    pub python: Vec<PythonFrame>,
    /// Its threads, by their numbers.
    pub threads: Vec<SampledThread>,
    /// The requests that waited while all threads slept.
    #[serde(default)]
    pub unread: UnreadRequests,
}

/// Requests that had arrived on TCP connections of a process, while no thread of the recorded
/// program ran, was ready to run, or waited for input from these connections. A connection that was
/// not accepted yet counts as well. Processes without a thread that could have read them have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnreadRequests {
    /// How often the sampler found such requests. It looks about ten times a second.
    pub looks: u64,
    /// How long requests were unread, in nanoseconds: the time between looks.
    pub nanoseconds: u64,
    /// The sum over these times, each multiplied by the number of such connections.
    pub times_connections: u64,
}

/// A position in a Python function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PythonFrame {
    /// The function's qualified name, such as `Queue.get`.
    pub function: String,
    /// The path of its source file, or what Python has instead, such as `<string>`.
    pub file: String,
    /// The line; `None` if Python does not know it.
    pub line: Option<u32>,
}

/// The samples of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledThread {
    /// The kernel's thread number.
    pub tid: u32,
    /// The processor time of the thread that sampling covers, in nanoseconds. The samples in `seen`
    /// stand for less if the thread executed in the kernel.
    pub covered: u64,
    /// How often the thread got a processor while the sampler looked at it; 0 if unknown.
    #[serde(default)]
    pub slices: u64,
    /// The frames in which the thread was seen on a processor: the number of each, and the
    /// processor time in nanoseconds for which the samples there stand. A sample stands for more
    /// time if samples were rarer when it was taken.
    pub seen: Vec<(u32, u64)>,
    /// Like `seen`, for the time in which the thread executed in the kernel, with the frame to which
    /// the kernel returns. Empty if the kernel does not allow such samples.
    #[serde(default)]
    pub in_kernel: Vec<(u32, u64)>,
    /// Where the thread slept. Each entry has the number of the frame, the number of the system
    /// call in which the thread slept, the address of the futex if a Python function slept in one
    /// (else 0), and the time slept in nanoseconds. The sampler looks at the thread about ten times
    /// a second.
    pub slept: Vec<(u32, u32, u64, u64)>,
    /// The entries of `slept` in which the thread waited for nothing but input that the process itself
    /// gives, by an event counter, a pipe or a pair of sockets.
    #[serde(default)]
    pub inner: Vec<(u32, u32, u64, u64)>,
    /// Like `slept`, for the time in which requests that this thread could have served were unread.
    /// A thread that waited for other connections of the same server could have served them. If the
    /// program has no such thread, every thread that waited neither for a futex nor for an answer
    /// of the same server counts.
    #[serde(default)]
    pub beside_unread: Vec<(u32, u32, u64, u64)>,
}

impl Samples {
    /// The version that this crate writes and reads.
    pub const VERSION: u32 = 3;
    /// The file's name.
    pub const FILE: &str = "samples.json";

    /// Writes the file into the folder.
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
    /// Addresses from this one on stand for Python functions. They are the kernel's own, so no
    /// function of a program lies there.
    pub const PYTHON: u64 = 1 << 63;

    /// The addresses of the stack whose innermost frame has this number, innermost first. The stack
    /// ends at a frame whose caller's number is 0 or, in a damaged file, not below its own.
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

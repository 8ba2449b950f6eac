//! Call stacks with names.

use serde::Serialize;

/// A call stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stack {
    /// Return addresses, the innermost first.
    #[serde(serialize_with = "super::hex::many")]
    pub addresses: Vec<u64>,
    /// The stack's frames, the innermost first, as indexes of the process's frames. An address has
    /// several frames if calls were inlined.
    pub frames: Vec<usize>,
    /// The number of frames of each address. Not part of the JSON report.
    #[serde(skip)]
    pub frames_at: Vec<usize>,
    /// The frame to show for the stack, as `symbols::place` chooses it: usually the innermost one
    /// that is not in a library which wraps locks, and did not acquire the lock on behalf of its
    /// caller. `None` if the stack has no frames.
    pub place: Option<usize>,
    /// Whether there were more frames than a recording keeps.
    pub cut: bool,
    /// Whether unwinding ended before the outermost frame.
    pub broken: bool,
}

/// A function's frame in a stack, with its position in the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Frame {
    /// The function, demangled. It is `function+0x12` if no debug information covers the position,
    /// `binary+0x1234` if the function has no name, and the address if no file was mapped there.
    pub function: String,
    /// The function as a whole, without the offset that `function` may have: `push` for
    /// `push+0x12`. For a function without a name it is the function's start, such as
    /// `binary+0x1200` for `binary+0x1234`. `None` if `function` has no offset, or if the start is
    /// unknown. Not part of the JSON report.
    #[serde(skip)]
    pub whole: Option<String>,
    /// The path of the source file; `None` if unknown.
    pub file: Option<String>,
    /// The line in that file, from 1; `None` if unknown.
    pub line: Option<u32>,
    /// An index into the process's modules; `None` if no file was mapped there.
    pub module: Option<usize>,
}

impl Frame {
    /// The function as a whole: `push`, even if the position is `push+0x12`.
    pub fn whole_function(&self) -> &str {
        self.whole.as_ref().unwrap_or(&self.function)
    }

    /// The source file without its folders, and the line: `queue.c:120`. `None` if the file is
    /// unknown.
    pub fn file_line(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        let name = file.rsplit('/').next().unwrap_or(file);
        Some(match self.line {
            Some(line) => format!("{name}:{line}"),
            None => name.to_owned(),
        })
    }

    /// The function with its file and line: `push at /src/queue.c:120`.
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{} at {file}:{line}", self.function),
            (Some(file), None) => format!("{} at {file}", self.function),
            _ => self.function.clone(),
        }
    }
}

/// A file that was mapped as code or data: the program or a library.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Module {
    /// The file's path at the time of the recording.
    pub path: String,
    /// The file's build-id in hexadecimal; empty if it has none.
    pub build_id: String,
    /// The first address at which the file was mapped.
    #[serde(serialize_with = "super::hex::one")]
    pub start: u64,
    /// One past the last address at which the file was mapped.
    #[serde(serialize_with = "super::hex::one")]
    pub end: u64,
    /// The difference between an address in memory and the same address in the file's own symbols.
    #[serde(serialize_with = "super::hex::one")]
    pub bias: u64,
    /// The source of the file's names; `None` if nothing was looked up in it.
    pub symbols: Option<SymbolSource>,
}

impl Module {
    /// The file's name without its folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// The possible sources of names, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolSource {
    /// Debug information, in the file itself or in a separate one.
    Debug,
    /// A symbol table with all functions, and no lines.
    Symbols,
    /// The symbols for dynamic linking only: the file was stripped.
    Dynamic,
    /// No source: the file has no symbols.
    Nothing,
    /// No source: the file can't be read any more.
    Missing,
    /// No source: the file on disk is not the one that was recorded.
    Changed,
}

//! Call stacks with names.

use serde::Serialize;

/// A call stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stack {
    /// Return addresses, the innermost first.
    #[serde(serialize_with = "super::hex::many")]
    pub addresses: Vec<u64>,
    /// Its frames, the innermost first, by number. An address has several if calls were inlined.
    pub frames: Vec<usize>,
    /// The number of frames of each address. Not part of the JSON report.
    #[serde(skip)]
    pub frames_at: Vec<usize>,
    /// The frame to show for the stack: the innermost that is not a lock wrapper, or one of the
    /// wrappers if all are; `None` if the stack has no frames.
    pub place: Option<usize>,
    /// Whether there were more frames than a recording keeps.
    pub cut: bool,
    /// Whether unwinding ended early.
    pub broken: bool,
}

/// A function's frame in a stack, with its position in the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Frame {
    /// The function, demangled; if no debug information covers it, `function+0x12`; if it has no
    /// name, `binary+0x1234`; if no file was mapped there, the address.
    pub function: String,
    /// The function as a whole, without the offset that `function` may have: `push` of `push+0x12`,
    /// and where it starts, `binary+0x1200` of `binary+0x1234`. Not part of the JSON report.
    #[serde(skip)]
    pub whole: Option<String>,
    /// Path of the source file, if it is known.
    pub file: Option<String>,
    /// Line in that file, from 1.
    pub line: Option<u32>,
    /// An index into the process's modules; `None` if no file was mapped there.
    pub module: Option<usize>,
}

impl Frame {
    /// The function as a whole: `push`, even if the position is `push+0x12`.
    pub fn whole_function(&self) -> &str {
        self.whole.as_ref().unwrap_or(&self.function)
    }

    /// The source file without its folders, and the line: `queue.c:120`.
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
    /// Its path at the time of the recording.
    pub path: String,
    /// Its build-id in hexadecimal; empty if it has none.
    pub build_id: String,
    /// First address.
    #[serde(serialize_with = "super::hex::one")]
    pub start: u64,
    /// One past the last address.
    #[serde(serialize_with = "super::hex::one")]
    pub end: u64,
    /// The difference between an address in memory and that in the file's own symbols.
    #[serde(serialize_with = "super::hex::one")]
    pub bias: u64,
    /// The source of its names; `None` if nothing was looked up in it.
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

//! The identity of a call site across builds of a program.

use crate::model::{Frame, Process};

/// A call site, identified so that it is found again although lines have moved.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub function: String,
    pub file: Option<String>,
}

impl Place {
    /// The call site of a frame. An offset after a function's name changes as easily as a line, and
    /// is left out. An offset after the name of a file stays, since nothing else is known.
    pub fn of(frame: &Frame, process: &Process) -> Place {
        let module = frame.module.map(|module| process.modules[module].name());
        let function = match frame.function.rsplit_once("+0x") {
            Some((name, _)) if frame.file.is_none() && module != Some(name) => name,
            _ => &frame.function,
        };
        let file = frame.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
        Place { function: function.to_owned(), file: file.map(str::to_owned) }
    }
}

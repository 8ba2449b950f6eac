//! The reverse look-up: the addresses of a program's files that the names of a report refer to.
//!
//! A report names a position in the code, or a global variable, in one of the following forms, all
//! of which this module understands:
//!
//! | name | stands for |
//! |---|---|
//! | `push at /src/queue.c:120`, `push  queue.c:120` | calls from that line of that function |
//! | `push at /src/queue.c` | calls from that function in that file |
//! | `queue.c:120` | calls from that line |
//! | `push` | calls from anywhere in that function |
//! | `push+0x12` | the call at that offset in the function, in the recorded file |
//! | `app+0x1234` | the call, or the variable, at that address of that file |
//! | `table (app)`, `table` | the whole variable |
//! | `table+0x40 (app)` | the byte at that offset in the variable |
//!
//! A call belongs to the position of the innermost function around it that is not a library's lock
//! wrapper and does not acquire the lock on behalf of its caller. Inlined functions count as
//! functions for this. A report chooses its frame by the same rule. Calls in a function that
//! acquires locks for its callers can also be named.

mod found;
mod name;
mod search;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::{Object, ReadCache};

use crate::file::image::Image;
use crate::model::SymbolSource;
use crate::symbols::place::LIBRARIES;
pub use found::{Found, Missing, Span, Wider};
use name::Name;

/// The program's files, in which names are looked up.
pub struct Locator {
    files: Vec<File>,
}

struct File {
    name: String,
    build_id: String,
    image: Image,
}

impl Locator {
    /// Reads the names in the files at `paths`: first the program, then its libraries.
    ///
    /// # Errors
    /// If the first file, the program, can't be read or is not an object file. A library that can't
    /// be read, or is not an object file, is left out.
    pub fn new(paths: &[PathBuf], debug_dirs: &[PathBuf]) -> io::Result<Locator> {
        let mut found = Vec::new();
        for (position, path) in paths.iter().enumerate() {
            match File::open(path, debug_dirs) {
                Ok(file) => found.push(file),
                Err(error) if position == 0 => return Err(error),
                Err(_) => {}
            }
        }
        Ok(Locator { files: found })
    }

    /// The build-id of the file called `module`, in hexadecimal; empty if the file has none. `None`
    /// if there is no such file.
    pub fn build_id(&self, module: &str) -> Option<&str> {
        let file = self.files.iter().find(|file| file.name == module)?;
        Some(&file.build_id)
    }

    /// The addresses of the calls that belong to the named position. `unchanged` gets a file's
    /// name, and says whether the file is still the one to which addresses in `name` refer.
    ///
    /// # Errors
    /// If no address has this name, or if the name is an address of a file that has changed.
    pub fn site(&self, name: &str, unchanged: impl Fn(&str) -> bool) -> Result<Found, Missing> {
        match Name::parse(name) {
            Name::Offset { of, offset } => self.offset(of, offset, &unchanged),
            Name::Line { function, file, line } => {
                self.searched(&search::Wanted { function, file: Some(file), line })
            }
            Name::Plain(function) => {
                self.searched(&search::Wanted { function: Some(function), file: None, line: None })
            }
        }
    }

    /// The addresses of a named variable, or of a named byte of one.
    ///
    /// # Errors
    /// Same errors as [`site`](Self::site).
    pub fn object(&self, name: &str, unchanged: impl Fn(&str) -> bool) -> Result<Found, Missing> {
        let (name, module) = name::variable(name);
        let wanted = |file: &&File| module.is_none_or(|module| file.name == module);
        let (of, offset) = name::offset(name).map_or((name, None), |(of, at)| (of, Some(at)));
        if let Some(at) = offset
            && module.is_none()
            && self.is_file(of)
        {
            return exact(of, at, unchanged(of));
        }
        let mut spans = Vec::new();
        for file in self.files.iter().filter(wanted) {
            let variables = file.image.all_variables().filter(|(_, _, variable)| variable == of);
            spans.extend(variables.map(|(start, size, _)| {
                file.span(match offset {
                    Some(at) => {
                        let start = start.saturating_add(at);
                        start..start.saturating_add(1)
                    }
                    None => start..start + size.max(1),
                })
            }));
        }
        self.found(spans, None)
    }

    /// The functions that are known to wrap locks, and the beginnings of the names of libraries
    /// that count as wrappers as a whole. Calls from these are not call sites.
    pub fn wrappers(&self) -> (Vec<Span>, &'static [&'static str]) {
        let of = |file: &File| -> Vec<Span> {
            search::wrappers(&file.image).into_iter().map(|range| file.span(range)).collect()
        };
        (self.files.iter().flat_map(of).collect(), &LIBRARIES)
    }

    fn offset(
        &self,
        of: &str,
        offset: u64,
        unchanged: &impl Fn(&str) -> bool,
    ) -> Result<Found, Missing> {
        if self.is_file(of) || name::is_library(of) {
            return exact(of, offset, unchanged(of));
        }
        let mut spans = Vec::new();
        let mut wider = None;
        for file in &self.files {
            let same = unchanged(&file.name);
            for range in search::functions(&file.image, of) {
                let call = range.start.saturating_add(offset);
                if same {
                    spans.push(file.span(call..call.saturating_add(1)));
                } else {
                    wider = Some(Wider::Changed);
                    spans.push(file.span(range));
                }
            }
        }
        self.found(spans, wider)
    }

    fn searched(&self, wanted: &search::Wanted<'_>) -> Result<Found, Missing> {
        let mut spans = Vec::new();
        let mut wider = None;
        for file in &self.files {
            let (ranges, why) = search::search(&file.image, wanted);
            spans.extend(ranges.into_iter().map(|range| (file.span(range), why)));
        }
        // If one file has the line, a function of the same name in another file is a different one.
        if spans.iter().any(|(_, why)| why.is_none()) {
            spans.retain(|(_, why)| why.is_none());
        } else {
            wider = spans.first().and_then(|(_, why)| *why);
        }
        self.found(spans.into_iter().map(|(span, _)| span).collect(), wider)
    }

    fn found(&self, spans: Vec<Span>, wider: Option<Wider>) -> Result<Found, Missing> {
        match spans.is_empty() {
            false => Ok(Found { spans, wider }),
            true if self.program_is_stripped() => Err(Missing::NoSymbols),
            true => Err(Missing::NoSuchName),
        }
    }

    fn program_is_stripped(&self) -> bool {
        let source = self.files.first().map(|file| file.image.source());
        !matches!(source, Some(SymbolSource::Debug | SymbolSource::Symbols))
    }

    fn is_file(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.name == name)
    }
}

fn exact(module: &str, at: u64, unchanged: bool) -> Result<Found, Missing> {
    if !unchanged {
        return Err(Missing::Changed);
    }
    let span = Span { module: module.to_owned(), addresses: at..at.saturating_add(1) };
    Ok(Found { spans: vec![span], wider: None })
}

impl File {
    fn open(path: &Path, debug_dirs: &[PathBuf]) -> io::Result<File> {
        let cache = ReadCache::new(std::fs::File::open(path)?);
        let file = object::File::parse(&cache)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let build_id = file.build_id().ok().flatten().unwrap_or_default().to_vec();
        Ok(File {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            build_id: build_id.iter().map(|byte| format!("{byte:02x}")).collect(),
            image: Image::open(&path.to_string_lossy(), &build_id, debug_dirs),
        })
    }

    fn span(&self, addresses: Range<u64>) -> Span {
        Span { module: self.name.clone(), addresses }
    }
}

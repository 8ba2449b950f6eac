//! The names in one file: from its debug information if it has any, otherwise from its symbols.
//!
//! The crate addr2line reads debug information with its own loader, which handles inlined calls,
//! compressed sections and split files. It does not look for separate files, so [`files`] finds
//! them. It only handles functions, so `Table` reads the symbols of variables.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use addr2line::Loader;

use super::calls::Calls;
use super::demangle::demangle;
use super::files::{self, Unusable};
use super::locals::Locals;
use super::table::{Table, Tables};
use super::unwind::Unwind;
use crate::model::{Doing, Section, SymbolSource};

/// The names in one file, and results of analysing its code. Addresses are those of the file.
pub struct Image {
    source: SymbolSource,
    /// The file itself, if it is the recorded one.
    binary: Option<PathBuf>,
    /// The separate file with its debug information, if there is one.
    debug_file: Option<PathBuf>,
    debug: Option<Loader>,
    tables: Tables,
    unwind: OnceCell<Option<Unwind>>,
    calls: OnceCell<Option<Calls>>,
    locals: OnceCell<Option<Locals>>,
    /// The frames that were looked up so far, by address.
    found: RefCell<HashMap<u64, Rc<[Found]>>>,
    looked_up: Cell<usize>,
    /// The critical sections that were analysed already.
    pub sections: RefCell<HashMap<Acquired, Option<Section>>>,
    /// The addresses that were analysed, and what a thread does at each.
    pub doing: RefCell<HashMap<u64, Doing>>,
    /// By the return address of each acquisition that was analysed: how many of the innermost
    /// frames acquired the lock on behalf of their caller.
    pub returned: RefCell<HashMap<u64, usize>>,
    /// The functions that acquire on behalf of their caller, as
    /// [`held::look_everywhere`](crate::section::held::look_everywhere) finds them; set by its
    /// first call.
    pub wrappers: OnceCell<Vec<Range<u64>>>,
}

/// The return address of an acquisition, and whether the acquisition is a try.
pub type Acquired = (u64, bool);

/// A frame at an address: its function, file and line.
pub struct Found {
    /// The name of the function, with an offset if no debug information covers the address.
    pub function: String,
    /// The name without the offset, if `function` has one.
    pub whole: Option<String>,
    /// The path of the source file, if known.
    pub file: Option<String>,
    /// The line in the source file, if known.
    pub line: Option<u32>,
}

impl Image {
    /// Opens the files of a module, given its path and build-id.
    pub fn open(path: &str, build_id: &[u8], debug_dirs: &[std::path::PathBuf]) -> Image {
        let files = match files::find(Path::new(path), build_id, debug_dirs) {
            Ok(files) => files,
            Err(unusable) => {
                let source = match unusable {
                    Unusable::Missing => SymbolSource::Missing,
                    Unusable::Changed => SymbolSource::Changed,
                };
                return Image::new(source, None, None, Tables::default());
            }
        };
        let richest = files.debug.as_ref().unwrap_or(&files.binary);
        let mut tables = read_tables(richest).unwrap_or_default();
        if tables.is_empty() {
            tables = read_tables(&files.binary).unwrap_or_default();
        }
        let debug = Loader::new_with_sup(richest, files.shared.as_ref()).ok();
        let debug = debug.filter(|d| d.get_section_range(b".debug_info").is_some());
        let source = match &debug {
            Some(_) => SymbolSource::Debug,
            None if tables.complete => SymbolSource::Symbols,
            None if !tables.is_empty() => SymbolSource::Dynamic,
            None => SymbolSource::Nothing,
        };
        let image = Image::new(source, Some(files.binary), debug, tables);
        Image { debug_file: files.debug, ..image }
    }

    fn new(
        source: SymbolSource,
        binary: Option<PathBuf>,
        debug: Option<Loader>,
        tables: Tables,
    ) -> Image {
        Image {
            source,
            binary,
            debug_file: None,
            debug,
            tables,
            unwind: OnceCell::new(),
            calls: OnceCell::new(),
            locals: OnceCell::new(),
            found: RefCell::default(),
            looked_up: Cell::new(0),
            sections: RefCell::default(),
            doing: RefCell::default(),
            returned: RefCell::default(),
            wrappers: OnceCell::new(),
        }
    }

    /// The file, if it still has the build-id that was recorded.
    pub fn binary(&self) -> Option<&Path> {
        self.binary.as_deref()
    }

    /// The source of the names.
    pub fn source(&self) -> SymbolSource {
        self.source
    }

    /// The frames at an address, the innermost first; empty if nothing is known of the address.
    pub fn frames(&self, address: u64) -> Rc<[Found]> {
        let mut found = self.found.borrow_mut();
        Rc::clone(found.entry(address).or_insert_with(|| {
            self.looked_up.set(self.looked_up.get() + 1);
            self.look_up(address).into()
        }))
    }

    /// The number of addresses that were looked up.
    pub fn looked_up(&self) -> usize {
        self.looked_up.get()
    }

    fn look_up(&self, address: u64) -> Vec<Found> {
        let frames = self.debug_frames(address).unwrap_or_default();
        if !frames.is_empty() {
            return frames;
        }
        let symbol = self.function(address).map(|(name, offset)| Found {
            function: format!("{name}+{offset:#x}"),
            whole: Some(name),
            file: None,
            line: None,
        });
        symbol.into_iter().collect()
    }

    /// The variable at an address, and the offset of the address in it; `None` if there is none.
    pub fn variable(&self, address: u64) -> Option<(String, u64)> {
        self.tables.variables.find(address).map(|(name, offset)| (demangle(name), offset))
    }

    /// The variables that have a byte in `addresses`.
    pub fn variables(&self, addresses: Range<u64>) -> Vec<String> {
        self.tables.variables.within(addresses).map(demangle).collect()
    }

    /// The function at an address according to the symbols, and the offset of the address in it;
    /// `None` if there is none.
    pub fn function(&self, address: u64) -> Option<(String, u64)> {
        self.tables.functions.find(address).map(|(name, offset)| (demangle(name), offset))
    }

    /// The start of the function at an address, or of the last function before it if the address is
    /// in none. The function needs no name, but the file needs unwind information.
    pub fn start_of(&self, address: u64) -> Option<u64> {
        self.unwind()?.start_before(address)
    }

    /// The file's unwind information; `None` if it has none, or if the recorded file is missing or
    /// has changed.
    pub fn unwind(&self) -> Option<&Unwind> {
        self.unwind.get_or_init(|| Unwind::read(self.binary()?)).as_ref()
    }

    /// The file's calls; `None` if it has no code, or if the recorded file is missing or has
    /// changed.
    pub fn calls(&self) -> Option<&Calls> {
        self.calls.get_or_init(|| Calls::open(self.binary()?)).as_ref()
    }

    /// The variable that lies `below` bytes below the end of the frame of the function at
    /// `address`, and the offset of that position in the variable.
    pub fn local(&self, address: u64, below: u64) -> Option<(String, u64)> {
        let open = || Locals::read(self.debug_file.as_deref().or(self.binary())?);
        self.locals.get_or_init(open).as_ref()?.find(address, below)
    }

    /// All functions according to the symbols: start, size and name.
    pub fn all_functions(&self) -> impl Iterator<Item = (u64, u64, String)> {
        self.tables.functions.all().map(|(start, size, name)| (start, size, demangle(name)))
    }

    /// All variables: start, size and name.
    pub fn all_variables(&self) -> impl Iterator<Item = (u64, u64, String)> {
        self.tables.variables.all().map(|(start, size, name)| (start, size, demangle(name)))
    }

    /// The ranges of code, each of which comes from a single line of the source; empty without
    /// debug information.
    pub fn lines(&self) -> Vec<Range<u64>> {
        let found = self.debug.as_ref().and_then(|d| d.find_location_range(0, u64::MAX).ok());
        found
            .into_iter()
            .flatten()
            .map(|(start, size, _)| start..start.saturating_add(size))
            .collect()
    }

    fn debug_frames(&self, address: u64) -> Option<Vec<Found>> {
        let mut found = Vec::new();
        let mut frames = self.debug.as_ref()?.find_frames(address).ok()?;
        while let Ok(Some(frame)) = frames.next() {
            let location = frame.location.as_ref();
            let function = frame.function.as_ref().and_then(|f| f.raw_name().ok());
            let function = function.map(|name| demangle(&name));
            // Debug information of assembly code has lines but no functions, which are in the
            // symbol table.
            let function = function.or_else(|| name_at(&self.tables.functions, address))?;
            found.push(Found {
                function,
                whole: None,
                file: location.and_then(|l| l.file).map(str::to_owned),
                line: location.and_then(|l| l.line).filter(|&line| line != 0),
            });
        }
        Some(found)
    }
}

fn name_at(functions: &Table, address: u64) -> Option<String> {
    functions.find(address).map(|(name, _)| demangle(name))
}

fn read_tables(path: &Path) -> Option<Tables> {
    let cache = files::open(path)?;
    let file = object::File::parse(&cache).ok()?;
    Some(Table::read(&file))
}

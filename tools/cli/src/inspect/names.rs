//! Finds names for the addresses in a trace, in the program's files as they are on the disk now.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use syncline_analysis::name;
use syncline_code::file::library::Library;
use syncline_code::symbols::Symbols;
use syncline_code::symbols::on_stack::Part;
use syncline_conflicts::Names;
use syncline_trace::{StackPart, Trace};

/// Finds the names for one process.
pub struct Named<'a> {
    symbols: Symbols,
    /// The names of the process's files, without the folders.
    files: HashSet<String>,
    /// The parts of stacks whose contents the trace has kept.
    stacks: &'a [StackPart],
    /// For each address on a stack that was looked up, its variable, or `None` if none was found.
    on_stack: HashMap<u64, Option<String>>,
}

impl<'a> Named<'a> {
    /// The files from which names come. None of them is read yet.
    pub fn library() -> Rc<Library> {
        Library::new(&syncline_analysis::Options::default().debug_dirs)
    }

    /// Finds the names for a traced process. Files that other processes have mapped as well are
    /// shared in `library`.
    pub fn of(trace: &'a Trace, library: &Rc<Library>) -> Named<'a> {
        let files = trace.modules.iter().map(|module| module.path());
        let files = files.map(|path| path.rsplit('/').next().unwrap_or_default().to_owned());
        Named {
            symbols: Symbols::new(&trace.modules, library),
            files: files.collect(),
            stacks: &trace.stacks,
            on_stack: HashMap::new(),
        }
    }

    /// The variable on a stack that contains this address.
    fn on_stack(&mut self, address: u64) -> Option<String> {
        let (symbols, stacks) = (&mut self.symbols, self.stacks);
        let find = || {
            // A stack's memory is reused. So this takes the contents that were kept when this word
            // was first written or, if there are none, those of the nearest word.
            let part = |s: &'a StackPart| Part { start: s.start, words: &s.words };
            let around = stacks.iter().filter(|s| part(s).covers(address));
            let nearest = around.min_by_key(|s| s.written.abs_diff(address & !7))?;
            symbols.stack_variable(address, part(nearest))
        };
        self.on_stack.entry(address).or_insert_with(find).clone()
    }

    /// The files that were needed for names and are now another build than during the run.
    pub fn replaced(&self) -> impl Iterator<Item = &str> {
        self.symbols.replaced()
    }
}

impl Names for Named<'_> {
    fn place(&mut self, return_address: u64) -> String {
        let stack = self.symbols.stack(&[return_address]);
        let Some(frame) = stack.place else { return format!("{return_address:#x}") };
        name::frame(self.symbols.frame(frame))
    }

    fn line(&mut self, instruction: u64) -> String {
        // `stack` expects a return address, which comes after the call.
        let stack = self.symbols.stack(&[instruction.wrapping_add(1)]);
        let Some(&innermost) = stack.frames.first() else { return format!("{instruction:#x}") };
        let frame = self.symbols.frame(innermost);
        match frame.file_line() {
            Some(_) => name::frame(frame),
            // Without line numbers, all instructions of a function count as one line. All
            // instructions outside of functions, such as those of the linkage table, count as one
            // line too.
            None => match frame.function.split_once("+0x") {
                Some((file, _)) if self.files.contains(file) => format!("{file} (no function)"),
                Some((function, _)) => function.to_owned(),
                None => frame.function.clone(),
            },
        }
    }

    fn variable(&mut self, address: u64) -> Option<String> {
        self.symbols.variable(address).or_else(|| self.on_stack(address))
    }

    fn whole_variable(&mut self, address: u64) -> Option<String> {
        self.variable(address).map(|name| without_offset(&name))
    }
}

/// A name without its offset: `name+0x8 (binary)` becomes `name (binary)`, and `binary+0x8` becomes
/// `binary (no variable)`.
fn without_offset(name: &str) -> String {
    match name.rsplit_once("+0x") {
        None => name.to_owned(),
        Some((whole, rest)) => match rest.split_once(' ') {
            Some((_, binary)) => format!("{whole} {binary}"),
            None => format!("{whole} (no variable)"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_named_without_offset() {
        assert_eq!(without_offset("table+0x5bac8 (app)"), "table (app)");
        assert_eq!(without_offset("table (app)"), "table (app)");
        assert_eq!(without_offset("app+0x7378"), "app (no variable)");
    }
}

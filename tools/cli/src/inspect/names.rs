//! Names for the addresses of a trace, from the program's files as they are on disk now.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use syncline_analysis::name;
use syncline_code::file::library::Library;
use syncline_code::symbols::Symbols;
use syncline_code::symbols::on_stack::Part;
use syncline_conflicts::Names;
use syncline_trace::{StackPart, Trace};

/// The names of one process.
pub struct Named<'a> {
    symbols: Symbols,
    /// The names of the process's files, without their folders.
    files: HashSet<String>,
    /// The contents of stacks that the trace has kept.
    stacks: &'a [StackPart],
    /// The variables on stacks that were looked up, by address; `None` if none was found.
    on_stack: HashMap<u64, Option<String>>,
}

impl<'a> Named<'a> {
    /// The files that names come from; none of them is read yet.
    pub fn library() -> Rc<Library> {
        Library::new(&syncline_analysis::Options::default().debug_dirs)
    }

    /// The names of the traced process, from files that other processes may have mapped as well.
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

    /// The variable on a stack that an address lies in.
    fn on_stack(&mut self, address: u64) -> Option<String> {
        let (symbols, stacks) = (&mut self.symbols, self.stacks);
        let find = || {
            // Stacks are reused. So the contents count that were kept when this word was first
            // written, or the nearest word.
            let part = |s: &'a StackPart| Part { start: s.start, words: &s.words };
            let around = stacks.iter().filter(|s| part(s).covers(address));
            let nearest = around.min_by_key(|s| s.written.abs_diff(address & !7))?;
            symbols.stack_variable(address, part(nearest))
        };
        self.on_stack.entry(address).or_insert_with(find).clone()
    }

    /// The files, among those needed for names, that another build has replaced since the run.
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
        // `stack` expects return addresses, which lie behind the call.
        let stack = self.symbols.stack(&[instruction.wrapping_add(1)]);
        let Some(&innermost) = stack.frames.first() else { return format!("{instruction:#x}") };
        let frame = self.symbols.frame(innermost);
        match frame.file_line() {
            Some(_) => name::frame(frame),
            // Without line numbers, all instructions of a function count as one line, and so do all
            // that are outside of functions, such as the linkage table's.
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

/// A name without its offset: `name (binary)` for `name+0x8 (binary)`, and `binary (no variable)`
/// for `binary+0x8`.
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
    fn a_variable_is_named_without_the_place_in_it() {
        assert_eq!(without_offset("table+0x5bac8 (app)"), "table (app)");
        assert_eq!(without_offset("table (app)"), "table (app)");
        assert_eq!(without_offset("app+0x7378"), "app (no variable)");
    }
}

//! Names for the addresses of a trace, from the program's files as they are on disk now.

use std::collections::HashSet;

use syncline_analysis::report::name;
use syncline_analysis::symbols::Symbols;
use syncline_analysis::symbols::library::Library;
use syncline_independence::Names;
use syncline_trace::Trace;

/// The names of one process, and its files without their folders.
pub struct Named(Symbols, HashSet<String>);

impl Named {
    /// Those of the process that was traced.
    pub fn of(trace: &Trace) -> Named {
        let options = syncline_analysis::Options::default();
        let files = trace.modules.iter().map(|module| module.path());
        let files = files.map(|path| path.rsplit('/').next().unwrap_or_default().to_owned());
        Named(Symbols::new(&trace.modules, &Library::new(&options.debug_dirs)), files.collect())
    }

    /// Files that are another build now than the one that ran, where names were asked for.
    pub fn replaced(&self) -> impl Iterator<Item = &str> {
        self.0.replaced()
    }
}

impl Names for Named {
    fn place(&mut self, return_address: u64) -> String {
        let stack = self.0.stack(&[return_address]);
        let Some(frame) = stack.place else { return format!("{return_address:#x}") };
        name::frame(self.0.frame(frame))
    }

    fn line(&mut self, instruction: u64) -> String {
        // Frames are asked for by return address, which lies behind the call.
        let stack = self.0.stack(&[instruction.wrapping_add(1)]);
        let Some(&innermost) = stack.frames.first() else { return format!("{instruction:#x}") };
        let frame = self.0.frame(innermost);
        match frame.file_line() {
            Some(_) => name::frame(frame),
            // Without lines, a function's instructions belong together, and those of the linkage table.
            None => match frame.function.split_once("+0x") {
                Some((file, _)) if self.1.contains(file) => format!("{file} (no function)"),
                Some((function, _)) => function.to_owned(),
                None => frame.function.clone(),
            },
        }
    }

    fn variable(&mut self, address: u64) -> Option<String> {
        self.0.variable(address)
    }

    fn whole_variable(&mut self, address: u64) -> Option<String> {
        self.0.variable(address).map(|name| without_offset(&name))
    }
}

/// `name (binary)` of `name+0x8 (binary)`; of what has no name in a file, that.
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

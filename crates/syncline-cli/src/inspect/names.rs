//! Names for the addresses of a trace, from the program's files as they are on disk now.

use syncline_analysis::report::name;
use syncline_analysis::symbols::Symbols;
use syncline_independence::Names;
use syncline_trace::Trace;

/// The names of one process.
pub struct Named(Symbols);

impl Named {
    /// Those of the process that was traced.
    pub fn of(trace: &Trace) -> Named {
        let options = syncline_analysis::Options::default();
        Named(Symbols::new(&trace.modules, &options.debug_dirs))
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
            // Without lines, a function's instructions belong together.
            None => frame.function.split("+0x").next().unwrap_or_default().to_owned(),
        }
    }

    fn variable(&mut self, address: u64) -> Option<String> {
        self.0.variable(address)
    }
}

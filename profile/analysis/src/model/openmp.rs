//! The libraries of OpenMP's runtimes.

use syncline_code::model::Module;

use super::in_call::InCall;
use super::process::Process;

/// How the libraries' file names begin.
const LIBRARIES: [&str; 3] = ["libgomp", "libomp", "libiomp"];

/// Whether a module is a library of OpenMP's runtime.
pub fn is_openmp(module: &Module) -> bool {
    LIBRARIES.iter().any(|start| module.name().starts_with(start))
}

impl Process {
    /// Whether threads sleep in a system call on behalf of OpenMP's runtime.
    pub fn sleeps_for_openmp(&self, asleep: &InCall) -> bool {
        let frames = self.stacks[asleep.stack].frames.iter();
        let mut modules = frames.filter_map(|&frame| self.frames[frame].module);
        modules.any(|module| is_openmp(&self.modules[module]))
    }
}

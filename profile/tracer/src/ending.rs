//! The end of tracing in a process: at its exit, or when it is left alone from then on.

use syncline_trace::writer::modules;

use crate::process::{Process, current, existing};
use crate::{aside, clock, thread};

/// Writes to the trace why the program is left alone from here on, and leaves it alone.
pub fn leave_alone(why: &str) {
    if let Some(process) = current() {
        aside::work(|| {
            process.file.leave_alone(why);
            end(process);
        });
    }
    aside::close();
}

/// Writes the counts, the cost, and the end of tracing to the trace.
fn end(process: &Process) {
    thread::flush_all(process);
    process.tell_cost();
    process.file.end(clock::now());
}

/// Runs when the program has returned from `main` or called `exit`.
extern "C" fn ends() {
    if let Some(process) = existing() {
        aside::work(|| {
            modules::note_loaded(process.file);
            end(process);
        });
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static ENDS: extern "C" fn() = ends;

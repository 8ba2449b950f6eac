//! The start and the end of the process.

use crate::choice::choose;
use crate::{memory, options, report};

/// Runs when the program starts; locks may have been used before.
extern "C" fn starts() {
    choose();
    if !options::locks().is_empty() {
        memory::learn_groups();
    }
}

/// Runs when the program has returned from `main` or called `exit`.
extern "C" fn ends() {
    report::print();
}

#[used]
#[unsafe(link_section = ".init_array")]
static STARTS: extern "C" fn() = starts;

#[used]
#[unsafe(link_section = ".fini_array")]
static ENDS: extern "C" fn() = ends;

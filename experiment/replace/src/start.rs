//! The start and the end of the process.

use syncline_interpose::preserving_errno;

use crate::{choice, placement, report};

/// Runs when the program starts; locks may have been used before.
extern "C" fn starts() {
    preserving_errno(choice::start);
    placement::start();
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

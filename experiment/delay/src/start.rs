//! The start of the process: before it, calls are passed on and nothing else.

use syncline_interpose::preserving_errno;

use crate::{counts, delay, sites};

extern "C" fn starts() {
    preserving_errno(|| {
        delay::start();
        counts::start();
        sites::start();
    });
}

#[used]
#[unsafe(link_section = ".init_array")]
static STARTS: extern "C" fn() = starts;

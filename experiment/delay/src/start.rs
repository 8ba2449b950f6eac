//! The start of the process. Before it, calls are only passed on.

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

//! The end of the program.

use crate::words::program;
use crate::{records, system};

/// Ends the program, on rank 0.
pub fn end(status: usize) -> ! {
    records::over().store(1);
    (1..program().ranks()).for_each(records::send_mail);
    program().leave();
    system::exit(status)
}

//! What this command says besides its report: what went wrong, and remarks.

use std::io::{Write, stderr};

use syncline_kernel::Error;

use crate::failure::{Failure, REPORT_FAILED};

/// Turns an error of a library into a failure of this command.
pub fn failure(error: Error) -> Failure {
    Failure::new(REPORT_FAILED, error)
}

/// Prints a message beside the report. Standard error may be closed; the report is the same without
/// the message.
pub fn say(what: &str) {
    let _ = writeln!(stderr(), "syncline: {what}");
}

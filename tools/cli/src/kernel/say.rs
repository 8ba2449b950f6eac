//! The messages of this command that are not part of its report: errors and remarks.

use std::io::{Write, stderr};

use syncline_kernel::Error;

use crate::failure::{Failure, REPORT_FAILED};

/// Turns an error of a library into a failure of this command.
pub fn failure(error: Error) -> Failure {
    Failure::new(REPORT_FAILED, error)
}

/// Prints a message that is not part of the report. An error is ignored: standard error may be
/// closed, and the report does not depend on the message.
pub fn say(what: &str) {
    let _ = writeln!(stderr(), "syncline: {what}");
}

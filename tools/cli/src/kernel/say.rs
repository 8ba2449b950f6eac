//! What this command says besides its report: what went wrong, and remarks.

use std::io::{Write, stderr};

use syncline_kernel::Error;

use crate::failure::{Failure, REPORT_FAILED};

/// A failure of the libraries, as this command's.
pub fn failure(error: Error) -> Failure {
    Failure::new(REPORT_FAILED, error)
}

/// Says something beside the report. Standard error may be closed; the report is the same without.
pub fn say(what: &str) {
    let _ = writeln!(stderr(), "syncline: {what}");
}

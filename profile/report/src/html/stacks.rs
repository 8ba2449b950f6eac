//! Call stacks as HTML lists.

use std::fmt::Write;

use syncline_analysis::model::Process;
use syncline_present::page::Escaped;

/// A stack as a list of frames with their positions, the innermost first.
pub fn list(process: &Process, stack: usize) -> String {
    let mut html = String::from("<ol class=\"stack\">");
    for frame in process.frames_of(stack) {
        let _ = write!(html, "<li>{}</li>", Escaped(&frame.place()));
    }
    if process.stacks.get(stack).is_some_and(|s| s.cut || s.broken) {
        html += "<li>… and frames that were not recorded</li>";
    }
    html + "</ol>"
}

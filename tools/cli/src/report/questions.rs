//! Completes the commands that the report proposes for open questions with the names of the
//! recording and of its program.

use std::path::Path;

use syncline_analysis::Analysis;
use syncline_analysis::model::{Answer, Recorded};

/// Adds this recording and its program to the `inspect` commands that the findings and the
/// remaining waiting propose.
pub fn complete(analysis: &mut Analysis, recording: &Path) {
    let whole = analysis.session.as_ref().map(|session| session.command.as_slice());
    for process in &mut analysis.processes {
        let program = whole.unwrap_or(&process.arguments);
        if program.is_empty() {
            continue;
        }
        let recorded = Recorded {
            recording: recording.to_string_lossy().into_owned(),
            program: program.to_vec(),
        };
        let findings = process.findings.iter_mut().filter_map(|f| f.open_question.as_mut());
        let remaining = process.remaining.iter_mut().filter_map(|r| r.open_question.as_mut());
        for question in findings.chain(remaining) {
            if let Answer::Inspect(of) = &mut question.command {
                *of = Some(recorded.clone());
            }
        }
    }
}

//! A question that counts can't answer, and the command that answers it.

use std::fmt;

use serde::{Serialize, Serializer};
use syncline_recording::command_line;

/// A question that counts can't answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenQuestion {
    /// The question.
    pub question: String,
    /// The command that answers it. The JSON report has the text of the command.
    pub command: Answer,
}

/// The command that answers a question; as text, the command line to type.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What critical sections touch: `syncline inspect`. With a recording, the command traces that
    /// recording's call sites; `None` until its path is known.
    Inspect(Option<Recorded>),
    /// To record the program again after a change: `syncline record`.
    Record,
    /// Which system calls block: `strace`.
    SystemCalls,
    /// Which processors use which cache lines: `perf c2c`.
    CacheLines,
}

/// A recording, and the recorded program.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Path of the recording.
    pub recording: String,
    /// The program and its arguments.
    pub program: Vec<String>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Inspect(None) => f.write_str("syncline inspect"),
            Answer::Inspect(Some(Recorded { recording, program })) => {
                let recording = command_line(&[recording]);
                write!(f, "syncline inspect --from {recording} -- {}", command_line(program))
            }
            Answer::Record => f.write_str("syncline record"),
            Answer::SystemCalls => f.write_str("strace -f -T -e trace='!futex'"),
            Answer::CacheLines => f.write_str("perf c2c record"),
        }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_type_are_quoted_for_a_shell() {
        let recorded = Recorded {
            recording: "my recording".to_owned(),
            program: vec!["./app".to_owned(), "a b".to_owned()],
        };
        let command = Answer::Inspect(Some(recorded)).to_string();
        assert_eq!(command, "syncline inspect --from 'my recording' -- ./app 'a b'");
    }
}

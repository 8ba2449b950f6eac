//! The outcome of a program's run.

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Exit status; 128 + N after signal N.
    pub status: i32,
}

impl Outcome {
    /// What must not depend on recording: the output without the lines that only state
    /// facts about this very run (see `programs/truth.h`).
    pub fn behaviour(&self) -> String {
        let text = String::from_utf8_lossy(&self.stdout);
        text.lines().filter(|line| !line.starts_with('@')).map(|line| format!("{line}\n")).collect()
    }

    /// Checks the exit status. The message of a panic has all output.
    ///
    /// # Panics
    /// If the status is another.
    #[track_caller]
    pub fn assert_status(&self, status: i32) {
        let text = String::from_utf8_lossy(&self.stdout);
        let errors = String::from_utf8_lossy(&self.stderr);
        assert!(self.status == status, "status {}, not {status}:\n{text}\n{errors}", self.status);
    }
}

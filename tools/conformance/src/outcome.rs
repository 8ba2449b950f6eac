//! The outcome of a run of a program.

/// The outcome of a run of a program.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// The exit status. After signal N, it is 128 + N.
    pub status: i32,
}

impl Outcome {
    /// The output that must not depend on recording. It leaves out the lines in which a program
    /// states facts about this one run (see `programs/truth.h`).
    pub fn behaviour(&self) -> String {
        let text = String::from_utf8_lossy(&self.stdout);
        text.lines().filter(|line| !line.starts_with('@')).map(|line| format!("{line}\n")).collect()
    }

    /// Checks the exit status. If it is wrong, the panic's message contains all output.
    ///
    /// # Panics
    /// If the exit status is another one.
    #[track_caller]
    pub fn assert_status(&self, status: i32) {
        let text = String::from_utf8_lossy(&self.stdout);
        let errors = String::from_utf8_lossy(&self.stderr);
        assert!(self.status == status, "status {}, not {status}:\n{text}\n{errors}", self.status);
    }
}

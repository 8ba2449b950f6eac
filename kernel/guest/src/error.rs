//! Why a kernel could not be run, in sentences for the user.

/// Why a kernel could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A required program is not installed.
    #[error("there is no {program}: install the package {package}, as `./x setup --kernel` does")]
    Missing {
        /// The program.
        program: &'static str,
        /// Debian's package that has it.
        package: &'static str,
    },
    /// There is no kernel to boot, or the named file is not one or can't be read or unpacked.
    #[error("{0}")]
    Kernel(String),
    /// The guest's image or disk could not be made.
    #[error("{0}")]
    Image(String),
    /// The kernel lacks something that is required.
    #[error("this kernel has no {what}: it was built without {option}")]
    Lacks {
        /// What is missing.
        what: &'static str,
        /// The option of the kernel's configuration.
        option: &'static str,
    },
    /// The kernel panicked.
    #[error("the kernel panicked; its last lines:\n{0}")]
    Panic(String),
    /// The load failed.
    #[error("the load failed: {why}{}", last(said))]
    Load {
        /// The cause.
        why: String,
        /// The console's last lines before the failure.
        said: String,
    },
    /// QEMU ended, or was ended, before the load did; or a recording can't be read.
    #[error("{0}")]
    Run(String),
    /// A file of this machine can't be read or written, or a program can't be started.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn last(said: &str) -> String {
    match said.is_empty() {
        true => String::new(),
        false => format!("; the console's last lines:\n{said}"),
    }
}

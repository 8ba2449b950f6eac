//! Why a kernel could not be run, as sentences that say what to do.

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program that is needed is not installed.
    #[error("there is no {program}: install {package}, as `./x setup --kernel` does")]
    Missing {
        /// The program.
        program: &'static str,
        /// Debian's package that has it.
        package: &'static str,
    },
    /// There is no kernel to boot, or what was named is none.
    #[error("{0}")]
    Kernel(String),
    /// The guest's image could not be made.
    #[error("{0}")]
    Image(String),
    /// The kernel lacks what this needs of it.
    #[error("this kernel has no {what}: it was built without {option}")]
    Lacks {
        /// What is missing.
        what: &'static str,
        /// The option of the kernel's configuration.
        option: &'static str,
    },
    /// The kernel gave up.
    #[error("the kernel panicked; its last lines:\n{0}")]
    Panic(String),
    /// The load failed.
    #[error("the load failed: {why}{}", last(said))]
    Load {
        /// Why.
        why: String,
        /// The console's last lines before that.
        said: String,
    },
    /// QEMU ended, or was ended, before the load did.
    #[error("{0}")]
    Run(String),
    /// A file or program of this machine.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn last(said: &str) -> String {
    match said.is_empty() {
        true => String::new(),
        false => format!("; the console's last lines:\n{said}"),
    }
}

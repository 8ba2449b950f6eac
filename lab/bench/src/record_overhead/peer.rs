//! Another library that is preloaded into programs instead of the recorder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::Context;

/// A peer, given as `NAME=LIBRARY.so` on the command line. Files that the library writes are not
/// examined.
#[derive(Clone, Debug)]
pub struct Peer {
    pub name: String,
    library: PathBuf,
}

impl FromStr for Peer {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Peer> {
        let (name, library) = text.split_once('=').context("expected NAME=LIBRARY.so")?;
        // The path is absolute, because each program runs in a folder of its own.
        let library = Path::new(library).canonicalize();
        let library = library.with_context(|| format!("{text}: there is no such file"))?;
        Ok(Peer { name: name.to_owned(), library })
    }
}

impl Peer {
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", &self.library);
        command
    }
}

//! Benchmarks of other distributed tables, which a user has built. A file describes each benchmark.
//! Each benchmark runs in turn with ours, and prints its operations per second itself. No
//! distributed table is packaged, so the project can't fetch any.
//!
//! ```toml
//! # mpi-dht.toml: the name in the table is the file's
//! command = ["mpirun", "-n", "4", "./mpi-dht/bench", "--reads", "95"]
//! # Finds the operations per second of all ranks in the command's output: the first group.
//! operations = "throughput: ([0-9.e+]+)"
//! # Optional, if the number is in another unit: 1e6 for millions.
//! unit = 1.0
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use regex::Regex;
use serde::Deserialize;

use crate::lab::Lab;
use crate::process;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    command: Vec<String>,
    operations: String,
    #[serde(default = "one")]
    unit: f64,
}

fn one() -> f64 {
    1.0
}

/// A program that a file describes.
pub struct Peer {
    pub name: String,
    command: Vec<String>,
    operations: Regex,
    unit: f64,
    folder: PathBuf,
}

/// Reads the `.toml` files of a folder, in the order of their names.
pub fn read(folder: &Path) -> anyhow::Result<Vec<Peer>> {
    let names = fs::read_dir(folder)
        .with_context(|| format!("can't read the folder {}", folder.display()))?;
    let mut files: Vec<_> = names.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    anyhow::ensure!(
        !files.is_empty(),
        "{} has no .toml file that describes a peer",
        folder.display()
    );
    files
        .iter()
        .map(|file| one_of(folder, file).with_context(|| file.display().to_string()))
        .collect()
}

fn one_of(folder: &Path, file: &Path) -> anyhow::Result<Peer> {
    let Description { command, operations, unit } = toml::from_str(&fs::read_to_string(file)?)?;
    anyhow::ensure!(!command.is_empty(), "`command` is empty");
    let operations = Regex::new(&operations).context("`operations` is not a regular expression")?;
    anyhow::ensure!(operations.captures_len() > 1, "`operations` has no group (in parentheses)");
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = folder.canonicalize()?;
    Ok(Peer { name, command, operations, unit, folder })
}

impl Peer {
    /// Runs the program, and returns its operations per second.
    pub fn run(&self, lab: &Lab) -> anyhow::Result<f64> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).current_dir(&self.folder);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let finished = process::run(command, lab.folder(), "peer")?;
        let printed = fs::read_to_string(finished.stdout)?;
        self.found_in(&printed).with_context(|| {
            format!("{}: `operations` matches no number in the program's output", self.name)
        })
    }

    fn found_in(&self, printed: &str) -> Option<f64> {
        let found: f64 = self.operations.captures(printed)?.get(1)?.as_str().parse().ok()?;
        Some(found * self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> anyhow::Result<Vec<Peer>> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("other.toml"), text)?;
        read(folder.path())
    }

    #[test]
    fn a_described_program_says_its_operations() {
        let text = "command = ['sh', '-c', 'x']\noperations = 'rate: ([0-9.]+) M'\nunit = 1e6";
        let peers = described(text).unwrap();
        assert_eq!(peers[0].name, "other");
        assert_eq!(peers[0].found_in("it took long\nrate: 2.5 Mops\n"), Some(2.5e6));
        assert_eq!(peers[0].found_in("nothing"), None);
    }

    #[test]
    fn a_wrong_description_is_refused_with_its_fault() {
        let error = |text| format!("{:#}", described(text).err().expect("it is refused"));
        assert!(error("command = []\noperations = '(x)'").contains("`command` is empty"));
        assert!(error("command = ['x']\noperations = 'x'").contains("no group"));
        assert!(error("command = ['x']\noperations = '('").contains("not a regular expression"));
        assert!(error("command = ['x']\nops = 'x'").contains("ops"));
        let empty = tempfile::tempdir().unwrap();
        assert!(read(empty.path()).is_err());
    }
}

//! The description of a user's real program: a file `NAME.toml` next to the folder `NAME`, in which
//! the program runs. `accuracy` uses all fields. The benchmark of the cost of recording uses only
//! the fields that say how the program is run. Only `version` and `command` are required.
//!
//! ```toml
//! what = "one lock around the whole cache"
//! word = "memcached's ReleaseNotes, 1.4.6"
//! version = "1.4.4"
//! command = ["./memcached-load", "./memcached"]   # run in the folder NAME
//! mended = ["./memcached-load", "./memcached-mended"]
//! status = 143                    # of the command; 0 if absent
//! limit = 60                      # seconds after which a run counts as hung
//! place = 'items\.c|thread\.c'    # where the problem is; absent for a program without a problem
//! remedy = 'granularity'          # in the finding's category, rule or title; or deadlock, lost wake-up, standstill
//! advice_not = 'Remove'           # must not be in its advice
//! allowed = 'spinlock-instead'    # findings, by rule and place, that are not false alarms
//! false = 'polling.*:489'         # findings that are false alarms, whatever gain they predict
//! tuned = true                    # whether the rules were made with knowledge of this program
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use regex::Regex;
use serde::{Deserialize, Deserializer};

use crate::lab::Lab;
use crate::process::{self, Finished};

/// The description of a program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    #[serde(skip)]
    pub name: String,
    /// The folder in which the program runs.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The program's problem, in words; empty for a program without a problem.
    #[serde(default)]
    pub what: String,
    /// The source that describes the problem.
    #[serde(default)]
    pub word: String,
    pub version: String,
    pub command: Vec<String>,
    #[serde(default)]
    pub mended: Vec<String>,
    #[serde(default)]
    pub status: i32,
    #[serde(default = "a_minute")]
    pub limit: f64,
    #[serde(default, deserialize_with = "pattern")]
    pub place: Option<Regex>,
    #[serde(default, deserialize_with = "pattern")]
    pub remedy: Option<Regex>,
    #[serde(default, deserialize_with = "pattern")]
    pub advice_not: Option<Regex>,
    #[serde(default, deserialize_with = "pattern")]
    pub allowed: Option<Regex>,
    #[serde(default, rename = "false", deserialize_with = "pattern")]
    pub false_: Option<Regex>,
    #[serde(default)]
    pub tuned: bool,
}

fn a_minute() -> f64 {
    60.0
}

fn pattern<'de, D: Deserializer<'de>>(text: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(text)?;
    Regex::new(&text).map(Some).map_err(serde::de::Error::custom)
}

impl Description {
    /// Whether the program has a problem.
    pub fn has_problem(&self) -> bool {
        self.place.is_some()
    }

    /// Runs a command with these arguments in the program's folder. A status other than the
    /// expected one is an error, and so is an end after the limit.
    pub fn run(
        &self,
        lab: &Lab,
        mut command: Command,
        arguments: &[String],
    ) -> anyhow::Result<Finished> {
        command.args(arguments).current_dir(&self.folder);
        let running = process::start(command, lab.folder(), &self.name)?;
        let limit = Duration::from_secs_f64(self.limit);
        running.finish_as(self.status, limit)
    }

    fn read(file: &Path) -> anyhow::Result<Description> {
        let text = fs::read_to_string(file)?;
        let mut description: Description = toml::from_str(&text)?;
        anyhow::ensure!(!description.command.is_empty(), "`command` is empty");
        anyhow::ensure!(
            description.place.is_some() == description.remedy.is_some(),
            "`place` and `remedy` must be given together"
        );
        anyhow::ensure!(
            Duration::try_from_secs_f64(description.limit).is_ok(),
            "`limit` is not a number of seconds"
        );
        description.folder = file.with_extension("").canonicalize()?;
        anyhow::ensure!(
            description.folder.is_dir(),
            "the file without its `.toml` is not a folder to run the program in"
        );
        description.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(description)
    }
}

/// All programs that a folder describes, sorted by name.
///
/// # Errors
/// If there is none, or one can't be read or has no folder.
pub fn all(folder: &Path) -> anyhow::Result<Vec<Description>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<anyhow::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    anyhow::ensure!(
        !files.is_empty(),
        "{} describes no program: it has no *.toml file",
        folder.display()
    );
    let read = |file: &PathBuf| Description::read(file).with_context(|| file.display().to_string());
    files.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Description> {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("shop"))?;
        fs::write(folder.path().join("shop.toml"), text)?;
        Ok(all(folder.path())?.remove(0))
    }

    #[test]
    fn a_description_may_name_a_problem_or_none() {
        let fine = read("version = '1'\ncommand = ['./shop']").unwrap();
        assert!(!fine.has_problem() && fine.name == "shop" && fine.folder.ends_with("shop"));
        let wrong = "version = '1'\ncommand = ['./shop']\nplace = 'a\\.c:7'\nremedy = 'atomic'";
        assert!(read(wrong).unwrap().place.unwrap().is_match("f at /src/a.c:7"));
    }

    #[test]
    fn contradictory_descriptions_are_refused() {
        for wrong in [
            "version = '1'\ncommand = []",
            "version = '1'\ncommand = ['./shop']\nplace = '('\nremedy = 'a'",
            "version = '1'\ncommand = ['./shop']\nplace = 'a'",
            "version = '1'\ncommand = ['./shop']\nplaces = 'a'",
            "version = '1'\ncommand = ['./shop']\nlimit = -1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

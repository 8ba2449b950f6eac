//! The results as JSON, which `--json` prints, and which is saved in the recording's folder for
//! reports. `docs/whatif.md` describes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use syncline_analysis::Analysis;
use syncline_analysis::model::WhatIf;

/// The name and version of the format. The number changes when a field is removed or changes its
/// meaning; new fields may be added at any time.
const SCHEMA: &str = "syncline-whatif/1";
/// The name of the file in a recording's folder.
const FILE: &str = "whatif.json";

/// The results of `syncline whatif`.
#[derive(Serialize, Deserialize)]
pub struct Document {
    schema: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The executable of the process that has the call sites.
    pub executable: String,
    /// Each call site with its result.
    pub places: Vec<WhatIf>,
}

impl Document {
    /// A document with these results.
    pub fn new(command: Vec<String>, executable: String, places: Vec<WhatIf>) -> Document {
        Document { schema: SCHEMA.to_owned(), command, executable, places }
    }

    /// Saves the document in the recording's folder. Earlier results there stay if they are of the
    /// same command and executable, and for another operation or call site. Returns the file's
    /// path; `None` if the recording is a single file.
    pub fn save(&self, recording: &Path) -> io::Result<Option<PathBuf>> {
        if !recording.is_dir() {
            return Ok(None);
        }
        let before = Document::of(recording)
            .ok()
            .flatten()
            .filter(|old| (&old.command, &old.executable) == (&self.command, &self.executable));
        let is_new = |old: &WhatIf| {
            self.places.iter().any(|new| new.place == old.place && new.delayed == old.delayed)
        };
        let kept =
            before.map_or(Vec::new(), |old| old.places).into_iter().filter(|old| !is_new(old));
        let places = self.places.iter().cloned().chain(kept).collect();
        let all = Document::new(self.command.clone(), self.executable.clone(), places);
        let path = recording.join(FILE);
        let mut whole = tempfile::NamedTempFile::new_in(recording)?;
        serde_json::to_writer_pretty(&mut whole, &all)?;
        whole.persist(&path)?;
        Ok(Some(path))
    }

    /// Reads the results in a recording's folder; `None` if there are none.
    ///
    /// # Errors
    /// If the file can't be read, or has another format.
    pub fn of(recording: &Path) -> io::Result<Option<Document>> {
        let text = match fs::read_to_string(recording.join(FILE)) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let document: Document = serde_json::from_str(&text)?;
        match document.schema == SCHEMA {
            true => Ok(Some(document)),
            false => {
                let what = "it has the format of another version of Syncline";
                Err(io::Error::new(io::ErrorKind::InvalidData, what))
            }
        }
    }
}

/// Adds the results that `syncline whatif` has saved in a recording's folder to the first process
/// with the same executable.
///
/// # Errors
/// Same errors as [`Document::of`].
pub fn add_to(analysis: &mut Analysis, recording: &Path) -> io::Result<()> {
    let Some(document) = Document::of(recording)? else { return Ok(()) };
    let same = analysis.processes.iter_mut().find(|p| p.executable == document.executable);
    if let Some(process) = same {
        process.whatif.extend(document.places);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use syncline_analysis::model::Delayed;

    use super::*;

    fn whatif(place: &str, seconds: f64) -> WhatIf {
        WhatIf {
            place: place.to_owned(),
            calls: vec![],
            delayed: Delayed::Section,
            times: 1.0,
            seconds,
            sizes: vec![],
            rounds: 0,
            follows: None,
            failed: None,
            section_nanoseconds: None,
            saves_at_most: None,
            predicted: None,
        }
    }

    #[test]
    fn only_results_of_the_same_program_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let save = |command: &str, executable: &str, place, seconds| {
            let places = vec![whatif(place, seconds)];
            let document = Document::new(vec![command.to_owned()], executable.to_owned(), places);
            document.save(folder.path()).expect("a file");
            let saved = Document::of(folder.path()).expect("a file").expect("results");
            assert_eq!((&saved.command[0][..], &saved.executable[..]), (command, executable));
            saved.places.into_iter().map(|it| (it.place, it.seconds)).collect::<Vec<_>>()
        };
        let results = |all: &[(&str, f64)]| -> Vec<(String, f64)> {
            all.iter().map(|(place, seconds)| ((*place).to_owned(), *seconds)).collect()
        };
        save("./app", "/app", "a.c:1", 1.0);
        assert_eq!(save("./app", "/app", "b.c:2", 2.0), results(&[("b.c:2", 2.0), ("a.c:1", 1.0)]));
        assert_eq!(save("./app", "/app", "a.c:1", 3.0), results(&[("a.c:1", 3.0), ("b.c:2", 2.0)]));
        assert_eq!(save("./app", "/other", "c.c:3", 4.0), results(&[("c.c:3", 4.0)]));
        assert_eq!(save("./app -x", "/other", "d.c:4", 5.0), results(&[("d.c:4", 5.0)]));
    }
}

//! The guest's first file system: our first process, the files that it needs, and the user's files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::cpio::Archive;
use crate::needed::libraries;

/// The folders on which the first process mounts file systems, and the superuser's home.
const FOLDERS: [&str; 5] = ["/proc", "/sys", "/dev", "/tmp", "/root"];

/// An image under construction.
#[derive(Debug)]
pub struct Image {
    archive: Archive,
    /// The paths that [`Image::file`] has added.
    paths: BTreeSet<PathBuf>,
}

impl Image {
    /// Makes an image whose first process is this program.
    ///
    /// # Errors
    /// [`Error::Image`], if the program or one of its libraries is missing or can't be read.
    pub fn new(init: &Path) -> Result<Image, Error> {
        let mut image = Image { archive: Archive::default(), paths: BTreeSet::new() };
        FOLDERS.iter().for_each(|folder| image.archive.folder(folder));
        image.add_as(init, "/init")?;
        image.libraries_of(init)?;
        Ok(image)
    }

    /// Adds a program of this machine at the same path, with the libraries that it needs.
    ///
    /// # Errors
    /// Same errors as [`Image::new`].
    pub fn program(&mut self, path: &Path) -> Result<(), Error> {
        self.file(path)?;
        self.libraries_of(path)
    }

    /// Adds a file of this machine at the same path.
    ///
    /// # Errors
    /// [`Error::Image`], if it can't be read.
    pub fn file(&mut self, path: &Path) -> Result<(), Error> {
        if !self.paths.insert(path.to_owned()) {
            return Ok(());
        }
        self.add_as(path, &path.to_string_lossy())
    }

    /// Adds a file of this machine at another path.
    ///
    /// # Errors
    /// Same errors as [`Image::file`].
    pub fn add_as(&mut self, path: &Path, name: &str) -> Result<(), Error> {
        let failed = |error| Error::Image(format!("can't read {}: {error}", path.display()));
        let bytes = fs::read(path).map_err(failed)?;
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode() & 0o777;
        self.archive.file(name, mode, &bytes);
        Ok(())
    }

    /// Adds all files in a folder of this machine, at another path, with the libraries that
    /// programs among them need.
    ///
    /// # Errors
    /// [`Error::Image`], if the folder, a file or a library can't be read.
    pub fn tree(&mut self, folder: &Path, name: &str) -> Result<(), Error> {
        let failed = |error| Error::Image(format!("can't read {}: {error}", folder.display()));
        self.archive.folder(name);
        let entries = fs::read_dir(folder).map_err(failed)?;
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            let last = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{}/{last}", name.trim_end_matches('/'));
            if path.is_dir() {
                self.tree(&path, &name)?;
            } else {
                self.add_as(&path, &name)?;
                self.libraries_of(&path)?;
            }
        }
        Ok(())
    }

    /// Adds a text as a file.
    pub fn text(&mut self, path: &str, mode: u32, text: &str) {
        self.archive.file(path, mode, text.as_bytes());
    }

    /// Returns the image's bytes.
    pub fn finish(self) -> Vec<u8> {
        self.archive.finish()
    }

    fn libraries_of(&mut self, program: &Path) -> Result<(), Error> {
        for path in libraries(program).map_err(Error::Image)? {
            self.file(&path)?;
        }
        Ok(())
    }
}

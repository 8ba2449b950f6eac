//! A folder of a recording, to which recorded programs write.
//!
//! The reader of a folder may be root, and its writer another user who wants to deceive root. So
//! the folder is held open by a handle, and every file is opened relative to the handle, without
//! following a link. Nor may opening a file wait for another process, as it does for a fifo. What
//! was opened must be a plain file of an expected owner.
//!
//! Only its owner may access the folder. But a program that root records may give up its rights and
//! start other processes, which then can't make files in the folder. Therefore, if root records,
//! there is a subfolder for these processes, whose name begins with [`OTHERS`]. Any user who knows
//! its name may make files in it. The name is long and random, and only the recorded program gets
//! it.
//!
//! If a program is recorded in several runs, the folder itself has the first run, and a subfolder
//! with the prefix [`RUN`] has each further run. If a run is recorded in windows of time, each
//! window is a recording of its own, in a subfolder with the prefix [`WINDOW`].

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::Error;

/// The prefix of the name of the subfolder for processes of other users.
pub const OTHERS: &str = "others-";
/// The prefix of the name of the subfolder for a further run. The run's number follows, from 2 on.
pub const RUN: &str = "run-";
/// The prefix of the name of the subfolder for a window of time. The window's number follows, from
/// 1 on.
pub const WINDOW: &str = "window-";
/// The name of the subfolder in which a window is written, before it gets the name with its number.
pub const NEXT_WINDOW: &str = "window-next";
/// The name of the folder, inside a window's folder, that has the counts from the start of
/// recording to the window's end.
pub const SUMS: &str = "sums";
/// The folder, inside the folder of the oldest window that is kept, that has the counts from the
/// start of recording to the window's beginning; absent while no window was removed.
pub const BEFORE: &str = "before";
/// The access rights of new files: only the owner may read and write them.
const MODE: Mode = Mode::from_raw_mode(0o600);
const ROOT: u32 = 0;

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: OwnedFd,
    owner: u32,
}

impl Folder {
    /// Opens a folder that the user has named. Links in the path are followed.
    ///
    /// # Errors
    /// [`Error::Io`], also if the path is not that of a folder.
    pub fn open(path: &Path) -> Result<Folder, Error> {
        Folder::open_at(CWD, path, OFlags::empty(), path)
    }

    /// Opens the folder `name` in the open folder `parent`. A link is not followed. `shown` is the
    /// path for messages.
    ///
    /// # Errors
    /// Same errors as [`Folder::open`].
    pub fn open_in(parent: BorrowedFd<'_>, name: &OsStr, shown: &Path) -> Result<Folder, Error> {
        Folder::open_at(parent, Path::new(name), OFlags::NOFOLLOW, shown)
    }

    fn open_at(
        parent: BorrowedFd<'_>,
        name: &Path,
        more: OFlags,
        shown: &Path,
    ) -> Result<Folder, Error> {
        let io = |e: Errno| Error::Io { path: shown.to_owned(), source: e.into() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
        let handle = openat(parent, name, flags, Mode::empty()).map_err(io)?;
        let owner = fstat(&handle).map_err(io)?.st_uid;
        Ok(Folder { path: shown.to_owned(), handle, owner })
    }

    /// The path by which it was opened, or that was given for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the user who owns it.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// Whether this is the subfolder in which any user's processes may write.
    fn is_for_others(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default();
        name.as_bytes().starts_with(OTHERS.as_bytes())
    }

    /// Opens a plain file in the folder, for reading, or for reading and writing.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::NotPlain`] if it is not a plain file, or if it is to be written and
    /// has a second name; [`Error::Foreign`] if it is a folder that is opened for reading;
    /// [`Error::Owner`] if an unexpected user owns it.
    pub fn file(&self, name: &OsStr, writable: bool) -> Result<(File, Metadata), Error> {
        let path = || self.path.join(name);
        let io = |source: io::Error| Error::Io { path: path(), source };
        let access = if writable { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat(&self.handle, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            // `LOOP` is the error for a link, and `NXIO` that for a socket.
            Err(Errno::LOOP | Errno::NXIO) => return Err(Error::NotPlain(path())),
            Err(e) => return Err(io(e.into())),
        };
        let meta = file.metadata().map_err(io)?;
        if meta.is_dir() {
            return Err(Error::Foreign(path()));
        }
        // A file with a second name may belong to another folder, so it must not be written to.
        if !meta.is_file() || writable && meta.nlink() != 1 {
            return Err(Error::NotPlain(path()));
        }
        let expected = [self.owner, geteuid().as_raw(), ROOT];
        if !expected.contains(&meta.uid()) && !self.is_for_others() {
            return Err(Error::Owner { path: path(), owner: meta.uid(), folder: self.owner });
        }
        Ok((file, meta))
    }

    /// Writes a file in one step: a reader sees either the old content or all of the new one.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn put(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let next = format!("{name}.next");
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let write = || -> io::Result<()> {
            // An earlier process may have been killed before it could rename its file.
            self.remove(&next)?;
            let mut file = File::from(openat(&self.handle, &next, flags, MODE)?);
            file.write_all(content)?;
            Ok(renameat(&self.handle, &next, &self.handle, name)?)
        };
        write().map_err(|source| {
            // A file that was only partly written is of no use.
            let _ = self.remove(&next);
            Error::Io { path: self.path.join(name), source }
        })
    }

    /// Removes a file, if it exists.
    ///
    /// # Errors
    /// Those of the system. A missing file is not an error.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(&self.handle, name.as_ref(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The files with this ending in a folder and in its subfolder for other users, in the order of
/// their paths. If the path is a file, the result is only that file.
///
/// # Errors
/// [`Error::Io`]
pub fn files(path: &Path, ending: &str) -> Result<Vec<PathBuf>, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(io)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = listed(path, ending).map_err(io)?;
    for subfolder in others(path).map_err(io)? {
        files.extend(listed(&subfolder, ending).map_err(io)?);
    }
    files.sort();
    Ok(files)
}

fn listed(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let all = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    all.filter(|path: &io::Result<PathBuf>| {
        path.as_ref().map_or(true, |path| path.extension().is_some_and(|e| e == ending))
    })
    .collect()
}

/// The subfolder for processes of other users. A recording has at most one.
///
/// # Errors
/// Those of the system.
pub fn others(folder: &Path) -> io::Result<Vec<PathBuf>> {
    subfolders(folder, OTHERS)
}

/// The subfolders with the program's further runs, in the order of the runs.
///
/// # Errors
/// Those of the system.
pub fn runs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(numbered(folder, RUN)?.into_iter().map(|(_, path)| path).collect())
}

/// The windows of time that are still there, each with its number, in the order of these numbers.
///
/// # Errors
/// Those of the system.
pub fn windows(folder: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    numbered(folder, WINDOW)
}

/// The subfolders whose name is `start` followed by a number, in the order of these numbers.
fn numbered(folder: &Path, start: &str) -> io::Result<Vec<(u32, PathBuf)>> {
    let number = |path: PathBuf| {
        let number = path.file_name()?.to_str()?.strip_prefix(start)?.parse().ok()?;
        Some((number, path))
    };
    let mut found: Vec<_> = subfolders(folder, start)?.into_iter().filter_map(number).collect();
    found.sort();
    Ok(found)
}

fn subfolders(folder: &Path, start: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name: OsString = entry.file_name();
        // This is the type of the entry itself, and not that of the target of a link.
        if name.as_bytes().starts_with(start.as_bytes()) && entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

//! The folder to which a recording or a trace is written.
//!
//! Only its owner may list it or write to it. But root may record a program that continues as
//! another user. Then the program's new processes make their files in a subfolder, as
//! [`syncline_recording::folder`] describes. So if root records, other users may pass through the
//! folder to this subfolder, but may neither list the folder nor write to it.
//!
//! Only recordings and empty folders are ever deleted. A recording that is already at this path
//! becomes `DIR.old`, or is deleted if it has no process's file. An older recording of that name is
//! deleted after the program has ended. A folder that has anything else in it is refused and not
//! changed.

mod kind;
mod old;
mod parts;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf, absolute};

use nix::fcntl::{OFlag, open};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::{Mode, fchmod, fstat, mkdirat};
use nix::sys::statvfs::fstatvfs;
use nix::unistd::{UnlinkatFlags, getuid, unlinkat};
use syncline_recording::folder::{self, OTHERS};
use syncline_recording::{Refusal, Writers};

use crate::failure::{Failure, OTHER_DISK, RECORD_FAILED};
use kind::{Kind, kind_of};
use old::{give_back, keep_as_old, remove_older};
use parts::{failed, not_ours};

/// The least free space, in bytes, with which a recording is useful.
const LEAST_SPACE: u64 = 16 << 20;
/// The mode of the folder. Other users must not see addresses and arguments.
const MODE: u32 = 0o700;
/// The mode of the folder if other users may pass through it to their subfolder.
const MODE_WITH_OTHERS: u32 = 0o711;
/// The mode of the subfolder for other users. They may make files there and remove their own files,
/// but may not list the files.
const MODE_OF_OTHERS: u32 = 0o1733;

/// A folder that Syncline has made or taken, for a new recording.
pub struct Folder {
    opened: folder::Folder,
    /// The subfolder for other users, if root records.
    others: Option<folder::Folder>,
    made: bool,
    /// Whether a recording was moved away to make room for it.
    moved: bool,
}

impl Folder {
    /// Makes the folder. A recording that is already at this path is moved away first, or deleted
    /// if it has no process's file.
    ///
    /// # Errors
    /// With [`RECORD_FAILED`], if there is something other than a recording at this path, if a
    /// process still writes to the recording there, or if the disk or the access rights don't allow
    /// it.
    pub fn create(path: &Path) -> Result<Folder, Failure> {
        let path = absolute(path).map_err(|e| Failure::new(RECORD_FAILED, e))?;
        let (made, moved) = match kind_of(&path)? {
            Kind::Nothing => (true, false),
            Kind::EmptyFolder => (false, false),
            Kind::Recording => (true, keep_as_old(&path)?),
            Kind::Other => return Err(not_ours(&path)),
        };
        let opened = if made { make(&path)? } else { open_empty(&path)? };
        let mut folder = Folder { opened, others: None, made, moved };
        let prepared = folder.check_space().and_then(|()| folder.make_folder_for_other_users());
        prepared.inspect_err(|_| folder.discard())?;
        Ok(folder)
    }

    /// The absolute path of the folder.
    pub fn path(&self) -> &Path {
        self.opened.path()
    }

    /// The folder, opened.
    pub fn opened(&self) -> &folder::Folder {
        &self.opened
    }

    /// The environment variables that describe the folder to the library in the program: its path,
    /// its device and inode numbers, and the name of its subfolder for other users' processes.
    ///
    /// # Errors
    /// With [`RECORD_FAILED`], if the folder's device and inode numbers can't be read.
    pub fn variables(
        &self,
        [path, identity, name]: [&'static str; 3],
    ) -> Result<[(&'static str, OsString); 3], Failure> {
        let stat = fstat(&self.opened).map_err(|e| Failure::new(RECORD_FAILED, e))?;
        let others = self.others.as_ref().and_then(|others| others.path().file_name());
        Ok([
            (path, self.path().into()),
            (identity, format!("{}:{}", stat.st_dev, stat.st_ino).into()),
            (name, others.unwrap_or_default().into()),
        ])
    }

    /// Calls a function for each file with this extension that can be opened.
    pub fn for_each_file(&self, ending: &str, mut each: impl FnMut(PathBuf, File, &Metadata)) {
        for path in folder::files(self.path(), ending).unwrap_or_default() {
            let in_others = path.parent() != Some(self.path());
            let folder = if in_others { self.others.as_ref() } else { Some(&self.opened) };
            if let (Some(folder), Some(name)) = (folder, path.file_name())
                && let Ok((file, meta)) = folder.file(name, true)
            {
                each(path, file, &meta);
            }
        }
    }

    /// Undoes what [`Folder::create`] did, because nothing was recorded. Errors are ignored: what
    /// can't be removed is empty and harmless.
    pub fn discard(&self) {
        self.close();
        if self.made {
            let _ = fs::remove_dir(self.path());
        }
        if self.moved {
            give_back(self.path());
        }
    }

    /// Deletes the recording that had the name `DIR.old` before the present one got it. If it has
    /// thousands of files, this takes long, so it is done after the program has ended. Errors are
    /// ignored: what can't be deleted now is deleted or refused the next time.
    pub fn remove_older(&self) {
        let _ = remove_older(self.path());
    }

    /// Ends other users' access to the folder. Called when no process writes to it any more.
    pub fn close(&self) {
        let Some(others) = &self.others else { return };
        let name = others.path().file_name().unwrap_or_default();
        // A subfolder that is not empty has recordings in it. It stays, but other users can't
        // access it any more.
        if unlinkat(&self.opened, name, UnlinkatFlags::RemoveDir).is_err() {
            let _ = fchmod(others, Mode::from_bits_truncate(MODE));
        }
        if self.made {
            let _ = fchmod(&self.opened, Mode::from_bits_truncate(MODE));
        }
    }

    fn check_space(&self) -> Result<(), Failure> {
        // If the free space is unknown, a lack of it shows when files are written.
        let free = fstatvfs(&self.opened)
            .map_or(u64::MAX, |fs| fs.blocks_available().saturating_mul(fs.fragment_size()));
        if free < LEAST_SPACE {
            let message = format!(
                "only {} KiB are free for {}, but a recording needs {} MiB",
                free >> 10,
                self.path().display(),
                LEAST_SPACE >> 20
            );
            return Err(Failure::message(RECORD_FAILED, message).hint(OTHER_DISK));
        }
        Ok(())
    }

    /// Makes the subfolder for other users, if processes of other users may be recorded.
    fn make_folder_for_other_users(&mut self) -> Result<(), Failure> {
        if !getuid().is_root() {
            return Ok(());
        }
        let name = unguessable().map_err(|e| failed("create", self.path(), e))?;
        let path = self.path().join(&name);
        let others = make_in(&self.opened, &name, &path)?;
        let allow = |folder: &folder::Folder, mode| {
            fchmod(folder, Mode::from_bits_truncate(mode))
                .map_err(|e| failed("set the access rights of", folder.path(), e.into()))
        };
        allow(&others, MODE_OF_OTHERS)?;
        self.others = Some(others);
        if self.made { allow(&self.opened, MODE_WITH_OTHERS) } else { Ok(()) }
    }
}

/// A name for the subfolder that other users can't guess.
fn unguessable() -> io::Result<OsString> {
    let mut number = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut number)?;
    Ok(format!("{OTHERS}{:032x}", u128::from_ne_bytes(number)).into())
}

/// The size that a process's file may have: the requested size, or less if there is a limit on this
/// process (`ulimit -f`), since a larger file would end the program.
///
/// # Errors
/// With [`RECORD_FAILED`], if this size is too small for a recording.
pub fn largest_file(asked: u64) -> Result<u64, Failure> {
    let limit = getrlimit(Resource::RLIMIT_FSIZE).map_or(u64::MAX, |(soft, _)| soft);
    let size = asked.min(limit);
    if size < LEAST_SPACE {
        let (what, hint) = if asked <= limit {
            ("--max-size", "raise --max-size")
        } else {
            ("the limit on file sizes (ulimit -f)", "raise it with `ulimit -f unlimited`")
        };
        let least = LEAST_SPACE >> 20;
        let message = format!("{what} is under {least} MiB, too little for a recording");
        return Err(Failure::message(RECORD_FAILED, message).hint(hint));
    }
    Ok(size)
}

/// Notes in an existing recording that a later run, which should have replaced it, was refused.
/// Otherwise the user could take it for the recording of the later run. If the command can't run at
/// all ([`Failure::is_of_no_run`]), there is no later run, and nothing is noted.
pub fn note_refusal(path: &Path, command: &[OsString], why: &Failure) {
    if why.is_of_no_run() {
        return;
    }
    let is_recording = matches!(kind_of(path), Ok(Kind::Recording));
    if !is_recording || !Writers::of(path).processes().is_empty() {
        return;
    }
    let command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let refusal = Refusal { command, why: why.what() };
    // If writing fails, there is no note.
    let _ = folder::Folder::open(path).and_then(|folder| refusal.write(&folder));
}

fn make(path: &Path) -> Result<folder::Folder, Failure> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().ok_or_else(|| not_ours(path))?;
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let opened =
        open(parent, flags, Mode::empty()).map_err(|e| failed("create", path, e.into()))?;
    let path = parent.canonicalize().unwrap_or_else(|_| parent.to_owned()).join(name);
    make_in(&opened, name, &path)
}

fn make_in(parent: &impl AsFd, name: &OsStr, path: &Path) -> Result<folder::Folder, Failure> {
    mkdirat(parent, name, Mode::from_bits_truncate(MODE))
        .map_err(|e| failed("create", path, e.into()))?;
    folder::Folder::open_in(parent.as_fd(), name, path).map_err(|e| Failure::new(RECORD_FAILED, e))
}

/// Opens an empty folder that the user has made. The folder keeps its access rights, so they are
/// checked.
fn open_empty(path: &Path) -> Result<folder::Folder, Failure> {
    const WRITABLE_BY_ALL: u32 = 0o002;
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let opened = folder::Folder::open(&path).map_err(|e| Failure::new(RECORD_FAILED, e))?;
    let mode = fstat(&opened).map_or(WRITABLE_BY_ALL, |stat| stat.st_mode);
    let why = if opened.owner() != getuid().as_raw() {
        format!("it belongs to user {}", opened.owner())
    } else if mode & WRITABLE_BY_ALL != 0 {
        "every user may write to it".to_owned()
    } else {
        return Ok(opened);
    };
    let message = format!("{} can't hold a recording: {why}", path.display());
    Err(Failure::message(RECORD_FAILED, message)
        .hint("with -o, name a folder that does not exist yet, such as one inside it"))
}

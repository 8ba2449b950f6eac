//! The folder of a recording or a trace, in which a recorded process makes its file.
//!
//! Only the folder's owner may use it. A process that has dropped its privileges can't create its
//! file there, so it uses the subfolder that `record` made for such processes. Any user who knows
//! the subfolder's name may create files in it, but only recorded processes get the name. To open
//! the folder while the process still has its rights would not help. The kernel checks rights when
//! a file is made; daemons close descriptors that they don't know; and a newly executed program
//! would find an open descriptor that it did not ask for.
//!
//! The path may lead elsewhere by now: the process may be in another mount namespace, or a user who
//! may write to a parent folder may have put something else there. So the folder is recognised by
//! its identity, and files are made relative to a handle on it.
//!
//! Nothing here calls libc, whose functions a program can replace.

use core::ffi::CStr;

use rustix::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fchmod, fstat, openat, unlinkat};
use rustix::io::Errno;

use crate::environment::variable;

/// Bytes of the longest path of a folder.
const LONGEST_PATH: usize = 4000;
/// Bytes for a name. Two numbers, an ending and a zero byte take fewer, and so does the subfolder's
/// name.
const NAME_ROOM: usize = 64;
/// The highest *N* in the names of files of one process number, `PID.N.ENDING`.
const IMAGES: u32 = 100_000;
/// Readable and writable by its owner alone.
const MODE: Mode = Mode::from_raw_mode(0o600);

/// The folder that this process is to write to.
#[derive(Clone, Copy, Debug)]
pub struct Folder {
    /// The path. It and `others` end in a zero byte.
    path: [u8; LONGEST_PATH],
    /// The subfolder's name; empty if there is none.
    others: [u8; NAME_ROOM],
    /// The folder's device and inode number; zeros if they are unknown.
    identity: (u64, u64),
}

impl Folder {
    /// No folder: no file can be made in it.
    pub const NONE: Folder =
        Folder { path: [0; LONGEST_PATH], others: [0; NAME_ROOM], identity: (0, 0) };

    /// The folder with this path, without a subfolder; `None` if the path is too long.
    pub fn new(path: &[u8]) -> Option<Folder> {
        let mut folder = Folder::NONE;
        copy(path, &mut folder.path)?;
        Some(folder)
    }

    /// The folder that these environment variables describe: its path, its identity as
    /// `DEVICE:NUMBER`, and the name of the subfolder. `None` if there is no path, or if a variable
    /// is invalid.
    pub fn from_environment([path, identity, others]: [&CStr; 3]) -> Option<Folder> {
        let mut folder = Folder::new(variable(path)?.to_bytes())?;
        if let Some(others) = variable(others) {
            copy(others.to_bytes(), &mut folder.others)?;
        }
        if let Some(identity) = variable(identity) {
            let (device, number) = identity.to_str().ok()?.split_once(':')?;
            folder.identity = (device.parse().ok()?, number.parse().ok()?);
        }
        Some(folder)
    }

    fn open(&self) -> Result<Handle, Errno> {
        let folder = open(CWD, &self.path)?;
        let found = fstat(&folder)?;
        if self.identity != (0, 0) && self.identity != (found.st_dev, found.st_ino) {
            return Err(Errno::STALE);
        }
        Ok(folder)
    }

    /// Opens the last file that a process has made in the folder, for reading and writing. Files in
    /// the subfolder are not opened, because another user may have made them.
    ///
    /// # Errors
    /// [`Errno::NOENT`] if the process has made none, [`Errno::STALE`] if the path leads to another
    /// folder, and the system's errors.
    pub fn last(&self, pid: u32, ending: &str) -> Result<impl AsFd + use<>, Errno> {
        let folder = self.open()?;
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut last = Err(Errno::NOENT);
        for n in 0..=IMAGES {
            match openat(&folder, Name::new(pid, n, ending).text(), flags, Mode::empty()) {
                Ok(file) => last = Ok(Handle::new(file)),
                Err(_) if last.is_ok() => break,
                Err(e) => return Err(e),
            }
        }
        last
    }

    /// Makes `PID.ENDING` or, if that exists, the first `PID.N.ENDING` that does not. Makes it in
    /// the subfolder if the process has no right to make files in the folder.
    pub(crate) fn create(&self, pid: u32, ending: &str) -> Result<Created, Errno> {
        let folder = self.open()?;
        match make(&folder, pid, ending) {
            Ok((file, name)) => Ok(Created { file, folder, name }),
            Err(Errno::ACCESS) if self.others[0] != 0 => {
                let folder = open(folder.as_fd(), &self.others)?;
                let (file, name) = make(&folder, pid, ending)?;
                Ok(Created { file, folder, name })
            }
            Err(e) => Err(e),
        }
    }
}

/// Copies text to a field of zeros, and leaves at least one zero after the text. `None` if the text
/// does not fit.
fn copy(text: &[u8], field: &mut [u8]) -> Option<()> {
    let end = field.len() - 1;
    field[..end].get_mut(..text.len())?.copy_from_slice(text);
    Some(())
}

/// Opens a folder, but not through a link. `O_PATH` needs no right to read the folder.
fn open(parent: BorrowedFd<'_>, name: &[u8]) -> Result<Handle, Errno> {
    let name = CStr::from_bytes_until_nul(name).map_err(|_| Errno::NAMETOOLONG)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        match openat(parent, name, flags, Mode::empty()) {
            Err(Errno::INTR) => {}
            opened => return opened.map(Handle::new),
        }
    }
}

fn make(folder: &Handle, pid: u32, ending: &str) -> Result<(Handle, Name), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut n = 0;
    loop {
        let name = Name::new(pid, n, ending);
        match openat(folder, name.text(), flags, MODE) {
            Ok(file) => {
                let file = Handle::new(file);
                // The program's umask may have removed rights that a reader needs.
                let _ = fchmod(&file, MODE);
                return Ok((file, name));
            }
            Err(Errno::EXIST) if n < IMAGES => n += 1,
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
}

/// A file that this process has just made. So it is a plain, empty file that the process owns.
pub(crate) struct Created {
    file: Handle,
    folder: Handle,
    name: Name,
}

impl Created {
    /// The file.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Removes the file's name from the folder.
    pub(crate) fn remove(&self) {
        let _ = unlinkat(&self.folder, self.name.text(), AtFlags::empty());
    }
}

/// The name of a file, without an allocation.
struct Name {
    bytes: [u8; NAME_ROOM],
    length: usize,
}

impl Name {
    fn new(pid: u32, n: u32, ending: &str) -> Name {
        let mut name = Name { bytes: [0; NAME_ROOM], length: 0 };
        name.push_decimal(pid);
        if n > 0 {
            name.push(b".");
            name.push_decimal(n);
        }
        name.push(b".");
        name.push(ending.as_bytes());
        name
    }

    fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    fn push(&mut self, part: &[u8]) {
        self.bytes[self.length..self.length + part.len()].copy_from_slice(part);
        self.length += part.len();
    }

    fn push_decimal(&mut self, mut n: u32) {
        let mut digits = [0; 10];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                return self.push(&digits[start..]);
            }
        }
    }
}

/// A descriptor that is closed by a system call, and not by libc's `close`, which may be the
/// program's.
struct Handle(RawFd);

impl Handle {
    fn new(descriptor: OwnedFd) -> Handle {
        Handle(descriptor.into_raw_fd())
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open until this value is dropped.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours, and no code uses it any more.
        unsafe { rustix::io::close(self.0) };
    }
}

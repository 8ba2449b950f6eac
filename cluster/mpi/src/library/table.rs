//! The constants of the known MPI libraries, and the choice of the library that is loaded.

use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use syncline_interpose::{definition, next_definition};

use super::word::Word;
use crate::say::say;

/// What windows need to know about an MPI library.
#[derive(Debug)]
pub struct Constants {
    /// Whether handles are `int`s and not pointers.
    pub narrow: bool,
    /// `MPI_LOCK_EXCLUSIVE`.
    pub lock_exclusive: i32,
    /// `MPI_LOCK_SHARED`.
    pub lock_shared: i32,
    /// `MPI_MODE_NOCHECK`.
    pub mode_nocheck: i32,
    /// `MPI_PROC_NULL`.
    pub proc_null: i32,
    /// `MPI_STATUS_IGNORE`.
    pub status_ignore: Word,
    /// `MPI_INFO_NULL`.
    pub info_null: Word,
    /// `MPI_BYTE`.
    pub byte: Word,
    /// `MPI_ERRORS_RETURN`.
    pub errors_return: Word,
    /// `MPI_WIN_CREATE_FLAVOR`.
    pub win_create_flavor: i32,
    /// `MPI_WIN_FLAVOR_ALLOCATE`.
    pub win_flavor_allocate: i32,
    /// `MPI_WIN_MODEL`.
    pub win_model: i32,
    /// `MPI_WIN_UNIFIED`.
    pub win_unified: i32,
    /// `MPI_THREAD_MULTIPLE`.
    pub thread_multiple: i32,
    /// `MPI_ERR_COUNT`.
    pub err_count: i32,
    /// `MPI_ERR_RANK`.
    pub err_rank: i32,
    /// `MPI_ERR_LOCKTYPE`.
    pub err_locktype: i32,
    /// `MPI_ERR_RMA_SYNC`.
    pub err_rma_sync: i32,
    /// `MPI_ERR_INFO_VALUE`.
    pub err_info_value: i32,
    /// `MPI_ERR_UNSUPPORTED_OPERATION`.
    pub err_unsupported_operation: i32,
}

impl Constants {
    /// The handle in an argument: the whole word, or its lower half if handles are `int`s.
    #[inline]
    pub fn handle(&self, word: Word) -> Word {
        if self.narrow { word & 0xffff_ffff } else { word }
    }

    /// Reads the handle at an address.
    ///
    /// # Safety
    ///
    /// `at` is the address of a handle of this library.
    pub unsafe fn read_handle(&self, at: Word) -> Word {
        // SAFETY: our caller's promise. A handle has 32 bits if handles are `int`s, and 64
        // otherwise.
        unsafe {
            if self.narrow {
                std::ptr::with_exposed_provenance::<u32>(at).read() as Word
            } else {
                std::ptr::with_exposed_provenance::<Word>(at).read()
            }
        }
    }
}

/// The constants of the loaded library. If the library is unknown, returns `None` and reports that
/// once.
#[inline]
pub fn constants() -> Option<&'static Constants> {
    static CONSTANTS: OnceLock<Option<Constants>> = OnceLock::new();
    CONSTANTS.get_or_init(find).as_ref()
}

fn find() -> Option<Constants> {
    let lock = next_definition(c"PMPI_Win_lock", None);
    // If a program opens the library itself, it may do so by a symbolic link.
    let path = file_of(lock);
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().unwrap_or_default().as_bytes();
    // The number is the version of the library's binary interface, and not of the library. 40
    // stands for Open MPI 3 to 5. 12 stands for MPICH 3.1 to 5 and for libraries with a compatible
    // interface, such as Intel's.
    let known = if name.starts_with(b"libmpi.so.40") {
        open_mpi()
    } else if name.starts_with(b"libmpi_abi.so") {
        Some(standard())
    } else if [&b"libmpich.so.12"[..], b"libmpi.so.12"].iter().any(|it| name.starts_with(it)) {
        Some(mpich())
    } else {
        None
    };
    if known.is_none() {
        say(&format!(
            "windows keep the MPI library's own locks: {} is none of the known MPI libraries: \
             Open MPI (libmpi.so.40), MPICH (libmpich.so.12, libmpi.so.12) and those with \
             the standard's own binary interface (libmpi_abi.so)",
            path.display()
        ));
    }
    known
}

/// The file that contains an address.
fn file_of(address: *mut c_void) -> &'static Path {
    // SAFETY: a structure of pointers may be zero. `dladdr` fills it in or leaves it unchanged. The
    // name that it returns stays valid as long as the library, which is never unloaded.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &raw mut found) == 0 || found.dli_fname.is_null() {
            return Path::new("the library");
        }
        Path::new(OsStr::from_bytes(CStr::from_ptr(found.dli_fname).to_bytes()))
    }
}

/// Open MPI: handles are pointers, and the handle of a predefined object is the address of a
/// variable in the library.
fn open_mpi() -> Option<Constants> {
    let variable = |name| Some(definition(name).expose_provenance()).filter(|at| *at != 0);
    Some(Constants {
        narrow: false,
        lock_exclusive: 1,
        lock_shared: 2,
        mode_nocheck: 1,
        proc_null: -2,
        status_ignore: 0,
        info_null: variable(c"ompi_mpi_info_null")?,
        byte: variable(c"ompi_mpi_byte")?,
        errors_return: variable(c"ompi_mpi_errors_return")?,
        win_create_flavor: 10,
        win_flavor_allocate: 2,
        win_model: 11,
        win_unified: 0,
        thread_multiple: 3,
        err_count: 2,
        err_rank: 6,
        err_locktype: 37,
        err_rma_sync: 47,
        err_info_value: 33,
        err_unsupported_operation: 52,
    })
}

/// MPICH: handles are numbers.
fn mpich() -> Constants {
    Constants {
        narrow: true,
        lock_exclusive: 234,
        lock_shared: 235,
        mode_nocheck: 1024,
        proc_null: -1,
        status_ignore: 1,
        info_null: 0x1c00_0000,
        byte: 0x4c00_010d,
        errors_return: 0x5400_0001,
        win_create_flavor: 0x6600_0007,
        win_flavor_allocate: 2,
        win_model: 0x6600_0009,
        win_unified: 2,
        thread_multiple: 3,
        err_count: 2,
        err_rank: 6,
        err_locktype: 47,
        err_rma_sync: 50,
        err_info_value: 30,
        err_unsupported_operation: 44,
    }
}

/// The binary interface that MPI 5.0 defines: handles are pointers, and those of predefined objects
/// are small numbers.
fn standard() -> Constants {
    Constants {
        narrow: false,
        lock_exclusive: 301,
        lock_shared: 302,
        mode_nocheck: 1024,
        proc_null: -3,
        status_ignore: 0,
        info_null: 0x130,
        byte: 0x247,
        errors_return: 0x143,
        win_create_flavor: 604,
        win_flavor_allocate: 312,
        win_model: 605,
        win_unified: 321,
        thread_multiple: 4096,
        err_count: 2,
        err_rank: 6,
        err_locktype: 37,
        err_rma_sync: 50,
        err_info_value: 33,
        err_unsupported_operation: 55,
    }
}

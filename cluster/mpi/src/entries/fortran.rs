//! Support for Fortran programs. The MPI libraries' Fortran functions call the C functions, and so
//! reach ours. The look-up of a window's attributes is an exception: for it, each library calls a
//! function of another name.

use std::ffi::c_int;

use crate::library::{Constants, SUCCESS, Word, constants};
use crate::registry::with;

syncline_interpose::real! {
    fn PMPI_Win_f2c(win: c_int) -> Word;
    fn pmpi_win_get_attr_(win: *const c_int, key: *const c_int, attribute: *mut isize,
        found: *mut c_int, error: *mut c_int) -> ();
    fn MPII_Win_get_attr(win: c_int, key: c_int, attribute: *mut isize, found: *mut c_int,
        kind: c_int) -> c_int;
}

/// The value with which MPICH's functions request an attribute in Fortran's form and not in C's.
const OF_FORTRAN: c_int = 1;

/// `MPI_Win_get_attr` of `mpif.h` and of the module `mpi`, as in the standard. For a window that
/// `MPI_Win_allocate` has made, it reports that flavour, even if the MPI library has made a shared
/// window for it.
///
/// # Safety
///
/// The first two numbers are read, and the other three may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_win_get_attr_(
    win: *const c_int,
    key: *const c_int,
    attribute: *mut isize,
    found: *mut c_int,
    error: *mut c_int,
) {
    // SAFETY: the program's own call, passed on unchanged to another name of the library's
    // function.
    unsafe {
        pmpi_win_get_attr_(win, key, attribute, found, error);
        if *found != 0 {
            correct(*win, *key, attribute);
        }
    }
}

const _: () = {
    /// `mpi_win_get_attr_` under the name that Open MPI's module `mpi_f08` calls.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn pmpi_win_get_attr_(
        win: *const c_int,
        key: *const c_int,
        attribute: *mut isize,
        found: *mut c_int,
        error: *mut c_int,
    ) {
        // SAFETY: our caller's promise.
        unsafe { mpi_win_get_attr_(win, key, attribute, found, error) }
    }

    /// The function that MPICH's module `mpi_f08` calls.
    #[unsafe(export_name = "MPII_Win_get_attr")]
    unsafe extern "C" fn of_mpich(
        win: c_int,
        key: c_int,
        attribute: *mut isize,
        found: *mut c_int,
        kind: c_int,
    ) -> c_int {
        // SAFETY: the library's own call, passed on unchanged.
        unsafe {
            let code = MPII_Win_get_attr(win, key, attribute, found, kind);
            if code == SUCCESS && kind == OF_FORTRAN && *found != 0 {
                correct(win, key, attribute);
            }
            code
        }
    }
};

/// Writes the flavour of a window that `MPI_Win_allocate` has made, if `key` requests the flavour.
///
/// # Safety
///
/// `attribute` may be written to, and holds the attribute that the MPI library found.
unsafe fn correct(win: c_int, key: c_int, attribute: *mut isize) {
    if let Some(mpi) = constants()
        && is_flavor(mpi, key)
        && with(handle(mpi, win), |window| window.made.shared_below) == Some(true)
    {
        // SAFETY: our caller's promise.
        unsafe { attribute.write(mpi.win_flavor_allocate as isize) };
    }
}

/// Whether a Fortran key is `MPI_WIN_CREATE_FLAVOR`. That is C's key or, in MPICH, the number after
/// it.
fn is_flavor(mpi: &Constants, key: c_int) -> bool {
    key == mpi.win_create_flavor + c_int::from(mpi.narrow)
}

/// The C handle of a window with this Fortran number.
fn handle(mpi: &Constants, win: c_int) -> Word {
    // SAFETY: the window is the program's.
    if mpi.narrow { win as u32 as Word } else { unsafe { PMPI_Win_f2c(win) } }
}

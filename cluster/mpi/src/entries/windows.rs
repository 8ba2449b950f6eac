//! Functions that make and free windows, and functions for a window's Info object and attributes.

use std::ffi::{CString, c_int};

use syncline_interpose::real;

use crate::create::{Kind, create};
use crate::hosts::forget;
use crate::library::large::{is_too_large, large};
use crate::library::{SUCCESS, Word, below, constants};
use crate::ranks::{HOST_MEMORY, KEY, wrong};
use crate::registry::{add, remove, with};
use crate::say::say;
use crate::scheme::LIBRARY;

/// `real fn NAME = KIND, BELOW, SHARED(arguments before the Info object; between the communicator
/// and the window)`, or `large fn NAME = KIND, BELOW or PLAIN, SHARED(...)`. BELOW is the MPI
/// library's function, and for PLAIN see `large!`. SHARED makes a window of the same size in shared
/// memory; it is called only for `Kind::Allocated`.
macro_rules! making {
    ($($width:ident fn $name:ident = $kind:expr, $below:ident $(or $plain:ident)?, $shared:ident
        ($($before:ident),*; $($base:ident)?);)*) =>
    {
        $(
            $width! {
                fn $below $(or $plain)?($($before: Word,)* info: Word, comm: Word
                    $(, $base: Word)?, win: Word) -> c_int;
            }
            /// As in the MPI standard. The window may be under a scheme.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($before: Word,)* info: Word, comm: Word $(, $base: Word)?,
                win: Word) -> c_int
            {
                if stringify!($width) == "large"
                    && is_too_large(&[$((stringify!($before), $before),)*])
                    && let Some(mpi) = constants()
                {
                    // SAFETY: the communicator is the program's.
                    unsafe { below::PMPI_Comm_call_errhandler(comm, mpi.err_count) };
                    return mpi.err_count;
                }
                create($kind, info, comm, win, |is_shared, info| {
                    let below = if is_shared { $shared } else { $below };
                    // SAFETY: the program's own call, passed on unchanged; both functions take the
                    // same arguments.
                    unsafe { below($($before,)* info, comm $(, $base)?, win) }
                })
            }
            also! {
                fn $below($($before: Word,)* info: Word, comm: Word $(, $base: Word)?, win: Word)
                    = $name
            }
        )*
    };
}

making! {
    real fn MPI_Win_create = Kind::Private, PMPI_Win_create, PMPI_Win_create(base, size, unit;);
    real fn MPI_Win_allocate = Kind::Allocated, PMPI_Win_allocate, PMPI_Win_allocate_shared
        (size, unit; base);
    real fn MPI_Win_allocate_shared = Kind::Shared, PMPI_Win_allocate_shared,
        PMPI_Win_allocate_shared(size, unit; base);
    real fn MPI_Win_create_dynamic = Kind::Private, PMPI_Win_create_dynamic,
        PMPI_Win_create_dynamic(;);
    large fn MPI_Win_create_c = Kind::Private, PMPI_Win_create_c or PMPI_Win_create,
        PMPI_Win_create_c(base, size, unit;);
    large fn MPI_Win_allocate_c = Kind::Allocated, PMPI_Win_allocate_c or PMPI_Win_allocate,
        PMPI_Win_allocate_shared_c(size, unit; base);
    large fn MPI_Win_allocate_shared_c = Kind::Shared,
        PMPI_Win_allocate_shared_c or PMPI_Win_allocate_shared,
        PMPI_Win_allocate_shared_c(size, unit; base);
}

/// As in the MPI standard.
#[unsafe(no_mangle)]
extern "C" fn MPI_Win_free(win: Word) -> c_int {
    // SAFETY: the program's pointer to the handle of a window.
    let handle = constants().map(|mpi| unsafe { mpi.read_handle(win) });
    if let Some(handle) = handle
        && let Some(code) = with(handle, |window| window.close())
    {
        if code != SUCCESS {
            return code;
        }
        // The window is removed from the table before it is freed, since the next window may get
        // the same handle. The window's locks are dropped after it is freed: no rank returns from
        // `PMPI_Win_free` before all ranks have called it, so no rank uses the locks then.
        let window = remove(handle);
        // SAFETY: the program's own call, passed on unchanged.
        let code = unsafe { below::PMPI_Win_free(win) };
        match window {
            Some(window) if code != SUCCESS => add(handle, window),
            Some(window) => window.made.served.into_iter().for_each(forget),
            None => {}
        }
        return code;
    }
    // SAFETY: as above.
    unsafe { below::PMPI_Win_free(win) }
}

/// As in the MPI standard. The scheme of an existing window does not change: a library may ignore
/// hints, and `MPI_Win_get_info` returns the values that are in use. A value that our keys can't
/// have is an error at the ranks that pass it. Because the call is collective, these ranks take
/// part in it before they return the error.
#[unsafe(no_mangle)]
extern "C" fn MPI_Win_set_info(win: Word, info: Word) -> c_int {
    // SAFETY: the program's own call, passed on unchanged.
    let code = unsafe { below::PMPI_Win_set_info(win, info) };
    let Some(mpi) = constants().filter(|_| code == SUCCESS) else { return code };
    let Some(why) = wrong(mpi, info) else { return code };
    say(&format!("MPI_Win_set_info: {why}"));
    // SAFETY: the window is the program's.
    unsafe { below::PMPI_Win_call_errhandler(win, mpi.err_info_value) };
    mpi.err_info_value
}

/// As in the MPI standard. The Info object also has the window's scheme, and whether puts and gets
/// may be performed as copies.
#[unsafe(no_mangle)]
extern "C" fn MPI_Win_get_info(win: Word, info: Word) -> c_int {
    // SAFETY: the program's own call, passed on unchanged.
    let code = unsafe { below::PMPI_Win_get_info(win, info) };
    let Some(mpi) = constants().filter(|_| code == SUCCESS) else { return code };
    let (name, is_mapped) =
        with(win, |window| (window.made.scheme.name(), window.made.parts.is_some()))
            .unwrap_or((LIBRARY, false));
    let Ok(name) = CString::new(name) else { return code };
    let mapped = if is_mapped { c"true" } else { c"false" };
    // SAFETY: the MPI library has written the handle of an Info object there. All other arguments
    // are strings.
    unsafe {
        let info = mpi.read_handle(info);
        match below::PMPI_Info_set(info, KEY.as_ptr(), name.as_ptr()) {
            SUCCESS => below::PMPI_Info_set(info, HOST_MEMORY.as_ptr(), mapped.as_ptr()),
            code => code,
        }
    }
}

/// As in the MPI standard. For a window that `MPI_Win_allocate` has made, this reports that
/// flavour, even if the MPI library has made a shared window for it.
#[unsafe(no_mangle)]
extern "C" fn MPI_Win_get_attr(
    win: Word,
    key: c_int,
    attribute: *mut *const c_int,
    found: *mut c_int,
) -> c_int {
    // SAFETY: the program's own call, passed on unchanged.
    let code = unsafe { below::PMPI_Win_get_attr(win, key, attribute, found) };
    if let Some(mpi) = constants()
        && code == SUCCESS
        && key == mpi.win_create_flavor
        && with(win, |window| window.made.shared_below) == Some(true)
    {
        // SAFETY: the MPI library has written the address of the flavour there.
        unsafe { attribute.write(&raw const mpi.win_flavor_allocate) };
    }
    code
}

also! { fn PMPI_Win_free(win: Word) = MPI_Win_free }
also! { fn PMPI_Win_set_info(win: Word, info: Word) = MPI_Win_set_info }
also! { fn PMPI_Win_get_info(win: Word, info: Word) = MPI_Win_get_info }
also! {
    fn PMPI_Win_get_attr(win: Word, key: c_int, attribute: *mut *const c_int, found: *mut c_int)
        = MPI_Win_get_attr
}

//! The functions of epochs: locks and flushes, and calls that begin another kind of epoch.

use std::ffi::c_int;

use crate::library::{SUCCESS, Word, below};
use crate::registry::with;

/// An exported function of MPI. For a window under a scheme it calls our code (`=> |window| ...`),
/// and for other windows the MPI library's function.
macro_rules! entry {
    ($(fn $name:ident($($arg:ident: $type:ty),*) else $below:ident => $ours:expr;)*) => {
        $(
            /// As in the MPI standard.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($arg: $type,)* win: Word) -> c_int {
                with(win, $ours).unwrap_or_else(|| {
                    // SAFETY: the program's own call, passed on unchanged.
                    unsafe { below::$below($($arg,)* win) }
                })
            }
            also! { fn $below($($arg: $type,)* win: Word) = $name }
        )*
    };
}

entry! {
    fn MPI_Win_lock(kind: c_int, rank: c_int, assert: c_int) else PMPI_Win_lock
        => |window| window.lock(kind, rank, assert);
    fn MPI_Win_unlock(rank: c_int) else PMPI_Win_unlock => |window| window.unlock(rank);
    fn MPI_Win_lock_all(assert: c_int) else PMPI_Win_lock_all => |window| window.lock_all(assert);
    fn MPI_Win_unlock_all() else PMPI_Win_unlock_all => |window| window.unlock_all();
    fn MPI_Win_flush(rank: c_int) else PMPI_Win_flush => |window| window.flush(rank, false);
    fn MPI_Win_flush_local(rank: c_int) else PMPI_Win_flush_local
        => |window| window.flush(rank, true);
    fn MPI_Win_flush_all() else PMPI_Win_flush_all => |window| window.flush_all(false);
    fn MPI_Win_flush_local_all() else PMPI_Win_flush_local_all => |window| window.flush_all(true);
}

/// An exported function of MPI that first closes the epoch which we keep open in the MPI library.
macro_rules! closing {
    ($(fn $name:ident($($arg:ident: $type:ty),*) else $below:ident;)*) => {
        $(
            /// As in the MPI standard.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($arg: $type,)* win: Word) -> c_int {
                match with(win, |window| window.close()) {
                    // SAFETY: the program's own call, passed on unchanged.
                    None | Some(SUCCESS) => unsafe { below::$below($($arg,)* win) },
                    Some(code) => code,
                }
            }
            also! { fn $below($($arg: $type,)* win: Word) = $name }
        )*
    };
}

closing! {
    fn MPI_Win_fence(assert: c_int) else PMPI_Win_fence;
    fn MPI_Win_post(group: Word, assert: c_int) else PMPI_Win_post;
    fn MPI_Win_start(group: Word, assert: c_int) else PMPI_Win_start;
}

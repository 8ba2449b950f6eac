//! The MPI library's functions, with the prefix `PMPI_`: the standard provides these names for
//! libraries that interpose on MPI.
//!
//! Arguments that are only passed on are declared as [`Word`]s; the module `word` says why that is
//! sound.

use std::ffi::{c_char, c_int, c_void};

use super::word::Word;

/// The value that MPI's functions return if they succeed.
pub const SUCCESS: i32 = 0;

syncline_interpose::real! {
    fn PMPI_Add_error_class(class: *mut c_int) -> c_int;
    fn PMPI_Add_error_code(class: c_int, code: *mut c_int) -> c_int;
    fn PMPI_Add_error_string(code: c_int, text: *const c_char) -> c_int;
    fn PMPI_Allgather(send: *const u8, count: c_int, kind: Word, receive: *mut u8,
        each: c_int, as_kind: Word, comm: Word) -> c_int;
    fn PMPI_Bcast(bytes: *mut u8, count: c_int, kind: Word, root: c_int, comm: Word) -> c_int;
    fn PMPI_Comm_call_errhandler(comm: Word, code: c_int) -> c_int;
    fn PMPI_Comm_get_errhandler(comm: Word, handler: *mut Word) -> c_int;
    fn PMPI_Comm_rank(comm: Word, rank: *mut c_int) -> c_int;
    fn PMPI_Comm_set_errhandler(comm: Word, handler: Word) -> c_int;
    fn PMPI_Comm_size(comm: Word, size: *mut c_int) -> c_int;
    fn PMPI_Errhandler_free(handler: *mut Word) -> c_int;
    fn PMPI_Grequest_start(query: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        free: extern "C" fn(*mut c_void) -> c_int,
        cancel: extern "C" fn(*mut c_void, c_int) -> c_int, state: Word, request: Word) -> c_int;
    fn PMPI_Info_create(info: *mut Word) -> c_int;
    fn PMPI_Info_dup(info: Word, copy: *mut Word) -> c_int;
    fn PMPI_Info_free(info: *mut Word) -> c_int;
    fn PMPI_Info_get(info: Word, key: *const c_char, length: c_int, value: *mut c_char,
        found: *mut c_int) -> c_int;
    fn PMPI_Info_set(info: Word, key: *const c_char, value: *const c_char) -> c_int;
    fn PMPI_Query_thread(level: *mut c_int) -> c_int;
    fn PMPI_Request_get_status(request: Word, done: *mut c_int, status: Word) -> c_int;
    fn PMPI_Type_get_envelope(kind: Word, integers: *mut c_int, addresses: *mut c_int,
        kinds: *mut c_int, combiner: *mut c_int) -> c_int;
    fn PMPI_Type_get_extent(kind: Word, lower: *mut isize, extent: *mut isize) -> c_int;
    fn PMPI_Type_size(kind: Word, size: *mut c_int) -> c_int;
    fn PMPI_Win_call_errhandler(win: Word, code: c_int) -> c_int;
    fn PMPI_Win_fence(assert: c_int, win: Word) -> c_int;
    fn PMPI_Win_flush(rank: c_int, win: Word) -> c_int;
    fn PMPI_Win_flush_all(win: Word) -> c_int;
    fn PMPI_Win_flush_local(rank: c_int, win: Word) -> c_int;
    fn PMPI_Win_flush_local_all(win: Word) -> c_int;
    fn PMPI_Win_free(win: Word) -> c_int;
    fn PMPI_Win_get_attr(win: Word, key: c_int, value: *mut *const c_int, found: *mut c_int)
        -> c_int;
    fn PMPI_Win_get_info(win: Word, info: Word) -> c_int;
    fn PMPI_Win_lock(kind: c_int, rank: c_int, assert: c_int, win: Word) -> c_int;
    fn PMPI_Win_lock_all(assert: c_int, win: Word) -> c_int;
    fn PMPI_Win_post(group: Word, assert: c_int, win: Word) -> c_int;
    fn PMPI_Win_set_info(win: Word, info: Word) -> c_int;
    fn PMPI_Win_shared_query(win: Word, rank: c_int, size: *mut isize, unit: *mut c_int,
        base: *mut usize) -> c_int;
    fn PMPI_Win_start(group: Word, assert: c_int, win: Word) -> c_int;
    fn PMPI_Win_sync(win: Word) -> c_int;
    fn PMPI_Win_unlock(rank: c_int, win: Word) -> c_int;
    fn PMPI_Win_unlock_all(win: Word) -> c_int;
    fn PMPI_Wtime() -> f64;
}

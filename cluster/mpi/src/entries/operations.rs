//! One-sided operations. Each is noted, so that an unlock knows which targets to flush, and passed
//! on. Puts and gets may be copies instead.
//!
//! All arguments are [`Word`]s, since only the target's rank and the window are examined in most of
//! them. The functions with `_c` are MPI 4's; they take 64-bit counts, and are otherwise equal.

use std::ffi::c_int;

use syncline_interpose::real;

use crate::host::Transfer;
use crate::library::large::{is_too_large, large};
use crate::library::{SUCCESS, Word, below, constants};
use crate::registry::with;

/// Reports a count that is too large for the library below.
#[cold]
fn refuse(win: Word) -> c_int {
    let Some(mpi) = constants() else { return !SUCCESS };
    // SAFETY: the program's window.
    unsafe { below::PMPI_Win_call_errhandler(win, mpi.err_count) };
    mpi.err_count
}

/// `real fn NAME = BELOW(before the rank; between the rank and the window; after the window)`, or
/// `large fn NAME = BELOW or PLAIN(...)`.
macro_rules! operation {
    ($($kind:ident fn $name:ident = $below:ident $(or $plain:ident)?
        ($($before:ident),*; $($after:ident),*; $($last:ident)?);)*) => {
        $(
            $kind! {
                fn $below $(or $plain)?($($before: Word,)* target: Word, $($after: Word,)* win: Word
                    $(, $last: Word)?) -> c_int;
            }
            /// As in the MPI standard.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($before: Word,)* target: Word, $($after: Word,)* win: Word
                $(, $last: Word)?) -> c_int
            {
                // Only 64-bit counts use the whole word.
                if stringify!($kind) == "large"
                    && is_too_large(&[
                        $((stringify!($before), $before),)* $((stringify!($after), $after),)*
                    ])
                {
                    return refuse(win);
                }
                // The lower half of the word is the `int` that was passed.
                if let Some(Err(code)) = with(win, |window| window.send(target as c_int)) {
                    return code;
                }
                // SAFETY: the program's own call, passed on unchanged.
                unsafe { $below($($before,)* target, $($after,)* win $(, $last)?) }
            }
            also! {
                fn $below($($before: Word,)* target: Word, $($after: Word,)* win: Word
                    $(, $last: Word)?) = $name
            }
        )*
    };
}

operation! {
    real fn MPI_Accumulate = PMPI_Accumulate(origin, count, kind; at, target_count, target_kind, op;);
    real fn MPI_Get_accumulate = PMPI_Get_accumulate(origin, count, kind, result, result_count,
        result_kind; at, target_count, target_kind, op;);
    real fn MPI_Fetch_and_op = PMPI_Fetch_and_op(origin, result, kind; at, op;);
    real fn MPI_Compare_and_swap = PMPI_Compare_and_swap(origin, compare, result, kind; at;);
    real fn MPI_Rput = PMPI_Rput(origin, count, kind; at, target_count, target_kind; request);
    real fn MPI_Rget = PMPI_Rget(origin, count, kind; at, target_count, target_kind; request);
    real fn MPI_Raccumulate = PMPI_Raccumulate(origin, count, kind; at, target_count, target_kind, op;
        request);
    real fn MPI_Rget_accumulate = PMPI_Rget_accumulate(origin, count, kind, result, result_count,
        result_kind; at, target_count, target_kind, op; request);

    large fn MPI_Accumulate_c = PMPI_Accumulate_c or PMPI_Accumulate(origin, count, kind; at, target_count, target_kind,
        op;);
    large fn MPI_Get_accumulate_c = PMPI_Get_accumulate_c or PMPI_Get_accumulate(origin, count, kind, result, result_count,
        result_kind; at, target_count, target_kind, op;);
    large fn MPI_Rput_c = PMPI_Rput_c or PMPI_Rput(origin, count, kind; at, target_count, target_kind; request);
    large fn MPI_Rget_c = PMPI_Rget_c or PMPI_Rget(origin, count, kind; at, target_count, target_kind; request);
    large fn MPI_Raccumulate_c = PMPI_Raccumulate_c or PMPI_Raccumulate(origin, count, kind; at, target_count, target_kind,
        op; request);
    large fn MPI_Rget_accumulate_c = PMPI_Rget_accumulate_c or PMPI_Rget_accumulate(origin, count, kind, result, result_count,
        result_kind; at, target_count, target_kind, op; request);
}

/// `fn NAME(whether data moves to the target, the type of counts)`: a put or get.
macro_rules! transfer {
    ($($kind:ident fn $name:ident = $below:ident $(or $plain:ident)?($put:literal, $count:ty);)*) => {
        $(
            $kind! {
                fn $below $(or $plain)?(origin: Word, count: Word, kind: Word, target: Word, at: Word,
                    target_count: Word, target_kind: Word, win: Word) -> c_int;
            }
            /// As in the MPI standard.
            #[unsafe(no_mangle)]
            extern "C" fn $name(origin: Word, count: Word, kind: Word, target: Word, at: Word,
                target_count: Word, target_kind: Word, win: Word) -> c_int
            {
                if stringify!($kind) == "large"
                    && is_too_large(&[("count", count), ("target_count", target_count)])
                {
                    return refuse(win);
                }
                let it = Transfer {
                    put: $put,
                    origin,
                    // Only this part of the word was passed.
                    count: count as $count as isize,
                    kind,
                    at: at as isize,
                    target_count: target_count as $count as isize,
                    target_kind,
                };
                match with(win, |window| window.copy(target as c_int, &it)) {
                    Some(Ok(true)) => return SUCCESS,
                    Some(Err(code)) => return code,
                    Some(Ok(false)) | None => {}
                }
                // SAFETY: the program's own call, passed on unchanged.
                let code = unsafe {
                    $below(origin, count, kind, target, at, target_count, target_kind, win)
                };
                if code == SUCCESS {
                    with(win, |window| window.sent(&it));
                }
                code
            }
            also! {
                fn $below(origin: Word, count: Word, kind: Word, target: Word, at: Word,
                    target_count: Word, target_kind: Word, win: Word) = $name
            }
        )*
    };
}

transfer! {
    real fn MPI_Put = PMPI_Put(true, c_int);
    real fn MPI_Get = PMPI_Get(false, c_int);
    large fn MPI_Put_c = PMPI_Put_c or PMPI_Put(true, isize);
    large fn MPI_Get_c = PMPI_Get_c or PMPI_Get(false, isize);
}

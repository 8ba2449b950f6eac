//! One-sided operations. Each is recorded, so that an unlock knows which targets it has to flush,
//! and then passed on to the MPI library. A put or a get may be performed as a copy and not passed
//! on.
//!
//! All arguments are [`Word`]s: most of these functions examine only the target's rank and the
//! window. The functions with `_c` were added by MPI 4. These functions take 64-bit counts, and do
//! the same otherwise.

use std::ffi::c_int;

use syncline_interpose::real;

use crate::host::Transfer;
use crate::library::large::{is_too_large, large};
use crate::library::{SUCCESS, Word, below, constants};
use crate::registry::with;

/// Reports the error that a count is too large for the MPI library.
#[cold]
fn refuse(win: Word) -> c_int {
    let Some(mpi) = constants() else { return !SUCCESS };
    // SAFETY: the window is the program's.
    unsafe { below::PMPI_Win_call_errhandler(win, mpi.err_count) };
    mpi.err_count
}

/// `real fn NAME = BELOW(arguments before the rank; between the rank and the window; after the
/// window)`, or `large fn NAME = BELOW or PLAIN(...)`. NAME is exported, and BELOW is the MPI
/// library's function. For PLAIN see `large!`.
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
                // Only a function with 64-bit counts uses the whole word of a count.
                if stringify!($kind) == "large"
                    && is_too_large(&[
                        $((stringify!($before), $before),)* $((stringify!($after), $after),)*
                    ])
                {
                    return refuse(win);
                }
                // The target's rank is an `int`: the lower half of the word.
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

/// `fn NAME = BELOW(whether data moves to the target, the type of counts)`: a put or a get.
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
                    // The program has passed only as many bytes of the word as this type has.
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

//! One-sided operations: each is noted, so that an unlock knows which targets to flush, and passed
//! on. Puts and gets may be copies instead.
//!
//! All arguments are [`Word`]s, since of most only the target's rank and the window are looked at. The
//! functions with `_c` take counts of 64 bits; they are MPI 4's, and the same otherwise.

use std::ffi::c_int;

use crate::host::Transfer;
use crate::library::{SUCCESS, Word};
use crate::registry::with;

/// `fn NAME(before the rank; after it, up to the window; behind the window)`.
macro_rules! operation {
    ($(fn $name:ident = $below:ident($($before:ident),*; $($after:ident),*; $($last:ident)?);)*) => {
        syncline_interpose::real! {
            $(
                fn $below($($before: Word,)* target: Word, $($after: Word,)* win: Word
                    $(, $last: Word)?) -> c_int;
            )*
        }
        $(
            /// As the standard says.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($before: Word,)* target: Word, $($after: Word,)* win: Word
                $(, $last: Word)?) -> c_int
            {
                // The lower half of the word is the `int` that was passed.
                if let Some(Err(code)) = with(win, |window| window.send(target as c_int)) {
                    return code;
                }
                // SAFETY: the program's own call, passed on as it is.
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
    fn MPI_Accumulate = PMPI_Accumulate(origin, count, kind; at, target_count, target_kind, op;);
    fn MPI_Get_accumulate = PMPI_Get_accumulate(origin, count, kind, result, result_count,
        result_kind; at, target_count, target_kind, op;);
    fn MPI_Fetch_and_op = PMPI_Fetch_and_op(origin, result, kind; at, op;);
    fn MPI_Compare_and_swap = PMPI_Compare_and_swap(origin, compare, result, kind; at;);
    fn MPI_Rput = PMPI_Rput(origin, count, kind; at, target_count, target_kind; request);
    fn MPI_Rget = PMPI_Rget(origin, count, kind; at, target_count, target_kind; request);
    fn MPI_Raccumulate = PMPI_Raccumulate(origin, count, kind; at, target_count, target_kind, op;
        request);
    fn MPI_Rget_accumulate = PMPI_Rget_accumulate(origin, count, kind, result, result_count,
        result_kind; at, target_count, target_kind, op; request);

    fn MPI_Accumulate_c = PMPI_Accumulate_c(origin, count, kind; at, target_count, target_kind,
        op;);
    fn MPI_Get_accumulate_c = PMPI_Get_accumulate_c(origin, count, kind, result, result_count,
        result_kind; at, target_count, target_kind, op;);
    fn MPI_Rput_c = PMPI_Rput_c(origin, count, kind; at, target_count, target_kind; request);
    fn MPI_Rget_c = PMPI_Rget_c(origin, count, kind; at, target_count, target_kind; request);
    fn MPI_Raccumulate_c = PMPI_Raccumulate_c(origin, count, kind; at, target_count, target_kind,
        op; request);
    fn MPI_Rget_accumulate_c = PMPI_Rget_accumulate_c(origin, count, kind, result, result_count,
        result_kind; at, target_count, target_kind, op; request);
}

/// `fn NAME(to the target, what a count is)`.
macro_rules! transfer {
    ($(fn $name:ident = $below:ident($put:literal, $count:ty);)*) => {
        syncline_interpose::real! {
            $(
                fn $below(origin: Word, count: Word, kind: Word, target: Word, at: Word,
                    target_count: Word, target_kind: Word, win: Word) -> c_int;
            )*
        }
        $(
            /// As the standard says.
            #[unsafe(no_mangle)]
            extern "C" fn $name(origin: Word, count: Word, kind: Word, target: Word, at: Word,
                target_count: Word, target_kind: Word, win: Word) -> c_int
            {
                let it = Transfer {
                    put: $put,
                    origin,
                    // Only this much of the word was passed.
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
                // SAFETY: the program's own call, passed on as it is.
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
    fn MPI_Put = PMPI_Put(true, c_int);
    fn MPI_Get = PMPI_Get(false, c_int);
    fn MPI_Put_c = PMPI_Put_c(true, isize);
    fn MPI_Get_c = PMPI_Get_c(false, isize);
}

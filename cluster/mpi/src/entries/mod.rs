//! The functions that the program calls in place of the MPI library's.
//!
//! Each looks for the window, and passes the call on where there is none under a scheme. Each has the
//! name that begins with `PMPI_` as well: Open MPI's functions for Fortran call those, with their
//! arguments in C's form, and so do tools that stand in front. Our own calls pass by both (`below`).

/// `also! { fn PMPI_NAME(arguments) = NAME }`: the other name of an entry.
macro_rules! also {
    (fn $other:ident($($arg:ident: $type:ty),*) = $name:ident) => {
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn $other($($arg: $type),*) -> c_int {
                $name($($arg),*)
            }
        };
    };
}

mod epochs;
mod extensions;
mod fortran;
mod operations;
mod windows;

//! The functions that the program calls instead of the MPI library's.
//!
//! Each function on a window looks the window up. If the window is under no scheme, the function
//! passes the call on. MPI's functions are also exported under their names with `PMPI_`, because
//! Open MPI's Fortran functions call these names with C arguments, and so do tools that interpose
//! on MPI. Our own calls go directly to the MPI library (`below`), so they reach neither of the two
//! exported functions.

/// `also! { fn PMPI_NAME(arguments) = NAME }` exports a function under its other name.
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

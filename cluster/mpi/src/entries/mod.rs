//! The functions that the program calls instead of the MPI library's.
//!
//! Each function on a window looks the window up, and passes the call on if it is under no scheme.
//! MPI's functions are also exported under their names with `PMPI_`: Open MPI's functions for
//! Fortran call those, with C arguments, and so do tools that interpose. Our own calls bypass both
//! names (`below`).

/// `also! { fn PMPI_NAME(arguments) = NAME }`: exports an entry under its other name.
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

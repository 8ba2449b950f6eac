//! The functions with 64-bit counts, which MPI 4 has added. A program that looks them up finds
//! ours, even if the MPI library is older.

use std::ffi::c_int;
use std::sync::OnceLock;

use syncline_interpose::next_definition;

use super::word::Word;

/// `large! { fn NAME or PLAIN(args) -> type; }` is like `real!` for a function of MPI 4 with 64-bit
/// counts. If the MPI library has no such functions, the call goes to PLAIN, which reads only the
/// lower half of each count.
macro_rules! large {
    ($(fn $name:ident or $plain:ident($($arg:ident: $type:ty),* $(,)?) -> $ret:ty;)*) => {
        $(
            unsafe fn $name($($arg: $type),*) -> $ret {
                static FOUND: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
                let found = *FOUND.get_or_init(|| {
                    let name = if crate::library::large::has_large_counts() {
                        concat!(stringify!($name), "\0")
                    } else {
                        concat!(stringify!($plain), "\0")
                    };
                    let name = std::ffi::CStr::from_bytes_until_nul(name.as_bytes());
                    name.map_or(0, |name| {
                        syncline_interpose::next_definition(name, None).expose_provenance()
                    })
                });
                assert!(found != 0, concat!("no ", stringify!($plain)));
                let found = std::ptr::with_exposed_provenance::<()>(found);
                // SAFETY: the function has this type, whichever of the two names it has; only the
                // width of counts differs.
                unsafe {
                    let found: unsafe extern "C" fn($($type),*) -> $ret =
                        std::mem::transmute(found);
                    found($($arg),*)
                }
            }
        )*
    };
}
pub(crate) use large;

/// Whether the MPI library has functions with 64-bit counts, as MPI 4 requires.
pub fn has_large_counts() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| !next_definition(c"PMPI_Put_c", None).is_null())
}

/// Whether one of a function's arguments is a count that is too large for the MPI library.
#[cold]
pub fn is_too_large(arguments: &[(&str, Word)]) -> bool {
    let is_number = |name: &str| name.ends_with("count") || name == "unit";
    let too_large = |(name, word): &(&str, Word)| is_number(name) && *word > c_int::MAX as usize;
    !has_large_counts() && arguments.iter().any(too_large)
}

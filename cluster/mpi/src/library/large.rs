//! Functions that MPI 4 has added: those with 64-bit counts. A program that looks them up finds
//! ours, even with an older library.

use std::ffi::c_int;
use std::sync::OnceLock;

use syncline_interpose::next_definition;

use super::word::Word;

/// `large! { fn NAME or PLAIN(args) -> type; }` is like `real!`; NAME takes 64-bit counts, and
/// belongs to MPI 4. If the library lacks it, PLAIN is called, which reads the lower half of each
/// count.
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
                // SAFETY: the functions with these names have this type, except for the width of
                // counts.
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

/// Whether the library has functions with 64-bit counts, as in MPI 4.
pub fn has_large_counts() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| !next_definition(c"PMPI_Put_c", None).is_null())
}

/// Whether an argument of a function is too large for the library below.
#[cold]
pub fn is_too_large(arguments: &[(&str, Word)]) -> bool {
    let is_number = |name: &str| name.ends_with("count") || name == "unit";
    let too_large = |(name, word): &(&str, Word)| is_number(name) && *word > c_int::MAX as usize;
    !has_large_counts() && arguments.iter().any(too_large)
}

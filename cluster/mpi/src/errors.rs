//! The error class that MPI does not have.

use std::ffi::c_int;
use std::sync::OnceLock;

use crate::library::{SUCCESS, below};

/// What stands for a lock whose owner has died. It is held, and what it protects may be half done.
#[derive(Clone, Copy, Debug)]
pub struct OwnerDied {
    /// The error class.
    pub class: c_int,
    /// The error of that class; Open MPI knows no class of an added class itself.
    pub code: c_int,
}

/// The class and its error, which are added to MPI's at the first call.
#[cold]
pub fn owner_died() -> OwnerDied {
    static ADDED: OnceLock<OwnerDied> = OnceLock::new();
    *ADDED.get_or_init(|| {
        // If the library has no room for them, this is another error in all libraries.
        let (mut class, mut code) = (16, 16);
        let text =
            c"the owner of the window's lock has died; it is held now, and SL_Win_consistent \
                     says that what it protects is as it should be";
        // SAFETY: the numbers are written to, and the text is a string.
        unsafe {
            if below::PMPI_Add_error_class(&raw mut class) == SUCCESS
                && below::PMPI_Add_error_code(class, &raw mut code) == SUCCESS
            {
                below::PMPI_Add_error_string(code, text.as_ptr());
            }
        }
        OwnerDied { class, code }
    })
}

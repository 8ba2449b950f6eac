//! The error classes that MPI does not have.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use crate::library::{SUCCESS, below};

/// An error that is added to MPI's.
#[derive(Clone, Copy, Debug)]
pub struct Added {
    /// The error class.
    pub class: c_int,
    /// The error of that class; Open MPI knows no class of an added class itself.
    pub code: c_int,
}

/// What stands for a lock whose owner has died. It is held, and what it protects may be half done.
#[cold]
pub fn owner_died() -> Added {
    static ADDED: OnceLock<Added> = OnceLock::new();
    *ADDED.get_or_init(|| {
        add(c"the owner of the window's lock has died; it is held now, and SL_Win_consistent says that \
             what it protects is as it should be")
    })
}

/// What stands for a part that can't be locked any more. It is not held.
#[cold]
pub fn rank_gone() -> Added {
    static ADDED: OnceLock<Added> = OnceLock::new();
    *ADDED.get_or_init(|| {
        add(c"the rank on another host that this part of the window belongs to has died, or can't be \
             reached any more")
    })
}

fn add(text: &CStr) -> Added {
    // If the library has no room for them, this is another error in all libraries.
    let (mut class, mut code) = (16, 16);
    // SAFETY: the numbers are written to, and the text is a string.
    unsafe {
        if below::PMPI_Add_error_class(&raw mut class) == SUCCESS
            && below::PMPI_Add_error_code(class, &raw mut code) == SUCCESS
        {
            below::PMPI_Add_error_string(code, text.as_ptr());
        }
    }
    Added { class, code }
}

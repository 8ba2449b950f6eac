//! The error classes that this library adds to MPI's.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use crate::library::{SUCCESS, below};

/// An error class that this library adds to MPI's.
#[derive(Clone, Copy, Debug)]
pub struct Added {
    /// The error class.
    pub class: c_int,
    /// An error code of that class. In Open MPI an added class is not an error code itself.
    pub code: c_int,
}

/// The error for a lock whose owner has died. The caller holds the lock, and its data may be half
/// changed.
#[cold]
pub fn owner_died() -> Added {
    static ADDED: OnceLock<Added> = OnceLock::new();
    *ADDED.get_or_init(|| {
        add(c"the owner of the window's lock has died; this rank holds the lock now, and \
              SL_Win_consistent declares that the data it protects is consistent")
    })
}

/// The error for a part that can't be locked any more. The caller does not hold its lock.
#[cold]
pub fn rank_gone() -> Added {
    static ADDED: OnceLock<Added> = OnceLock::new();
    *ADDED.get_or_init(|| {
        add(c"the rank on another host that this part of the window belongs to has died, can't be \
             reached any more, or does not serve the window")
    })
}

fn add(text: &CStr) -> Added {
    // The values for the case that the MPI library has no room for more classes. 16 is
    // `MPI_ERR_OTHER` in Open MPI, and `MPI_ERR_INTERN` in MPICH.
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

//! The loader's list of objects, read without calling the loader.
//!
//! `dlsym`, `dlopen` and `dl_iterate_phdr` take the loader's lock, which another thread may hold
//! while a constructor of the program waits for a lock; `dlsym` may call the program's allocator;
//! and a program may interpose all three. So a library that runs while the program holds a lock
//! calls none of them. It reads what the loader keeps for debuggers: `_r_debug`, the list of link
//! maps, and the tables that each object has in memory
//! ([`Definitions`](crate::definitions::Definitions)).
//!
//! The objects that a program starts with are first in the list, and stay loaded. An object that
//! was opened later may be closed while it is read. So search only for objects that the program
//! starts with, or search early.

use core::ffi::{c_char, c_int};

/// The public part of the loader's `struct link_map`, at its beginning.
#[repr(C)]
pub struct LinkMap {
    /// The number that is added to an address in the file to get the address in memory.
    pub bias: u64,
    /// The path by which it was loaded; empty for the program.
    pub name: *const c_char,
    /// The dynamic section.
    pub dynamic: *const Dynamic,
    next: *const LinkMap,
}

/// An entry of a dynamic section.
#[repr(C)]
pub struct Dynamic {
    /// `DT_...`; 0 ends the section.
    pub tag: i64,
    /// A number or an address.
    pub value: u64,
}

/// `struct r_debug`, which the loader keeps for debuggers.
#[repr(C)]
struct Debug {
    version: c_int,
    first: *const LinkMap,
}

unsafe extern "C" {
    #[link_name = "_r_debug"]
    static DEBUG: Debug;
}

/// The objects that are loaded, in the order in which the program's symbols are searched.
pub fn link_maps() -> impl Iterator<Item = &'static LinkMap> {
    // SAFETY: the loader's variable is there from the start on, and so is the first map.
    let first = unsafe { DEBUG.first.as_ref() };
    // SAFETY: each map of the list points to the next one; the comment at the top of this file says
    // which objects may be unloaded meanwhile.
    core::iter::successors(first, |map| unsafe { map.next.as_ref() })
}

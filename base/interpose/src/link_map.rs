//! The loader's list of objects, read without asking the loader.
//!
//! `dlsym`, `dlopen` and `dl_iterate_phdr` take the loader's lock, which another thread may hold
//! while a constructor of the program waits for a lock; `dlsym` may call the program's allocator;
//! and a program may put functions of its own in front of all three. So a library that runs while
//! the program holds a lock calls none of them. It reads what the loader keeps for debuggers:
//! `_r_debug`, the list of link maps, and the tables that each object has in memory
//! ([`Definitions`]).
//!
//! What a program starts with stays loaded, and stands first in the list. An object that is opened
//! later may be closed while it is read: so look for what the program starts with, or look early.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;

use crate::definitions::Definitions;

/// The public start of the loader's `struct link_map`.
#[repr(C)]
pub struct LinkMap {
    /// What to add to an address in the file to get the one in memory.
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
    /// Of the object that this is linked into.
    #[link_name = "_DYNAMIC"]
    static OWN_DYNAMIC: Dynamic;
}

/// The objects that are loaded, in the order in which the program's symbols are searched.
pub fn link_maps() -> impl Iterator<Item = &'static LinkMap> {
    // SAFETY: the loader's variable is there from the start on, and so is the first map.
    let first = unsafe { DEBUG.first.as_ref() };
    // SAFETY: a map of the list leads to the next one; see above for what may go away.
    core::iter::successors(first, |map| unsafe { map.next.as_ref() })
}

/// What the program would have found without this library: the next definition behind it in the
/// order of the search, of this version or the default one; null if there is none.
///
/// Unlike `dlsym(RTLD_NEXT)` it also finds what a library defines that was opened apart from the
/// program's own search order, as an interpreter does with an extension's OpenMP runtime.
///
/// A library that was opened by a running program stands behind the C library. There the search begins
/// behind the program, where the library would stand if it had been preloaded.
pub fn next_definition(name: &CStr, version: Option<&CStr>) -> *mut c_void {
    let own = &raw const OWN_DYNAMIC;
    let others = || link_maps().skip(1).filter(|map| map.dynamic != own);
    if is_late() {
        return first_of(others(), name, version);
    }
    first_of(link_maps().skip_while(|map| map.dynamic != own).skip(1), name, version)
}

/// Whether this library was opened by the running program, and not loaded at its start: then the C
/// library stands before it.
pub fn is_late() -> bool {
    let own = &raw const OWN_DYNAMIC;
    let mut before = link_maps().take_while(|map| map.dynamic != own).skip(1);
    // SAFETY: a loaded object's map.
    before.any(|map| unsafe {
        Definitions::of(map).is_some_and(|all| all.find(c"gnu_get_libc_version", None).is_some())
    })
}

/// The first definition of all, as `dlsym(RTLD_DEFAULT)`; null if there is none.
pub fn definition(name: &CStr) -> *mut c_void {
    first_of(link_maps(), name, None)
}

fn first_of(
    mut maps: impl Iterator<Item = &'static LinkMap>,
    name: &CStr,
    version: Option<&CStr>,
) -> *mut c_void {
    // SAFETY: a loaded object's map.
    let found = maps.find_map(|map| unsafe { Definitions::of(map)?.find(name, version) });
    found.unwrap_or(null_mut())
}

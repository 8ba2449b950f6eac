//! Searches all loaded objects for a definition, in the loader's order but without calling the
//! loader.

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;

use crate::definitions::Definitions;
use crate::link_map::{Dynamic, LinkMap, link_maps};

unsafe extern "C" {
    /// The dynamic section of the object that this code is linked into.
    #[link_name = "_DYNAMIC"]
    static OWN_DYNAMIC: Dynamic;
}

/// The definition that the program would have found without this library: the next one after this
/// library's in search order, with this version or the default version. Null if there is none.
///
/// Unlike `dlsym(RTLD_NEXT)`, this also finds definitions of a library that was opened outside of
/// the program's own search order, like an OpenMP runtime that an interpreter loads with an
/// extension.
///
/// If a running program opened this library, the library comes after the C library in search order.
/// Then the search begins right after the program, where this library would be if it had been
/// preloaded.
pub fn next_definition(name: &CStr, version: Option<&CStr>) -> *mut c_void {
    let own = &raw const OWN_DYNAMIC;
    let others = || link_maps().skip(1).filter(|map| map.dynamic != own);
    if is_late() {
        return first_of(others(), name, version);
    }
    first_of(link_maps().skip_while(|map| map.dynamic != own).skip(1), name, version)
}

/// Whether this library was opened by the running program, rather than loaded at its start: then
/// the C library comes before it in search order.
pub fn is_late() -> bool {
    let own = &raw const OWN_DYNAMIC;
    let mut before = link_maps().take_while(|map| map.dynamic != own).skip(1);
    // SAFETY: a loaded object's map.
    before.any(|map| unsafe {
        Definitions::of(map).is_some_and(|all| all.find(c"gnu_get_libc_version", None).is_some())
    })
}

/// This library's own definition; null if it has none.
pub fn own_definition(name: &CStr) -> *mut c_void {
    let own = &raw const OWN_DYNAMIC;
    first_of(link_maps().filter(|map| map.dynamic == own), name, None)
}

/// The first definition in search order, as `dlsym(RTLD_DEFAULT)` finds it; null if there is none.
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

#[cfg(test)]
mod tests {
    use core::ffi::CStr;

    use super::{definition, next_definition};

    /// The search finds what the loader finds, by name and by version.
    #[test]
    fn definitions_are_those_that_the_loader_finds() {
        let names: [&CStr; 5] =
            [c"pthread_cond_wait", c"dlsym", c"_dl_find_object", c"realpath", c"memcpy"];
        for name in names {
            // SAFETY: the names end in a zero byte.
            let theirs = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            assert_eq!(definition(name), theirs, "{name:?}");
        }
        for version in [c"GLIBC_2.2.5", c"GLIBC_2.3.2"] {
            let name = c"pthread_cond_wait";
            // SAFETY: as above.
            let theirs =
                unsafe { libc::dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), version.as_ptr()) };
            assert_eq!(next_definition(name, Some(version)), theirs, "{version:?}");
        }
        assert!(definition(c"no such function").is_null());
        assert!(next_definition(c"pthread_cond_wait", Some(c"GLIBC_1.0")).is_null());
    }
}

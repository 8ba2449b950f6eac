//! The objects that are loaded: the program and its libraries.

use core::slice;

use crate::found::object_at;
use crate::link_map::{LinkMap, link_maps};
use crate::object::{Object, ProgramHeader};

const PT_LOAD: u32 = 1;
const PAGE: u64 = 4096;

/// Calls `each` with all objects that are loaded now; `crate::link_map` says which may be unloaded
/// meanwhile.
pub fn for_each_loaded<F: FnMut(Object)>(each: F) {
    link_maps().filter_map(Object::of).for_each(each);
}

impl Object {
    /// The object of a link map; `None` if the address of its program headers is unknown, or
    /// nothing of it is loaded.
    fn of(map: &LinkMap) -> Option<Object> {
        let headers = headers(map)?;
        let loads = || headers.iter().filter(|header| header.p_type == PT_LOAD);
        let first = loads().map(|header| header.p_vaddr & !(PAGE - 1)).min()?;
        let last = loads().map(|header| header.p_vaddr + header.p_memsz).max()?;
        let place = (map.bias + first, map.bias + last);
        // SAFETY: the loader's name and headers of a loaded object.
        Some(unsafe { Object::new(place, map.bias, headers, map.name) })
    }
}

/// The program headers of a loaded object.
fn headers(map: &LinkMap) -> Option<&'static [ProgramHeader]> {
    if let Some(object) = object_at(map.dynamic as u64) {
        return Some(object.headers);
    }
    if map.bias == 0 {
        // The program itself, if it was linked to a fixed address.
        // SAFETY: the kernel passes the address and number of the program's headers to the process.
        return unsafe {
            let headers = libc::getauxval(libc::AT_PHDR) as *const ProgramHeader;
            let count = libc::getauxval(libc::AT_PHNUM) as usize;
            (!headers.is_null()).then(|| slice::from_raw_parts(headers, count))
        };
    }
    let start = map.bias as *const u8;
    // SAFETY: a library that can be loaded anywhere starts with address 0 of its file, where its
    // ELF header lies; the program headers follow.
    unsafe {
        let header = &*start.cast::<libc::Elf64_Ehdr>();
        let headers = start.wrapping_add(header.e_phoff as usize).cast();
        Some(slice::from_raw_parts(headers, header.e_phnum.into()))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{fs, string::String, vec::Vec};

    use super::{Object, for_each_loaded};

    /// The kernel's list of mappings has the C library and this program at the same addresses.
    #[test]
    fn what_is_loaded_is_where_the_kernel_has_it() {
        let mut objects: Vec<Object> = Vec::new();
        for_each_loaded(|object| objects.push(object));
        let maps = fs::read_to_string("/proc/self/maps").expect("a list");
        let first_of = |path: &str| {
            let line = maps.lines().find(|line| line.ends_with(path)).expect("mapped");
            u64::from_str_radix(line.split('-').next().expect("an address"), 16).expect("hex")
        };
        let libc = objects.iter().find(|object| object.path().ends_with(b"libc.so.6"));
        let libc = libc.expect("the C library");
        let path = String::from_utf8_lossy(libc.path());
        let path = fs::canonicalize(&*path).expect("a file");
        assert_eq!(libc.start, first_of(path.to_str().expect("UTF-8")));
        assert!(libc.build_id().is_some_and(|id| id.len() >= 8), "Debian's have one");

        let program = objects.iter().find(|object| object.path().is_empty()).expect("ourselves");
        let here = super::for_each_loaded::<fn(Object)> as *const () as u64;
        assert!((program.start..program.end).contains(&here));
        let own = fs::read_link("/proc/self/exe").expect("a link");
        assert_eq!(program.start, first_of(own.to_str().expect("UTF-8")));
    }
}

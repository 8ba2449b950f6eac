//! Finds the object that an address lies in, with the loader's `_dl_find_object` (glibc 2.35),
//! which takes no lock and may be called in a signal handler.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::dangling_mut;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::link_map::LinkMap;
use crate::object::{Object, ProgramHeader};
use crate::search::definition;

/// glibc's `struct dl_find_object` on x86-64.
#[repr(C)]
struct Found {
    flags: u64,
    start: *mut c_void,
    end: *mut c_void,
    link_map: *const LinkMap,
    eh_frame: *mut c_void,
    reserved: [u64; 7],
}

type Find = unsafe extern "C" fn(*mut c_void, *mut Found) -> c_int;

/// The function; `None` on a glibc before 2.35.
fn function() -> Option<Find> {
    /// Dangling until it is looked up; null if there is none.
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(dangling_mut());
    let mut function = FOUND.load(Relaxed);
    if function == dangling_mut() {
        // Relaxed: all threads find the same function.
        function = definition(c"_dl_find_object");
        FOUND.store(function, Relaxed);
    }
    // SAFETY: the symbol of this name has this type; null is `None`.
    unsafe { core::mem::transmute::<*mut c_void, Option<Find>>(function) }
}

/// Whether [`object_at`] can be used: the loader has the function.
pub fn can_ask() -> bool {
    function().is_some()
}

/// The object that covers an address, as the loader knows it now; `None` if there is none, or if
/// the loader lacks `_dl_find_object`. Valid only while the object can't be unloaded, for example
/// while its code is on the stack.
pub fn object_at(address: u64) -> Option<Object> {
    let find = function()?;
    let mut found = MaybeUninit::<Found>::zeroed();
    // SAFETY: the function takes any address, and fills in the record if it returns 0; the loader
    // has mapped the object from its start on.
    let (start, end, link_map, header) = unsafe {
        if find(address as *mut c_void, found.as_mut_ptr()) != 0 {
            return None;
        }
        let Found { start, end, link_map, .. } = found.assume_init();
        (start, end, link_map.as_ref()?, &*start.cast::<libc::Elf64_Ehdr>())
    };
    if header.e_ident[..4] != *b"\x7fELF" {
        return None;
    }
    let headers = start.wrapping_byte_add(header.e_phoff as usize);
    // SAFETY: the program headers follow the ELF header in the first mapped page.
    unsafe {
        let headers = slice::from_raw_parts(headers.cast::<ProgramHeader>(), header.e_phnum.into());
        let place = (start as u64, end as u64);
        Some(Object::new(place, link_map.bias, headers, link_map.name))
    }
}

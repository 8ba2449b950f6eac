//! The definitions of a loaded object, from its dynamic symbol table.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::null;

use libc::Elf64_Sym;

use crate::link_map::LinkMap;

const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
const DT_VERDEF: i64 = 0x6fff_fffc;

const SHN_UNDEF: u16 = 0;
const STT_TLS: u8 = 6;
const STT_GNU_IFUNC: u8 = 10;
/// Marks a version that an object only gets if it requests the version by name.
const HIDDEN: u16 = 0x8000;

/// The tables of one object. Only valid while it stays loaded.
pub struct Definitions {
    bias: u64,
    symbols: *const Elf64_Sym,
    strings: *const c_char,
    gnu_hash: *const u32,
    hash: *const u32,
    /// The number of each symbol's version; null if there are no versions.
    versions: *const u16,
    version_names: *const Version,
}

/// `Elf64_Verdef`.
#[repr(C)]
struct Version {
    format: u16,
    flags: u16,
    number: u16,
    names: u16,
    hash: u32,
    /// Bytes from the start of this entry to the offset of its name.
    name: u32,
    /// Bytes from the start of this entry to the next one; 0 in the last one.
    next: u32,
}

impl Definitions {
    /// The tables of an object; `None` if it has no symbols or no strings.
    ///
    /// # Safety
    /// The object is loaded.
    pub unsafe fn of(map: &LinkMap) -> Option<Definitions> {
        let mut tables = Definitions {
            bias: map.bias,
            symbols: null(),
            strings: null(),
            gnu_hash: null(),
            hash: null(),
            versions: null(),
            version_names: null(),
        };
        let mut entry = map.dynamic;
        // SAFETY: by this function's own condition; an entry of tag 0 ends the section.
        unsafe {
            while !entry.is_null() && (*entry).tag != 0 {
                let value = (*entry).value;
                // The loader has added the bias to these addresses, unless the section is
                // read-only.
                let at = if value < map.bias { value + map.bias } else { value } as *const c_void;
                match (*entry).tag {
                    DT_SYMTAB => tables.symbols = at.cast(),
                    DT_STRTAB => tables.strings = at.cast(),
                    DT_GNU_HASH => tables.gnu_hash = at.cast(),
                    DT_HASH => tables.hash = at.cast(),
                    DT_VERSYM => tables.versions = at.cast(),
                    DT_VERDEF => tables.version_names = at.cast(),
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        (!tables.symbols.is_null() && !tables.strings.is_null()).then_some(tables)
    }

    /// The address of a symbol with this version, or with the default version; `None` if the object
    /// does not define it.
    ///
    /// # Safety
    /// The object is loaded.
    pub unsafe fn find(&self, name: &CStr, version: Option<&CStr>) -> Option<*mut c_void> {
        // SAFETY: by this function's own condition; the numbers come from the object's tables.
        unsafe {
            let fits = |number: u32| self.is(number as usize, name, version);
            let number = if self.gnu_hash.is_null() {
                self.all().find(|&number| fits(number))?
            } else {
                self.with_hash(gnu_hash(name)).find(|&number| fits(number))?
            };
            let symbol = &*self.symbols.add(number as usize);
            let at = (self.bias + symbol.st_value) as *mut c_void;
            if symbol.st_info & 0xf == STT_GNU_IFUNC {
                let choose: unsafe extern "C" fn() -> *mut c_void = core::mem::transmute(at);
                return Some(choose());
            }
            Some(at)
        }
    }

    /// The numbers of the symbols with this hash.
    unsafe fn with_hash(&self, hash: u32) -> impl Iterator<Item = u32> {
        // SAFETY: the caller's condition; the table is as the linker made it.
        unsafe {
            let word = |at: u32| *self.gnu_hash.add(at as usize);
            let (buckets, first, bloom_words) = (word(0), word(1), word(2));
            let start_of_buckets = 4 + 2 * bloom_words;
            let chains = self.gnu_hash.add((start_of_buckets + buckets) as usize);
            let start = match buckets {
                0 => 0,
                _ => word(start_of_buckets + hash % buckets),
            };
            let mut next = (start >= first && start != 0).then_some(start);
            core::iter::from_fn(move || {
                loop {
                    let number = next?;
                    let entry = *chains.add((number - first) as usize);
                    // Bit 0 marks the last symbol of a bucket.
                    next = (entry & 1 == 0).then_some(number + 1);
                    if entry | 1 == hash | 1 {
                        return Some(number);
                    }
                }
            })
        }
    }

    /// The numbers of all symbols, for an object that only has the older hash table.
    unsafe fn all(&self) -> impl Iterator<Item = u32> + use<> {
        // SAFETY: the second word is the number of symbols.
        let count = if self.hash.is_null() { 0 } else { unsafe { *self.hash.add(1) } };
        1..count
    }

    unsafe fn is(&self, number: usize, name: &CStr, version: Option<&CStr>) -> bool {
        // SAFETY: the caller's condition.
        unsafe {
            let symbol = &*self.symbols.add(number);
            symbol.st_shndx != SHN_UNDEF
                && symbol.st_info & 0xf != STT_TLS
                && CStr::from_ptr(self.strings.add(symbol.st_name as usize)) == name
                && (self.versions.is_null() || self.has(*self.versions.add(number), version))
        }
    }

    unsafe fn has(&self, number: u16, version: Option<&CStr>) -> bool {
        let Some(version) = version else { return number & HIDDEN == 0 };
        let mut entry = self.version_names;
        // SAFETY: the caller's condition: each entry leads to its name and to the next one.
        unsafe {
            while !entry.is_null() {
                if (*entry).number == number & !HIDDEN {
                    let name = *entry.byte_add((*entry).name as usize).cast::<u32>();
                    return CStr::from_ptr(self.strings.add(name as usize)) == version;
                }
                let next = (*entry).next as usize;
                entry = if next == 0 { null() } else { entry.byte_add(next) };
            }
        }
        // An object without versions of its own defines every version that is requested.
        self.version_names.is_null()
    }
}

fn gnu_hash(name: &CStr) -> u32 {
    let step = |hash: u32, &byte: &u8| hash.wrapping_mul(33).wrapping_add(byte.into());
    name.to_bytes().iter().fold(5381, step)
}

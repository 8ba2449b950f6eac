//! Programs that were built with a sanitizer.
//!
//! The runtimes of the sanitizers interpose the C library's functions themselves, and have to be
//! loaded first. AddressSanitizer's runtime ends the program if another library is first. Those of
//! ThreadSanitizer and MemorySanitizer would not see the calls that our library passes on to the C
//! library, and would report races and reads that don't exist. LeakSanitizer's runtime only
//! conflicts with another interposed allocator, as in `inspect`. UndefinedBehaviorSanitizer's
//! runtime conflicts with nothing.
//!
//! A program that was built with a sanitizer calls an initial function of the runtime. A shared
//! runtime or the program itself defines it. A weak reference to that function is not a sign of a
//! sanitizer: it comes from code that only checks whether the runtime is there.

use memchr::memmem;
use object::elf::{DT_NEEDED, FileHeader64, SHT_DYNSYM, SHT_SYMTAB, STB_WEAK};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, SectionHeader, Sym};
use object::{Endianness, ReadRef};

/// A sanitizer of GCC or Clang that Syncline conflicts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sanitizer {
    /// AddressSanitizer
    Address,
    /// HWAddressSanitizer
    HardwareAddress,
    /// LeakSanitizer, without AddressSanitizer
    Leak,
    /// MemorySanitizer
    Memory,
    /// ThreadSanitizer
    Thread,
}

/// A sanitizer, the name of its initial function, and the prefixes of its shared runtime's name in
/// GCC and in Clang.
type Known = (Sanitizer, &'static [u8], [&'static [u8]; 2]);

const KNOWN: [Known; 5] = [
    (Sanitizer::Address, b"__asan_init", [b"libasan.so", b"libclang_rt.asan"]),
    (Sanitizer::HardwareAddress, b"__hwasan_init", [b"libhwasan.so", b"libclang_rt.hwasan"]),
    (Sanitizer::Memory, b"__msan_init", [b"libmsan.so", b"libclang_rt.msan"]),
    (Sanitizer::Thread, b"__tsan_init", [b"libtsan.so", b"libclang_rt.tsan"]),
    // LeakSanitizer is the last one, because AddressSanitizer contains it.
    (Sanitizer::Leak, b"__lsan_init", [b"liblsan.so", b"libclang_rt.lsan"]),
];

impl Sanitizer {
    /// The sanitizer's name.
    pub fn name(self) -> &'static str {
        match self {
            Sanitizer::Address => "AddressSanitizer",
            Sanitizer::HardwareAddress => "HWAddressSanitizer",
            Sanitizer::Leak => "LeakSanitizer",
            Sanitizer::Memory => "MemorySanitizer",
            Sanitizer::Thread => "ThreadSanitizer",
        }
    }

    /// The compiler's option for the sanitizer.
    pub fn option(self) -> &'static str {
        match self {
            Sanitizer::Address => "-fsanitize=address",
            Sanitizer::HardwareAddress => "-fsanitize=hwaddress",
            Sanitizer::Leak => "-fsanitize=leak",
            Sanitizer::Memory => "-fsanitize=memory",
            Sanitizer::Thread => "-fsanitize=thread",
        }
    }
}

/// The sanitizer that a program was built with; `None` if there is none.
pub(super) fn find<'data, R: ReadRef<'data>>(
    header: &FileHeader64<Endianness>,
    data: R,
) -> object::Result<Option<Sanitizer>> {
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let has = |table, known: &[u8]| -> object::Result<bool> {
        let symbols = sections.symbols(endian, data, table)?;
        // The bytes of all names are searched first, since there may be a million names, and this
        // one is rarely among them.
        let names = sections.section(symbols.string_section())?.data(endian, data)?;
        let named = memmem::find(names, known).is_some();
        Ok(named
            && symbols.iter().any(|symbol| {
                let counts = !symbol.is_undefined(endian) || symbol.st_bind() != STB_WEAK;
                counts && symbol.name(endian, symbols.strings()) == Ok(known)
            }))
    };
    // Both symbol tables are searched, because GCC's static runtimes export nothing.
    let calls =
        |known| [SHT_DYNSYM, SHT_SYMTAB].into_iter().any(|table| has(table, known) == Ok(true));
    let needed = needed(header, data)?;
    let is_needed = |names: [&[u8]; 2]| {
        needed.iter().any(|library| names.iter().any(|name| library.starts_with(name)))
    };
    let found = KNOWN.iter().find(|(_, initial, names)| calls(initial) || is_needed(*names));
    Ok(found.map(|&(sanitizer, ..)| sanitizer))
}

/// The names of the libraries that a program needs.
fn needed<'data, R: ReadRef<'data>>(
    header: &FileHeader64<Endianness>,
    data: R,
) -> object::Result<Vec<&'data [u8]>> {
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let Some((entries, strings)) = sections.dynamic(endian, data)? else { return Ok(Vec::new()) };
    let strings = sections.strings(endian, data, strings)?;
    let name = |entry: &object::elf::Dyn64<Endianness>| name(entry, endian, strings);
    Ok(entries.iter().filter_map(name).collect())
}

fn name<'data, R: ReadRef<'data>>(
    entry: &object::elf::Dyn64<Endianness>,
    endian: Endianness,
    strings: StringTable<'data, R>,
) -> Option<&'data [u8]> {
    let is_library = entry.d_tag(endian) == DT_NEEDED;
    is_library.then(|| entry.string(endian, strings).ok()).flatten()
}

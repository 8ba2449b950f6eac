//! The files that a process has mapped, and their unwind tables.

use std::collections::HashMap;
use std::fs;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::{ExplicitModuleSectionInfo, Module};
use object::elf::PF_X;
use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SegmentFlags};

use crate::python::Place;

/// Bytes that the modules of several processes share.
#[derive(Clone, Default)]
pub struct Bytes(Arc<[u8]>);

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The unwind tables of a file with instructions, and its segments.
#[derive(Clone)]
struct Tables {
    header: Option<(u64, Bytes)>,
    frames: Option<(u64, Bytes)>,
    /// The segments with instructions: offset in the file, length, and address of each.
    segments: Vec<(u64, u64, u64)>,
    /// The symbols of Python's interpreter, if the file contains it.
    python: Option<Place>,
}

/// The files that have been read.
#[derive(Default)]
pub struct Files {
    /// By what identifies them; `None` for those that could not be read.
    read: HashMap<Identity, Option<Tables>>,
    /// The recorder's file. Attaching copies it into memory that a process can map.
    recorder: Option<PathBuf>,
}

/// The path at which a process has the recorder mapped if the recorder was attached to it.
const COPIED: &str = "/memfd:syncline-recorder";

impl Files {
    /// No files yet. `recorder` is the recorder's file, if it is attached to running processes.
    pub fn new(recorder: Option<PathBuf>) -> Files {
        Files { recorder, ..Files::default() }
    }

    /// The module of a process's mapping; `None` if its file can't be read, or has no segment with
    /// instructions there. A file is read when it is first needed, because no thread is ever seen
    /// in most of a program's files.
    pub fn module(&mut self, pid: u32, mapping: &Mapping) -> Option<Module<Bytes>> {
        if !self.read.contains_key(&mapping.file) {
            let seen = match &self.recorder {
                Some(recorder) if mapping.file.path.to_string_lossy().starts_with(COPIED) => {
                    recorder.clone()
                }
                // A process in another mount namespace may have other files at its paths.
                _ => format!("/proc/{pid}/root{}", mapping.file.path.display()).into(),
            };
            self.read.insert(mapping.file.clone(), Tables::read(&seen));
        }
        let tables = self.read[&mapping.file].as_ref()?;
        let bias = tables.bias(mapping)?;
        let mut sections = ExplicitModuleSectionInfo { base_svma: 0, ..Default::default() };
        let place = |(address, bytes): &(u64, Bytes)| *address..address + bytes.len() as u64;
        sections.eh_frame_hdr_svma = tables.header.as_ref().map(place);
        sections.eh_frame_hdr = tables.header.as_ref().map(|(_, bytes)| bytes.clone());
        sections.eh_frame_svma = tables.frames.as_ref().map(place);
        sections.eh_frame = tables.frames.as_ref().map(|(_, bytes)| bytes.clone());
        Some(Module::new(String::new(), mapping.range.clone(), bias, sections))
    }
}

impl Files {
    /// Where Python's interpreter is in a process, if a mapping's file contains it. The file must
    /// have been read.
    pub fn python(&self, mapping: &Mapping) -> Option<Place> {
        let tables = self.read.get(&mapping.file)?.as_ref()?;
        let (place, bias) = (tables.python.as_ref()?, tables.bias(mapping)?);
        let moved = |address: u64| address.wrapping_add(bias);
        Some(Place {
            runtime: moved(place.runtime),
            version: moved(place.version),
            evaluates: moved(place.evaluates.start)..moved(place.evaluates.end),
        })
    }
}

impl Tables {
    fn read(path: &Path) -> Option<Tables> {
        // The tables are a small part of the file, so not all of it is read.
        let content = ReadCache::new(fs::File::open(path).ok()?);
        let file = object::File::parse(&content).ok()?;
        let section = |name| {
            let section = file.section_by_name(name)?;
            Some((section.address(), Bytes(section.data().ok()?.into())))
        };
        // Two segments may share a page of the file. The page is then mapped twice, at different
        // distances.
        let executable =
            |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & PF_X.0 != 0);
        let segments =
            file.segments().filter(|segment| executable(segment.flags())).map(|segment| {
                let (offset, size) = segment.file_range();
                (offset, size, segment.address())
            });
        Some(Tables {
            header: section(".eh_frame_hdr"),
            frames: section(".eh_frame"),
            segments: segments.collect(),
            python: path.to_string_lossy().contains("python").then(|| python(&file)).flatten(),
        })
    }

    /// What has to be added to an address in the file to get the address in memory.
    fn bias(&self, mapping: &Mapping) -> Option<u64> {
        // A mapping begins at the start of a page; its segment may begin inside that page.
        let within = |&&(offset, size, _): &&(u64, u64, u64)| {
            mapping.offset < offset + size
                && offset < mapping.offset + (mapping.range.end - mapping.range.start)
        };
        let &(offset, _, address) = self.segments.iter().find(within)?;
        let start = mapping.range.start;
        Some(start.wrapping_sub(mapping.offset).wrapping_sub(address.wrapping_sub(offset)))
    }
}

/// The symbols of Python's interpreter in a file; `None` if it lacks one of them.
fn python<'a>(file: &impl Object<'a>) -> Option<Place> {
    let symbol = |name| file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name));
    let evaluates = symbol("_PyEval_EvalFrameDefault")?;
    Some(Place {
        runtime: symbol("_PyRuntime")?.address(),
        version: symbol("Py_Version")?.address(),
        evaluates: evaluates.address()..evaluates.address() + evaluates.size(),
    })
}

/// A mapping of a file's instructions, from a line of `/proc/PID/maps`.
#[derive(Debug, PartialEq)]
pub struct Mapping {
    /// The addresses at which they are mapped.
    pub range: Range<u64>,
    offset: u64,
    file: Identity,
}

/// What identifies a mapped file. Its path alone does not: another mount namespace may have another
/// file there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Identity {
    /// The numbers of its device, and its inode.
    device: String,
    inode: u64,
    path: PathBuf,
}

impl Mapping {
    /// All such mappings of a process; none if they can't be read, as after its end.
    pub fn all(pid: u32) -> Vec<Mapping> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.lines().filter_map(Mapping::of).collect()
    }

    fn of(line: &str) -> Option<Mapping> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let executable = fields.next()?.as_bytes().get(2) == Some(&b'x');
        let hex = |digits| u64::from_str_radix(digits, 16).ok();
        let offset = hex(fields.next()?)?;
        let (device, inode) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
        let path = fields.next()?.trim_start();
        let file = Identity { device, inode, path: path.into() };
        let is_file = executable && path.starts_with('/');
        is_file.then_some(Mapping { range: hex(start)?..hex(end)?, offset, file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_process_with_instructions() {
        let line = "7f0d4c628000-7f0d4c77d000 r-xp 00026000 fe:00 394 /usr/lib/libc.so 6";
        let (start, end) = (0x7f0d_4c62_8000, 0x7f0d_4c77_d000);
        let file =
            Identity { device: "fe:00".to_owned(), inode: 394, path: "/usr/lib/libc.so 6".into() };
        assert_eq!(Mapping::of(line), Some(Mapping { range: start..end, offset: 0x26000, file }));
        for other in [
            "7f0d4c628000-7f0d4c77d000 r--p 00026000 fe:00 394      /usr/lib/libc.so",
            "7ffd1b9f2000-7ffd1b9f4000 r-xp 00000000 00:00 0        [vdso]",
            "7f0d4c628000-7f0d4c77d000 r-xp 00000000 00:00 0 ",
            "nonsense",
            "",
        ] {
            assert_eq!(Mapping::of(other), None, "{other}");
        }
    }

    #[test]
    fn this_program_is_where_its_functions_say() {
        let mut files = Files::default();
        let here = Files::module as *const () as u64;
        let pid = std::process::id();
        let mapping = Mapping::all(pid).into_iter().find(|mapping| mapping.range.contains(&here));
        let mapping = mapping.expect("it is mapped");
        let module = files.module(pid, &mapping).expect("it is a file with tables");
        assert!(module.avma_range().contains(&here));
    }
}

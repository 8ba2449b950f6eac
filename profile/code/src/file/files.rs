//! Finds the symbols of a file: in the file itself, or in a separate file, which is next to it or
//! in the folder where distributions install such files.
//!
//! A separate file is found by the build-id that both files have, or by the name in
//! `.gnu_debuglink`. It is used if its build-id is equal or if it has none. The link's checksum,
//! which is over the whole file, is not checked.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::{Object, ReadCache};

/// The folder where distributions install separate debug files: they are looked up under
/// `.build-id` there, and by name.
pub const DEBUG_DIR: &str = "/usr/lib/debug";

/// The files on disk that have the names of a recorded module.
pub struct Files {
    /// The file itself.
    pub binary: PathBuf,
    /// The separate file with the module's symbols, if there is one.
    pub debug: Option<PathBuf>,
    /// The file with the common parts of several such files (`.gnu_debugaltlink`), if there is one.
    pub shared: Option<PathBuf>,
}

/// Why a file can't be used.
#[derive(Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The file can't be read, or is not an ELF file.
    Missing,
    /// The file's build-id is not the one that was recorded.
    Changed,
}

/// Finds the files of a module by its path and build-id. The build-id is empty if the module has
/// none.
pub fn find(path: &Path, build_id: &[u8], debug_dirs: &[PathBuf]) -> Result<Files, Unusable> {
    let facts = Facts::read(path).ok_or(Unusable::Missing)?;
    if facts.build_id != build_id {
        return Err(Unusable::Changed);
    }
    let candidates = by_build_id(build_id, debug_dirs)
        .into_iter()
        .chain(facts.link.iter().flat_map(|name| by_name(path, name, debug_dirs)));
    let debug = candidates.into_iter().find_map(|candidate| {
        let found = Facts::read(&candidate)?;
        let same = found.build_id == build_id || found.build_id.is_empty();
        same.then_some((candidate, found))
    });
    let (holder, facts) = debug.as_ref().map_or((path, &facts), |(p, f)| (p.as_path(), f));
    let shared = facts.shared.as_ref().and_then(|(name, id)| {
        let beside = holder.parent().map(|folder| folder.join(name));
        let mut candidates = by_build_id(id, debug_dirs).into_iter().chain(beside);
        candidates.find(|c| Facts::read(c).is_some_and(|found| found.build_id == *id))
    });
    Ok(Files { binary: path.to_owned(), debug: debug.map(|(path, _)| path), shared })
}

/// The text that the kernel appends to the path of a deleted file.
pub const REPLACED: &str = " (deleted)";

/// The build id of a file as it is now; empty if the file has none, or is no executable.
pub fn build_id(path: &Path) -> Vec<u8> {
    Facts::read(path).map_or_else(Vec::new, |facts| facts.build_id)
}

/// If a program's file was replaced while the program ran, the kernel calls the old file
/// `NAME (deleted)`. For such a `path`, this is the path of the current file. `None` for other
/// paths, or if the current file is not known to be the same build; without a build-id, it is not
/// known.
pub fn replaced(path: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let now = path.as_os_str().as_bytes().strip_suffix(REPLACED.as_bytes())?;
    let now = Path::new(OsStr::from_bytes(now));
    // A file may also really have this name.
    let is_same = !build_id.is_empty() && !path.exists();
    (is_same && Facts::read(now)?.build_id == build_id).then(|| now.to_owned())
}

/// The paths of a build-id's debug file, such as `DIR/.build-id/ab/cdef.debug`; empty without a
/// build-id.
fn by_build_id(build_id: &[u8], debug_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let Some((first, rest)) = build_id.split_first() else { return Vec::new() };
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!(".build-id/{first:02x}/{rest}.debug");
    debug_dirs.iter().map(|dir| dir.join(&name)).collect()
}

/// The paths at which gdb looks for a debug file called `name`: in the file's folder, in `.debug`
/// there, and under the path of that folder in each debug folder.
fn by_name(path: &Path, name: &Path, debug_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let inside = folder.strip_prefix("/").unwrap_or(folder);
    let mut candidates = vec![folder.join(name), folder.join(".debug").join(name)];
    candidates.extend(debug_dirs.iter().map(|dir| dir.join(inside).join(name)));
    candidates.retain(|candidate| candidate != path);
    candidates
}

/// What a file says about itself: its build-id, and the names of its debug files.
struct Facts {
    build_id: Vec<u8>,
    link: Option<PathBuf>,
    shared: Option<(PathBuf, Vec<u8>)>,
}

impl Facts {
    fn read(path: &Path) -> Option<Facts> {
        let cache = open(path)?;
        let file = object::File::parse(&cache).ok()?;
        let path = |name: &[u8]| PathBuf::from(OsStr::from_bytes(name));
        let link = file.gnu_debuglink().ok().flatten();
        let shared = file.gnu_debugaltlink().ok().flatten();
        Some(Facts {
            build_id: file.build_id().ok().flatten().unwrap_or_default().to_vec(),
            link: link.map(|(name, _)| path(name)),
            shared: shared.map(|(name, id)| (path(name), id.to_vec())),
        })
    }
}

/// Opens a regular file; `None` if it can't be opened or is not a regular file. By now, a path from
/// a recording may name a pipe or a device.
pub fn open(path: &Path) -> Option<ReadCache<File>> {
    let plain = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
    plain.then(|| File::open(path).ok()).flatten().map(ReadCache::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_files_are_looked_for_where_gdb_does() {
        let dirs = [PathBuf::from("/usr/lib/debug")];
        assert_eq!(
            by_build_id(&[0xab, 0xcd, 0x01], &dirs),
            [PathBuf::from("/usr/lib/debug/.build-id/ab/cd01.debug")]
        );
        assert_eq!(
            by_name(Path::new("/bin/app"), Path::new("app.debug"), &dirs),
            ["/bin/app.debug", "/bin/.debug/app.debug", "/usr/lib/debug/bin/app.debug"]
                .map(PathBuf::from)
        );
        assert!(by_build_id(&[], &dirs).is_empty());
    }
}

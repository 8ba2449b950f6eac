//! An archive that the kernel unpacks into its first file system: cpio's "newc" form.
//!
//! Source: `Documentation/driver-api/early-userspace/buffer-format.rst` of the Linux kernel. Each
//! entry is a header of hexadecimal numbers, the name and the contents, both padded to a multiple
//! of four bytes; an entry named `TRAILER!!!` ends the archive.

use std::collections::BTreeSet;

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_000;

/// An archive under construction.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Adds a file and its parent folders. `path` is absolute; `mode` has the permissions.
    pub fn file(&mut self, path: &str, mode: u32, contents: &[u8]) {
        let path = path.trim_start_matches('/');
        self.folders_of(path);
        self.entry(path, FILE | mode, contents);
    }

    /// Adds an empty folder.
    pub fn folder(&mut self, path: &str) {
        let path = path.trim_matches('/');
        self.folders_of(&format!("{path}/"));
    }

    /// Returns the archive's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn folders_of(&mut self, path: &str) {
        for (end, _) in path.match_indices('/') {
            if self.folders.insert(path[..end].to_owned()) {
                self.entry(&path[..end], FOLDER, &[]);
            }
        }
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8]) {
        self.entries += 1;
        let fields = [
            self.entries,          // inode
            mode,                  // mode
            0,                     // user
            0,                     // group
            1,                     // links
            0,                     // time
            contents.len() as u32, // size
            0,                     // device
            0,                     // device
            0,                     // device
            0,                     // device
            path.len() as u32 + 1, // name's size
            0,                     // checksum
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.fill();
        self.bytes.extend_from_slice(contents);
        self.fill();
    }

    fn fill(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn an_archive_is_what_its_description_says() {
        let mut archive = Archive::default();
        archive.file("/a/b/c", 0o755, b"hello");
        archive.file("/a/d", 0o644, b"");
        archive.folder("/a/empty");
        let bytes = archive.finish();
        assert!(bytes.len().is_multiple_of(4));
        assert_eq!(&bytes[..6], b"070701");
        assert_eq!(&bytes[14..22], b"000041ED", "a folder");
        let names: Vec<&str> = ["a\0", "a/b\0", "a/b/c\0", "a/d\0", "a/empty\0", "TRAILER!!!\0"]
            .into_iter()
            .filter(|name| bytes.windows(name.len()).any(|part| part == name.as_bytes()))
            .collect();
        assert_eq!(names.len(), 6);
    }

    #[test]
    fn cpio_lists_it_where_there_is_one() {
        use std::io::Write;
        let mut archive = Archive::default();
        archive.file("/a/b/c", 0o755, b"hello");
        let mut cpio = Command::new("cpio");
        cpio.args(["-t", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = cpio.spawn() else {
            println!("skipped: there is no cpio");
            return;
        };
        child.stdin.take().expect("a pipe").write_all(&archive.finish()).expect("it reads");
        let listed = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "a\na/b\na/b/c\n");
    }
}

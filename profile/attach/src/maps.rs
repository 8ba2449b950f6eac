//! Reads the mappings of a process.

use std::fs::read_to_string;
use std::io;
use std::ops::Range;

/// A mapping.
#[derive(Debug)]
pub struct Map {
    pub range: Range<u64>,
    pub is_writable: bool,
    /// The major and the minor number of its file's device.
    pub device: (u32, u32),
    /// The inode number of its file; 0 if it has none.
    pub inode: u64,
    /// The path by which the process opened its file; empty if it has none.
    pub path: String,
}

/// The mappings of the process with this number, in the order of their addresses.
pub fn of(pid: u32) -> io::Result<Vec<Map>> {
    Ok(read_to_string(format!("/proc/{pid}/maps"))?.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Map> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let (access, _offset) = (words.next()?, words.next()?);
    let (major, minor) = words.next()?.split_once(':')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some(Map {
        range: hex(from)?..hex(to)?,
        is_writable: access.contains('w'),
        device: (hex(major)? as u32, hex(minor)? as u32),
        inode: words.next()?.parse().ok()?,
        path: line.find('/').map_or("", |at| &line[at..]).to_owned(),
    })
}

/// The mapping that contains an address; `None` if there is none.
pub fn at(maps: &[Map], address: u64) -> Option<&Map> {
    let place = maps.partition_point(|map| map.range.end <= address);
    maps.get(place).filter(|map| map.range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_found_by_its_addresses() {
        let lines = "1000-3000 r-xp 00000000 fe:10 7 /a b\n5000-6000 rw-p 00000000 00:00 0 \n";
        let maps: Vec<Map> = lines.lines().filter_map(parse).collect();
        let first = at(&maps, 0x2fff).expect("it is there");
        assert_eq!((first.is_writable, first.device, first.inode), (false, (0xfe, 0x10), 7));
        assert_eq!(first.path, "/a b");
        assert!(at(&maps, 0x3000).is_none());
        assert!(at(&maps, 0x5000).is_some_and(|map| map.is_writable));
        assert!(at(&maps, 0x6000).is_none() && at(&maps, 0).is_none());
    }
}

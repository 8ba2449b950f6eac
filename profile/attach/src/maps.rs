//! The mappings of a process.

use std::fs::read_to_string;
use std::io;
use std::ops::Range;

/// A mapping.
#[derive(Debug)]
pub struct Map {
    pub range: Range<u64>,
    pub is_writable: bool,
}

/// The mappings of a process, in the order of their addresses.
pub fn of(pid: u32) -> io::Result<Vec<Map>> {
    Ok(read_to_string(format!("/proc/{pid}/maps"))?.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Map> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let access = words.next()?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some(Map { range: hex(from)?..hex(to)?, is_writable: access.contains('w') })
}

/// The mapping that an address lies in.
pub fn at(maps: &[Map], address: u64) -> Option<&Map> {
    let place = maps.partition_point(|map| map.range.end <= address);
    maps.get(place).filter(|map| map.range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_found_by_its_addresses() {
        let lines = "1000-3000 r-xp 00000000 fe:00 1 /a\n5000-6000 rw-p 00000000 00:00 0 \n";
        let maps: Vec<Map> = lines.lines().filter_map(parse).collect();
        assert!(at(&maps, 0x2fff).is_some_and(|map| !map.is_writable));
        assert!(at(&maps, 0x3000).is_none());
        assert!(at(&maps, 0x5000).is_some_and(|map| map.is_writable));
        assert!(at(&maps, 0x6000).is_none() && at(&maps, 0).is_none());
    }
}

//! The memory that a table needs for each entry.

use std::fs;

use super::load::key;
use super::peers::contenders;
use crate::heap;

/// Prints the bytes that each table takes for an entry of 16 bytes. The tables are empty at first.
pub fn print(entries: usize) {
    println!("\nbytes for an entry of two 64-bit numbers, {entries} entries put in one by one");
    for contender in contenders::<u64>() {
        let before = in_use();
        let table = (contender.make)(0);
        table.fill(&mut (0..entries as u64).map(key));
        let bytes = in_use().saturating_sub(before) as f64 / entries as f64;
        println!("  {:<22}{bytes:>9.1}", contender.name);
    }
}

/// The allocated bytes, plus the bytes of mappings with the advice to use large pages. Our large
/// tables are in such mappings.
fn in_use() -> usize {
    heap::in_use() + mapped(&fs::read_to_string("/proc/self/smaps").unwrap_or_default())
}

/// The bytes of the mappings whose flags include the advice to use large pages. In the kernel's
/// list, a mapping's size comes before its flags.
fn mapped(list: &str) -> usize {
    let (mut kilobytes, mut size) = (0, 0);
    for line in list.lines() {
        if let Some(number) = line.strip_prefix("Size:") {
            size = number.trim().trim_end_matches(" kB").parse().unwrap_or(0);
        } else if line.starts_with("VmFlags:") && line.split(' ').any(|flag| flag == "hg") {
            kilobytes += size;
        }
    }
    kilobytes * 1024
}

#[cfg(test)]
mod tests {
    use super::mapped;

    #[test]
    fn mappings_for_large_pages_are_counted() {
        let list = "7f00-7f40 rw-p 0 00:00 0\nSize:               4096 kB\nRss: 8 kB\n\
                    VmFlags: rd wr mr mw me ac hg sd \n7f50-7f51 rw-p 0 00:00 0\n\
                    Size:                  4 kB\nVmFlags: rd wr mr mw me ac sd \n";
        assert_eq!(mapped(list), 4 << 20);
    }
}

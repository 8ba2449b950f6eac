//! Where functions start in a file that has lost their names: what is needed to unwind the stack
//! says so, and stays when a file is stripped.

use std::path::Path;

use addr2line::gimli::{BaseAddresses, EhFrameHdr, LittleEndian};
use object::{Object, ObjectSection};

use super::files;

/// The first addresses of a file's functions, or of their parts where a compiler has put what is
/// rarely run elsewhere, in order. Addresses are those of the file.
#[derive(Default)]
pub struct Starts(Vec<u64>);

impl Starts {
    /// Reads a file; empty if it has no index of its functions (`.eh_frame_hdr`).
    pub fn read(path: &Path) -> Starts {
        let Some(cache) = files::open(path) else { return Starts::default() };
        let Ok(file) = object::File::parse(&cache) else { return Starts::default() };
        Starts(index(&file).unwrap_or_default())
    }

    /// The start of the function that an address lies in, or lies behind if it is in none.
    pub fn before(&self, address: u64) -> Option<u64> {
        let after = self.0.partition_point(|&start| start <= address);
        self.0[..after].last().copied()
    }
}

fn index<'a>(file: &impl Object<'a>) -> Option<Vec<u64>> {
    let header = file.section_by_name(".eh_frame_hdr")?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.address());
    let header = EhFrameHdr::new(header.data().ok()?, LittleEndian).parse(&bases, 8).ok()?;
    let table = header.table()?;
    let mut entries = table.iter(&bases);
    let mut starts = Vec::new();
    while let Ok(Some((start, _))) = entries.next() {
        starts.extend(start.direct());
    }
    starts.sort_unstable();
    Some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_places_of_a_function_have_one_start_and_two_functions_two() {
        // This program itself: its own addresses, less where it was mapped.
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
        let bias = u64::from_str_radix(maps.split('-').next().expect("a line"), 16).expect("hex");
        let starts = Starts::read(Path::new("/proc/self/exe"));
        let read = Starts::read as *const () as u64 - bias;
        let before = Starts::before as *const () as u64 - bias;
        assert_eq!(starts.before(read + 1), Some(read));
        assert_eq!(starts.before(read), Some(read));
        assert_eq!(starts.before(before + 1), Some(before));
        assert_eq!(starts.before(0), None);
    }
}

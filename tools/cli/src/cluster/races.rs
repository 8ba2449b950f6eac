//! What `--check` has found: bytes that two ranks have changed between the same synchronizations.

use std::collections::BTreeMap;
use std::path::Path;

use syncline_code::file::files::build_id;
use syncline_code::file::image::Image;
use syncline_dsm::shape::{CONFLICTS, Control, Layout};

use super::watch::Ranks;

/// The most places that are printed.
const PRINTED: usize = 10;

/// The places that the ranks have found, in words.
pub fn found(job: &dyn Ranks, ranks: usize, layout: &Layout, program: &Path) -> Vec<String> {
    let base = job.load(layout.control(0, Control::Base));
    let loaded = job.load(layout.control(0, Control::Loaded));
    let mut places = BTreeMap::<u64, u64>::new();
    for rank in 0..ranks {
        let count = (job.load(layout.conflicts(rank)) as usize).min(CONFLICTS);
        for number in 0..count {
            let at = layout.conflict(rank, number);
            let bytes = places.entry(base + job.load(at)).or_default();
            *bytes = job.load(at.plus(8)).max(*bytes);
        }
    }
    if places.is_empty() {
        return Vec::new();
    }
    let debug_dirs = syncline_analysis::Options::default().debug_dirs;
    let open = || Image::open(&program.to_string_lossy(), &build_id(program), &debug_dirs);
    let image = (loaded != 0).then(open);
    let more = places.len().saturating_sub(PRINTED);
    let describe = |(address, bytes): (&u64, &u64)| {
        let bytes = if *bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
        let file_address = address.wrapping_sub(loaded);
        let variable = image.as_ref().and_then(|image| image.variable(file_address));
        match variable {
            Some((name, 0)) => format!("{bytes} of the variable {name}"),
            Some((name, offset)) => format!("{bytes} of the variable {name}, at offset {offset}"),
            None => format!("{bytes} at {address:#x}"),
        }
    };
    let mut texts: Vec<String> = places.iter().take(PRINTED).map(describe).collect();
    if more > 0 {
        texts.push(format!("{more} more places"));
    }
    texts
}

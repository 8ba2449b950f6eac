//! What the critical sections of the busiest sites do, by their instructions.

use std::collections::{BTreeMap, BTreeSet};

use syncline_code::section;
use syncline_code::symbols::Symbols;
use syncline_recording::{Class, Primitive};

use crate::model::{Kind, Site, Stack};

/// Sections are read for this many sites with most waiting, and for as many with most calls.
/// Reports and findings use fewer.
const SITES: usize = 200;

/// Fills in the sections of the busiest sites.
pub fn fill(sites: &mut [Site], stacks: &[Stack], symbols: &mut Symbols) {
    let mut by_module: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
    for site in busiest(sites) {
        let stack = sites[site].stacks.first().and_then(|&stack| stacks.get(stack));
        let place = stack.and_then(|stack| symbols.place_in_file(stack));
        if let Some((module, address)) = place {
            by_module.entry(module).or_default().push((site, address));
        }
    }
    for (module, places) in by_module {
        let acquired = |&(site, address): &(usize, u64)| (address, is_try(&sites[site]));
        let acquired: Vec<_> = places.iter().map(acquired).collect();
        let sections = section::sections(&symbols.image_of(module), &acquired);
        for ((site, _), section) in places.into_iter().zip(sections) {
            sites[site].section = section;
        }
    }
}

fn is_try(site: &Site) -> bool {
    site.op.class() == Class::Try
}

/// The sites of locks with most waiting, and those with most calls.
fn busiest(sites: &[Site]) -> BTreeSet<usize> {
    let takes = |site: &Site| {
        let class = site.op.class();
        let lock = site.kind == Kind::Lock && site.op.primitive() != Primitive::Semaphore;
        lock && matches!(class, Class::Acquire | Class::Try)
    };
    let mut places: Vec<usize> = (0..sites.len()).filter(|&site| takes(&sites[site])).collect();
    let figures = |site: usize| &sites[site].figures;
    places.sort_by(|&a, &b| figures(b).waited.total_cmp(&figures(a).waited));
    let mut chosen: BTreeSet<usize> = places.iter().copied().take(SITES).collect();
    places.sort_by_key(|&site| std::cmp::Reverse(figures(site).calls));
    chosen.extend(places.into_iter().take(SITES));
    chosen
}

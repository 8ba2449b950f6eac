//! The traced critical sections of a program, by call site: plain data that another crate makes
//! from a trace. Traced sections are matched to a recording by the position of the call in its
//! file, so the trace may be of another run of the same program.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::{Inspected, Module, Site, Stack};

/// A call site in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InFile {
    /// The file's name without its folders.
    pub name: String,
    /// The file's build-id in hexadecimal; empty if it has none.
    pub build_id: String,
    /// The return address, as in the file's own symbols.
    pub address: u64,
}

/// The inspections of call sites.
#[derive(Clone, Debug, Default)]
pub struct Inspections(HashMap<InFile, Inspected>);

impl Inspections {
    /// Adds the inspection of a site. If two inspections describe one site, the one with more
    /// traced sections is kept.
    pub fn add(&mut self, site: InFile, inspected: Inspected) {
        let known = self.0.entry(site).or_default();
        if known.sections < inspected.sections {
            *known = inspected;
        }
    }

    /// Whether there is no inspection.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fills in the inspection of each call site. If several calls belong to a site, the inspection
    /// with most sections is used. A call by a function that takes locks for several sites is left
    /// out, since its sections are those of all these sites.
    pub(crate) fn fill(&self, sites: &mut [Site], stacks: &[Stack], modules: &[Module]) {
        if self.is_empty() {
            return;
        }
        let calls = |site: &Site| -> BTreeSet<u64> {
            let stacks = site.stacks.iter().filter_map(|&stack| stacks.get(stack));
            stacks.filter_map(|stack| stack.addresses.first().copied()).collect()
        };
        let mut sites_of: BTreeMap<u64, usize> = BTreeMap::new();
        for call in sites.iter().flat_map(calls) {
            *sites_of.entry(call).or_default() += 1;
        }
        for site in sites {
            let own = calls(site).into_iter().filter(|call| sites_of[call] == 1);
            let known = own.filter_map(|call| self.0.get(&in_file(modules, call)?));
            site.inspected = known.max_by_key(|inspected| inspected.sections).cloned();
        }
    }
}

/// Converts a return address of a process to a position in a file; `None` if it is in no module.
fn in_file(modules: &[Module], address: u64) -> Option<InFile> {
    let call = address.wrapping_sub(1);
    let module = modules.iter().find(|m| (m.start..m.end).contains(&call))?;
    Some(InFile {
        name: module.name().to_owned(),
        build_id: module.build_id.clone(),
        address: address.wrapping_sub(module.bias),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::process;

    fn module(start: u64, build_id: &str) -> Module {
        Module {
            path: "/opt/app".into(),
            build_id: build_id.into(),
            start,
            end: start + 0x1000,
            bias: start,
            symbols: None,
        }
    }

    #[test]
    fn a_site_is_found_at_another_address_of_the_same_file_and_not_of_another_build() {
        let mut inspections = Inspections::default();
        let at = |address| InFile { name: "app".into(), build_id: "b1".into(), address };
        let of = |sections| Inspected { sections, ..Inspected::default() };
        inspections.add(at(0x20), of(5));
        inspections.add(at(0x20), of(3));
        let mut drawn = process(1.0, 1);
        let site = drawn.site(syncline_recording::Op::MutexLock, "push at queue.c:1");
        drawn.stacks.push(Stack { addresses: vec![0x7000_0020], ..Stack::default() });
        drawn.sites[site].stacks = vec![drawn.stacks.len() - 1];
        let stacks = drawn.stacks.clone();
        inspections.fill(&mut drawn.sites, &stacks, &[module(0x7000_0000, "b1")]);
        assert_eq!(drawn.sites[site].inspected, Some(of(5)));
        inspections.fill(&mut drawn.sites, &stacks, &[module(0x7000_0000, "b2")]);
        assert_eq!(drawn.sites[site].inspected, None);
        let other = drawn.site(syncline_recording::Op::MutexLock, "pop at queue.c:9");
        drawn.sites[other].stacks = drawn.sites[site].stacks.clone();
        inspections.fill(&mut drawn.sites, &stacks, &[module(0x7000_0000, "b1")]);
        assert_eq!(drawn.sites[site].inspected, None, "the call is that of two sites");
    }
}

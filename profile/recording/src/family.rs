//! Finds the processes in one file: the one that made the file, and children that were forked and
//! share it.
//!
//! Each process has a name like a file's path. `DIR/41.syncline` names the first process of that
//! file. A child's name also has `#` and the page of the child's header, as in
//! `DIR/41.syncline#2560`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::layout::{
    HEADER_SIZE, Header, MAGIC, ModuleRecord, Region, StackRecord, THREAD_NONE, ThreadRecord,
    VERSION,
};
use crate::process::Thread;
use crate::running;
use crate::source::Source;

const PAGE: u64 = HEADER_SIZE as u64;

/// Splits a process's name into the path of its file and the page of its header, which is 0 for the
/// first process.
pub fn place(path: &Path) -> (PathBuf, u32) {
    let name = path.file_name().and_then(|name| name.to_str());
    let child = name.and_then(|name| {
        let (file, page) = name.rsplit_once('#')?;
        Some((path.with_file_name(file), page.parse().ok()?))
    });
    child.filter(|(file, _)| file.extension().is_some()).unwrap_or((path.to_owned(), 0))
}

/// The names of a file's processes, each with its process number: first the process that made the
/// file, then the children in the order in which they began. Children that can't be found because
/// the file is damaged are left out. The number of the first process is `None` if its header is
/// unreadable.
pub fn processes(file: &Path) -> Vec<(PathBuf, Option<u32>)> {
    numbers(file, |_| true)
}

/// The processes of a file whose headers say that they still run, with their process numbers.
pub fn running(file: &Path) -> impl Iterator<Item = (PathBuf, u32)> {
    numbers(file, running::is_marked_running)
        .into_iter()
        .filter_map(|(process, pid)| Some((process, pid?)))
}

/// The names of all processes of a file, and the process numbers of those for whose header `chosen`
/// is true.
fn numbers(file: &Path, chosen: impl Fn(&Header) -> bool) -> Vec<(PathBuf, Option<u32>)> {
    let number = |header: &Header| chosen(header).then_some(header.pid);
    let mut all = vec![(file.to_owned(), None)];
    let Ok(source) = Source::open(file) else { return all };
    let Ok(first) = source.first_page::<Header>(MAGIC, VERSION) else { return all };
    all[0].1 = number(&first);
    let mut children = Vec::new();
    let mut seen = BTreeSet::new();
    let mut page = first.newest;
    while page != 0 && seen.insert(page) {
        let Ok(header) = source.header(&first, page) else { break };
        let mut name = file.as_os_str().to_owned();
        name.push(format!("#{page}"));
        children.push((name.into(), number(&header)));
        page = header.before;
    }
    children.reverse();
    all.extend(children);
    all
}

impl Source<'_> {
    /// The header of the process on this page. The fields that all processes of the file share are
    /// taken from the first header.
    pub(crate) fn header(&self, first: &Header, page: u32) -> Result<Header, Error> {
        if page == 0 {
            return Ok(*first);
        }
        let own = self.records::<Header>(u64::from(page) * PAGE, 1, "processes")?[0];
        let alike = |h: &Header| (h.magic, h.version, h.byte_order, h.ticks_per_second);
        if alike(&own) != alike(first) {
            return Err(self.damaged("a page does not begin a process"));
        }
        let region = |own: Region, shared: Region| Region { dropped: own.dropped, ..shared };
        Ok(Header {
            modules: region(own.modules, first.modules),
            threads: region(own.threads, first.threads),
            stacks: region(own.stacks, first.stacks),
            arena_offset: first.arena_offset,
            arena_used: first.arena_used,
            arena_capacity: first.arena_capacity,
            file_size: first.file_size,
            window: first.window,
            window_began: first.window_began,
            ..own
        })
    }

    /// The modules of a process: those that it found itself, and those that its ancestors had found
    /// when they forked.
    pub(crate) fn modules(&self, first: &Header, page: u32) -> Result<Vec<ModuleRecord>, Error> {
        let mut known = BTreeMap::from([(page, u32::MAX)]);
        let (mut page, mut most) = (page, u32::MAX);
        while page != 0 {
            let header = self.header(first, page)?;
            // A child's page is handed out after its parent's, so it has a higher number.
            if header.parent_page >= page {
                return Err(self.damaged("a process is its own ancestor"));
            }
            (page, most) = (header.parent_page, most.min(header.inherited));
            known.insert(page, most);
        }
        let all = self.region::<ModuleRecord>(&first.modules, "modules")?;
        // The writer fills in the first word of a record last (by a Release in `File::add_module`),
        // and the reader copies the first word first. So a copy that has the word is complete.
        let is_known = |(index, module): &(usize, ModuleRecord)| {
            let is_whole = module.start != 0;
            is_whole
                && known.get(&module.process).is_some_and(|&most| (*index as u64) < u64::from(most))
        };
        Ok(all.into_iter().enumerate().filter(is_known).map(|(_, module)| module).collect())
    }

    /// The records of a process's threads, each with its index.
    pub(crate) fn thread_records(
        &self,
        header: &Header,
        page: u32,
    ) -> Result<Vec<(u32, ThreadRecord)>, Error> {
        let is_used = |record: &ThreadRecord| record.state != THREAD_NONE && record.process == page;
        if page == 0 {
            let all = self.region::<ThreadRecord>(&header.threads, "threads")?;
            return Ok((0..).zip(all).filter(|(_, record)| is_used(record)).collect());
        }
        if header.threads.record_size as usize != size_of::<ThreadRecord>() {
            return Err(self.damaged("its records of threads have an unexpected size"));
        }
        let count = header.threads.count.min(header.threads.capacity);
        let mut found = BTreeMap::new();
        let mut next = header.latest_thread;
        while let Some(index) = next.checked_sub(1) {
            let at = u64::from(index) * size_of::<ThreadRecord>() as u64;
            let offset = header.threads.offset.checked_add(at).filter(|_| index < count);
            let offset =
                offset.ok_or_else(|| self.damaged("its list of threads leads out of it"))?;
            let record = self.records::<ThreadRecord>(offset, 1, "threads")?[0];
            if found.insert(index, record).is_some() {
                return Err(self.damaged("its list of threads is a circle"));
            }
            next = record.previous;
        }
        found.retain(|_, record| is_used(record));
        Ok(found.into_iter().collect())
    }

    /// The stacks of a file. If several processes share the file, the stacks that none of `threads`
    /// uses are replaced by empty ones.
    pub(crate) fn stacks(
        &self,
        first: &Header,
        threads: &[Thread],
    ) -> Result<Vec<StackRecord>, Error> {
        let mut stacks = self.region::<StackRecord>(&first.stacks, "stacks")?;
        if first.newest != 0 {
            let mut used = vec![false; stacks.len()];
            let mut keep = |number: u32| {
                if let Some(used) = used.get_mut(number as usize) {
                    *used = true;
                }
            };
            for thread in threads {
                let record = &thread.record;
                keep(record.created_at);
                keep(record.waiting_stack);
                keep(record.waiting_holder_stack);
                thread.log.iter().for_each(|event| keep(event.stack));
                for row in &thread.rows {
                    keep(row.counts.stack);
                    row.waits.iter().flat_map(|w| w.blockers).for_each(|b| keep(b.stack));
                    row.nest.iter().flat_map(|n| n.locks).for_each(|nest| keep(nest.stack));
                }
            }
            stacks.iter_mut().zip(used).filter(|(_, used)| !used).for_each(|(s, _)| s.depth = 0);
        }
        Ok(stacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_by_its_file_and_page() {
        let place = |path: &str| place(path.as_ref());
        assert_eq!(place("d#1/41.syncline"), ("d#1/41.syncline".into(), 0));
        assert_eq!(place("d/41.syncline#2560"), ("d/41.syncline".into(), 2560));
        assert_eq!(place("d/41.syncline#"), ("d/41.syncline#".into(), 0));
        assert_eq!(place("d#7"), ("d#7".into(), 0));
    }
}

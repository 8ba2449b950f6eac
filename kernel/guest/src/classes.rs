//! Classes of locks, which name a lock by its position: `dentry.d_lockref.lock`, `zone.lock`,
//! `tasklist_lock`.
//!
//! An address is looked up, in this order, in the kernel's variables, the hash table of directory
//! entries, the allocator's objects, the per-processor variables, and the structures of pages and
//! of memory nodes. A lock in none of these is named by the function that takes it.

use std::collections::HashMap;
use std::ops::Range;

use syncline_trace::layout::ObjectRecord;

use crate::btf::Btf;
use crate::symbols::Symbols;

/// The most bytes that the per-processor variables of one processor take.
const PER_CPU: u64 = 0x10_0000;
/// The symbol at the end of the per-processor variables.
const PER_CPU_END: &str = "__per_cpu_end";
/// A variable with more bytes than this is an array; a smaller one may be followed by unused bytes.
const LARGEST_ALONE: u64 = 64;
/// Addresses of the array of `struct page`.
const PAGES: Range<u64> = 0xffff_ea00_0000_0000..0xffff_eb00_0000_0000;

/// Caches, each with the type of its objects. Most of these types don't have the cache's name.
const TYPES: [(&str, &str); 16] = [
    ("inode_cache", "inode"),
    ("filp", "file"),
    ("sighand_cache", "sighand_struct"),
    ("signal_cache", "signal_struct"),
    ("files_cache", "files_struct"),
    ("fs_cache", "fs_struct"),
    ("sock_inode_cache", "socket_alloc"),
    ("shmem_inode_cache", "shmem_inode_info"),
    ("proc_inode_cache", "proc_inode"),
    ("ext4_inode_cache", "ext4_inode_info"),
    ("radix_tree_node", "xa_node"),
    ("kernfs_node_cache", "kernfs_node"),
    ("mnt_cache", "mount"),
    ("bdev_cache", "bdev_inode"),
    ("jbd2_transaction_s", "transaction_s"),
    ("jbd2_journal_head", "journal_head"),
];

/// Ends of paths that lead from a lock to its first word. They are stripped in this order.
const INSIDE: [&str; 7] = [
    ".raw_lock.val.counter",
    ".raw_lock.cnts.counter",
    ".raw_lock",
    ".rlock",
    ".lock_count",
    ".count.counter",
    ".owner.counter",
];

/// The purpose of looking an address up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// To name the lock that begins at the address.
    Lock,
    /// To name the field at the address.
    Field,
}

/// The names that are known for a kernel that has run.
#[derive(Debug)]
pub struct Classes {
    symbols: Symbols,
    types: Btf,
    /// Names of the allocator's caches, by their addresses.
    caches: HashMap<u64, String>,
    /// Start of each processor's area of per-processor variables.
    processors: Vec<u64>,
    nodes: Vec<u64>,
    /// The hash table of directory entries.
    dentries: Range<u64>,
}

impl Classes {
    /// Parses the texts of `caches` and `places`, two files that a run has left.
    pub fn new(symbols: Symbols, types: Btf, caches: &str, places: &str) -> Classes {
        let mut classes = Classes {
            symbols,
            types,
            caches: HashMap::new(),
            processors: Vec::new(),
            nodes: Vec::new(),
            dentries: 0..0,
        };
        for line in caches.lines() {
            let mut words = line.splitn(3, ' ');
            let cache = words.next().and_then(hex);
            if let (Some(cache), Some(name)) = (cache, words.nth(1)) {
                classes.caches.insert(cache, name.to_owned());
            }
        }
        for line in places.lines() {
            let mut words = line.split(' ');
            let (kind, number) = (words.next(), words.next());
            let Some(address) = words.next().and_then(hex) else { continue };
            match kind {
                Some("cpu") => classes.processors.push(address),
                Some("node") => classes.nodes.push(address),
                Some("dentries") => {
                    let bytes = number.and_then(|number| number.parse().ok()).unwrap_or(0);
                    classes.dentries = address..address.saturating_add(bytes);
                }
                _ => {}
            }
        }
        classes
    }

    /// The kernel's symbols.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The class of the lock that begins at an address. Unlike [`Classes::class`], this chooses the
    /// member of a union that is a lock, and leaves out the path within the lock.
    pub fn lock(&self, address: u64, object: Option<&ObjectRecord>) -> Option<String> {
        let mut name = self.place(address, object, Wanted::Lock)?;
        for inside in INSIDE {
            if let Some(outside) = name.strip_suffix(inside) {
                name.truncate(outside.len());
            }
        }
        Some(name)
    }

    /// Like [`Classes::lock`], for a bit spinlock. All bits in an array, such as the chains of a
    /// hash table, are one class.
    pub fn bit(&self, address: u64, object: Option<&ObjectRecord>) -> Option<String> {
        let in_array = self.symbols.find(address).filter(|(symbol, _)| {
            let range = self.symbols.range(&symbol.name);
            range.is_some_and(|(start, end)| end - start > LARGEST_ALONE)
        });
        match in_array {
            Some((symbol, _)) => Some(format!("{}[]", symbol.name)),
            None => self.lock(address, object),
        }
    }

    /// The class of the field at an address: a name that is the same for all objects of a type.
    /// `None` if the address is unknown.
    pub fn class(&self, address: u64, object: Option<&ObjectRecord>) -> Option<String> {
        self.place(address, object, Wanted::Field)
    }

    fn place(&self, address: u64, object: Option<&ObjectRecord>, wanted: Wanted) -> Option<String> {
        if let Some((symbol, distance)) = self.symbols.find(address) {
            return Some(with_distance(&symbol.name, distance));
        }
        if self.dentries.contains(&address) {
            return Some("dentry_hashtable[]".to_owned());
        }
        if let Some(object) = object {
            return Some(self.in_object(object.site, address.wrapping_sub(object.start), wanted));
        }
        // The areas are contiguous, so an address belongs to the nearest one that begins at or
        // below it.
        let areas = self.processors.iter().filter(|&&area| area <= address);
        if let Some(offset) = areas.map(|area| address - area).min().filter(|&o| o < PER_CPU)
            && let Some((symbol, distance)) = self.symbols.find_per_cpu(offset)
        {
            // Memory that was allocated per processor comes after the variables, and has no name.
            if symbol.name == PER_CPU_END {
                return None;
            }
            let field = self.types.field_of_variable(&symbol.name, distance);
            return Some(field.unwrap_or_else(|| with_distance(&symbol.name, distance)));
        }
        if PAGES.contains(&address) {
            let offset = (address - PAGES.start) % self.types.size("page")?;
            // From Linux 6.6 on, a page-table page is described by a structure of its own.
            if wanted == Wanted::Lock
                && self.types.lock("page", offset).is_none()
                && let Some(lock) = self.types.lock("ptdesc", offset)
            {
                return Some(format!("ptdesc.{lock}"));
            }
            return Some(format!("page.{}", self.path("page", offset, wanted)?));
        }
        for node in &self.nodes {
            let offset = address.wrapping_sub(*node);
            if offset < self.types.size("pglist_data")? {
                let field = self.path("pglist_data", offset, wanted)?;
                return Some(match field.strip_prefix("node_zones[].") {
                    Some(field) => format!("zone.{field}"),
                    None => format!("pglist_data.{field}"),
                });
            }
        }
        None
    }

    /// The field at an offset of a cache's objects.
    pub fn field(&self, cache: u64, offset: u64) -> String {
        self.in_object(cache, offset, Wanted::Field)
    }

    fn in_object(&self, cache: u64, offset: u64, wanted: Wanted) -> String {
        let Some(name) = self.caches.get(&cache) else { return format!("{cache:#x}+{offset:#x}") };
        let known = TYPES.iter().find(|(cache, _)| cache == name).map(|&(_, of)| of);
        let plain = name.strip_suffix("_cache").unwrap_or(name);
        let candidates = known.into_iter().chain([name.as_str(), plain]);
        for structure in candidates {
            if let Some(field) = self.path(structure, offset, wanted) {
                return format!("{structure}.{field}");
            }
        }
        format!("{name}+{offset:#x}")
    }

    fn path(&self, structure: &str, offset: u64, wanted: Wanted) -> Option<String> {
        let lock = || self.types.lock(structure, offset).filter(|_| wanted == Wanted::Lock);
        lock().or_else(|| self.types.field(structure, offset))
    }

    /// A line that the plugin wrote, with names in place of addresses.
    pub fn told(&self, line: &str) -> String {
        let word = |word: &str| match hex(word).filter(|_| word.len() == 16) {
            Some(address) => match self.symbols.find(address) {
                Some(_) => self.function(address),
                None => self.lock(address, None).unwrap_or_else(|| word.to_owned()),
            },
            None => word.to_owned(),
        };
        line.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    /// The name of the function that contains an address, with the distance from its start; the
    /// address itself if no function is known there.
    pub fn function(&self, address: u64) -> String {
        match self.symbols.find(address) {
            Some((symbol, distance)) => match &symbol.module {
                Some(module) => format!("{}+{distance:#x} [{module}]", symbol.name),
                None => format!("{}+{distance:#x}", symbol.name),
            },
            None => format!("{address:#x}"),
        }
    }
}

fn with_distance(name: &str, distance: u64) -> String {
    match distance {
        0 => name.to_owned(),
        _ => format!("{name}+{distance:#x}"),
    }
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word, 16).ok()
}

#[cfg(test)]
mod tests;

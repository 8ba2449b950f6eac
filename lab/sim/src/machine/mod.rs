//! A many-core machine: its topology, and the cycles that an access takes.

mod access;
mod check;
mod cost;
mod description;
mod distances;
mod error;
mod reader;

use access::ACCESSES;
pub use access::{Access, State};
use cost::Tables;
pub use description::{
    Busy, Costs, Description, FORMAT, Homes, Instructions, LINE, Level, Local, MOST_THREADS,
    Messages, Protocol, Scheduler,
};
use distances::Distances;
pub use error::Error;

use crate::caches::Caches;
pub use crate::caches::MOST_CACHES;

/// The number of instructions that a description counts for an access: for an address, a comparison
/// and a branch.
const INSTRUCTIONS_OF_ACCESS: u64 = 3;

/// A machine on which accesses can be simulated.
#[derive(Debug)]
pub struct Machine {
    /// The description from which the machine was made.
    pub description: Description,
    /// Cycles by kind of access, state and class of distance.
    cycles: Tables,
    distances: Distances,
    /// Cycles by kind of access and class of distance, for a line that all caches share.
    by_all: [Option<Vec<u32>>; ACCESSES],
    /// Cycles of a local access; `None` if the access leaves the core even if the core has the
    /// line.
    local: [Option<u32>; ACCESSES],
    quickest: u32,
    hand_over: u32,
    /// The number of lines that fit into each of a core's own levels of caches.
    private_lines: Vec<usize>,
    /// The cycles by which a load takes longer than one from the first level: an element for each
    /// of a core's own levels, and a last one for lines that are in none of them. The last is
    /// `None` if the line's home has to be asked.
    farther: Vec<Option<u32>>,
    /// Cycles of a load from the last of a core's own levels.
    look_up: u32,
    /// Cycles of the instructions of an access, by the number of threads that run on the core.
    instructions: Vec<u64>,
    /// The nearest node that has memory, for each node.
    memory_near: Vec<usize>,
}

impl Machine {
    /// Makes a machine from a description.
    ///
    /// # Errors
    /// If no machine can have the description. The error is a sentence that says what is wrong.
    pub fn new(description: Description) -> Result<Machine, String> {
        check::check(&description)?;
        let mut kinds: Vec<f64> = description.distances.iter().flatten().copied().collect();
        kinds.sort_by(f64::total_cmp);
        kinds.dedup();
        if kinds.len() > usize::from(u8::MAX) {
            return Err("distances: there are more than 255 different ones".to_owned());
        }
        let d = &description;
        let tables = cost::tables(d, &kinds);
        let by_all = cost::by_all(d, &kinds);
        let mut local = [d.local.atomic; ACCESSES];
        local[Access::Load as usize] = Some(d.local.load);
        local[Access::Store as usize] = d.local.store;
        let memory_near = memory_near(d);
        let quickest = cost::quickest(&tables, d);
        let hand_over = cost::hand_over(&tables);
        let (private_lines, farther) = levels(d);
        let own = d.levels.len().saturating_sub(1);
        let look_up = d.levels[..own].last().map_or(d.local.load, |level| level.cycles);
        Ok(Machine {
            cycles: tables,
            distances: Distances::of(d, &kinds),
            by_all,
            local,
            quickest,
            hand_over,
            private_lines,
            farther,
            look_up,
            instructions: instructions(&description),
            memory_near,
            description,
        })
    }

    /// The number of hardware threads.
    pub fn threads(&self) -> usize {
        self.caches() * self.description.threads_per_cache
    }

    /// The number of private caches on all nodes.
    pub fn caches(&self) -> usize {
        self.description.nodes * self.description.caches_per_node
    }

    /// The cache of a hardware thread. Threads are numbered cache by cache.
    pub fn cache_of(&self, thread: usize) -> usize {
        thread / self.description.threads_per_cache
    }

    /// The node of a cache.
    #[inline]
    pub fn node_of(&self, cache: usize) -> usize {
        self.distances.node_of(cache)
    }

    /// The number of the group to which a node belongs at a level: its socket at level 0, the node
    /// itself at the levels below.
    pub fn group(&self, node: usize, level: usize) -> usize {
        let socket = self.description.sockets.get(node).filter(|_| level == 0);
        socket.copied().unwrap_or(node)
    }

    /// The class of the distance between two nodes; class 0 is the least distance on the machine.
    #[inline]
    pub fn class(&self, a: usize, b: usize) -> usize {
        self.distances.class(a, b)
    }

    /// The class of the greatest distance.
    pub fn farthest(&self) -> usize {
        self.distances.farthest()
    }

    /// The class of the distance from a cache to the sharer of a line that determines the cost. For
    /// a load, this is the nearest sharer. For a write, which takes the line from all sharers, it
    /// is the farthest sharer other than the cache itself. `None` if there is no such sharer.
    #[inline]
    pub(crate) fn class_of_sharers(
        &self,
        access: Access,
        cache: usize,
        sharers: &Caches,
    ) -> Option<usize> {
        let here = self.node_of(cache);
        match access {
            Access::Load => self.distances.nearest_of(here, sharers),
            _ => self.distances.farthest_of(here, &sharers.without(cache)),
        }
    }

    /// Cycles of an access to a line in this state, over this class of distance.
    #[inline]
    pub fn cycles(&self, access: Access, state: State, class: usize) -> u32 {
        self.cycles[access as usize][state as usize][class]
    }

    /// Cycles of an access to a line that this many caches share, over this class of distance.
    pub fn cycles_shared(&self, access: Access, class: usize, sharers: usize) -> u32 {
        let by_two = self.cycles(access, State::Shared, class);
        let Some(by_all) = &self.by_all[access as usize] else { return by_two };
        let (more, most) = (sharers.saturating_sub(2), self.caches().saturating_sub(2).max(1));
        let by_all = f64::from(by_all[class]);
        let part = more as f64 / most as f64;
        (f64::from(by_two) + (by_all - f64::from(by_two)) * part).round() as u32
    }

    /// Whether the cost of an access depends on the number of sharers.
    #[inline]
    pub(crate) fn counts_sharers(&self, access: Access) -> bool {
        self.by_all[access as usize].is_some()
    }

    /// The node nearest to this one that has memory; this one itself if it has memory.
    pub fn memory_near(&self, node: usize) -> usize {
        self.memory_near[node]
    }

    /// Whether shared lines are never cached.
    #[inline]
    pub fn is_uncached(&self) -> bool {
        self.description.protocol == Protocol::Uncached
    }

    /// Whether threads share caches that write through. A read never gives such a cache the line
    /// exclusively, since other threads may read every line that one of its threads reads.
    #[inline]
    pub(crate) fn reads_to_share(&self) -> bool {
        self.description.threads_per_cache > 1 && self.description.local.store.is_none()
    }

    /// Cycles of an access to a line that the cache has in a suitable state; `None` if even such an
    /// access leaves the core.
    #[inline]
    pub fn local(&self, access: Access) -> Option<u32> {
        self.local[access as usize]
    }

    /// The number of lines that fit into each of a core's own levels of caches.
    pub(crate) fn private_lines(&self) -> &[usize] {
        &self.private_lines
    }

    /// The cycles by which an access takes longer if its line is in this level instead of the first
    /// one. `None` if the core then has to ask the line's home.
    #[inline]
    pub(crate) fn farther(&self, level: usize) -> Option<u32> {
        self.farther[level]
    }

    /// Cycles of the instructions that belong to an access, on a core that runs this many threads.
    #[inline]
    pub(crate) fn instructions(&self, running: usize) -> u64 {
        self.instructions[running.min(self.instructions.len() - 1)]
    }

    /// Cycles of `instructions` instructions without accesses, on a core that runs `running`
    /// threads.
    pub(crate) fn executing(&self, instructions: u64, running: usize) -> u64 {
        instructions * self.instructions(running) / INSTRUCTIONS_OF_ACCESS
    }

    /// The cycles for which an access that takes `cycles` keeps its line busy. The next access to
    /// the line has to wait that long.
    ///
    /// Usually the line is busy during the whole access: it travels, and no other core can have it.
    /// There are two exceptions. First, the last-level cache itself may do the work, because
    /// first-level caches write through to it or because lines have a home there. In this case the
    /// line is not busy while the request and the answer travel. The line is busy for the time by
    /// which the operation takes longer than a load, plus the time of a load from the last of the
    /// core's own levels. Second, if several caches have the line, the nearest one answers a load
    /// without the others. Neither exception holds for a line that no cache has.
    #[inline]
    pub(crate) fn occupied(&self, access: Access, state: State, class: usize, cycles: u32) -> u32 {
        let within = |way: u32| cycles.saturating_sub(way).saturating_add(self.look_up);
        match self.description.protocol {
            _ if state == State::Invalid => cycles,
            Protocol::Snooping if self.reads_to_share() => within(self.quickest),
            Protocol::Home => within(self.cycles(Access::Load, State::Modified, class)),
            Protocol::Snooping if access == Access::Load && state == State::Shared => self.look_up,
            _ => cycles,
        }
    }

    /// The number of stores that may wait in a thread's buffer while the thread goes on.
    #[inline]
    pub(crate) fn store_buffer(&self) -> usize {
        self.description.store_buffer.unwrap_or(0)
    }

    /// The number of accesses that a core may have under way at the same time.
    #[inline]
    pub(crate) fn under_way(&self) -> usize {
        self.description.under_way.unwrap_or(1)
    }

    /// Cycles of an access that directly follows another one to the same line. If stores leave the
    /// core, such a store takes as long as a load, since stores to one line leave the store buffer
    /// together. `None` for atomic operations, which never continue a burst.
    #[inline]
    pub(crate) fn again(&self, access: Access) -> Option<u32> {
        match access {
            Access::Load => self.local(access),
            Access::Store => self.local(access).or(self.local(Access::Load)),
            _ => None,
        }
    }

    /// The cycles for which the line stays with its owner during an access that takes `cycles`,
    /// since the request takes a while to reach the owner. `None` if the line does not stay.
    #[inline]
    pub(crate) fn stays(&self, cycles: u32) -> Option<u64> {
        let share = self.description.stays?;
        Some((f64::from(cycles) * share) as u64).filter(|&stays| stays > 0)
    }

    /// The fewest cycles of an access by a cache other than the line's owner.
    #[inline]
    pub fn quickest(&self) -> u32 {
        self.quickest
    }

    /// The longest time in which a line moves from a writer to the next reader, in cycles: the
    /// write has to reach all sharers, and the reader has to load the line.
    #[inline]
    pub(crate) fn hand_over(&self) -> u32 {
        self.hand_over
    }

    /// Whether a changed line stays with its owner when others read it, instead of being written to
    /// memory (MOESI's Owned).
    #[inline]
    pub fn has_owned(&self) -> bool {
        !self.description.load.owned.is_empty()
    }

    /// Converts seconds to cycles of this machine.
    pub fn in_cycles(&self, seconds: f64) -> u64 {
        (seconds * self.description.hertz) as u64
    }
}

/// The number of lines in each of a core's own levels; and the cycles by which a load takes longer
/// than one from the first level, for each of these levels and for lines in none of them.
fn levels(d: &Description) -> (Vec<usize>, Vec<Option<u32>>) {
    let Some((last, own)) = d.levels.split_last() else { return (Vec::new(), vec![Some(0)]) };
    let lines = own.iter().map(|level| level.bytes / LINE).collect();
    let longer = |level: &Level| Some(level.cycles.saturating_sub(d.local.load));
    let beyond = if d.protocol == Protocol::Home { None } else { longer(last) };
    (lines, own.iter().map(longer).chain([beyond]).collect())
}

/// Cycles of the instructions of an access, by the number of threads that run on the core. More
/// threads than `Instructions::threads` take turns.
fn instructions(d: &Description) -> Vec<u64> {
    let Some(of) = d.instructions else { return vec![0] };
    let turns = |running: usize| (running as f64 / of.threads as f64).max(1.0);
    (0..=d.threads_per_cache).map(|running| (of.cycles * turns(running)).round() as u64).collect()
}

fn memory_near(d: &Description) -> Vec<usize> {
    let all: Vec<usize> = (0..d.nodes).collect();
    let memories = if d.memories.is_empty() { &all } else { &d.memories };
    let nearest = |row: &Vec<f64>| {
        memories.iter().copied().min_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0)
    };
    d.distances.iter().map(nearest).collect()
}

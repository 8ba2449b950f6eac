//! A cache line: which caches have it in which state, until when it is busy, and what an access to
//! it costs.
//!
//! Accesses to one line are served one after another, in the order of their requests. Each begins
//! when the line is no longer busy with the access before it, which is usually at the end of that
//! access ([`Machine::occupied`] has the exceptions). So accesses to a contended line queue up, and
//! spinning readers fetch the line again one after another.

use crate::caches::Caches;
use crate::machine::{Access, Machine, Protocol, State};

/// The number of a simulated thread.
pub type ThreadId = u32;

/// A cache line: its state, its holders, and when it is free.
pub struct Line {
    state: State,
    /// The cache that has the line in the state modified, owned or exclusive.
    owner: usize,
    /// The node of the line's home.
    home: usize,
    /// The cache whose test-and-set register guards the line, on machines where such registers are
    /// the only atomic operation.
    keeper: usize,
    /// The caches that have a copy of the line.
    holders: Caches,
    /// The cycle from which the line can serve the next access.
    pub free_at: u64,
    /// The cycle from which threads can see the latest write.
    pub written_at: u64,
    /// Threads that poll the line until it is written to.
    pub watchers: Vec<ThreadId>,
    /// The caches that still have the line exclusively although others have requested it.
    staying: Vec<Stay>,
    /// The holder that used the line last, and the cycle of that use.
    used: (usize, u64),
}

/// A cache from which a line is being fetched, and the cycle until which it keeps the line.
struct Stay {
    cache: usize,
    until: u64,
}

impl Line {
    /// A line that no cache has. `keeper` is the cache whose register guards it.
    pub fn new(home: usize, keeper: usize) -> Line {
        Line {
            state: State::Invalid,
            owner: 0,
            home,
            keeper,
            holders: Caches::default(),
            free_at: 0,
            written_at: 0,
            watchers: Vec::new(),
            staying: Vec::new(),
            used: (0, 0),
        }
    }

    /// Records that a holder of the line uses it in cycle `at`.
    #[inline]
    pub fn used(&mut self, cache: usize, at: u64) {
        self.used = (cache, at);
    }

    /// The earliest cycle in which a request by `cache` can have begun. A request from before
    /// another cache's latest use of the line would have been useless, since that cache would have
    /// fetched the line back. Threads that watch the line use it all the time, so if there are any,
    /// this is the cycle `now`.
    #[inline]
    pub fn unused_since(&self, cache: usize, now: u64) -> u64 {
        match self.used {
            _ if !self.watchers.is_empty() => now,
            (by, _) if by == cache => 0,
            (_, at) => at,
        }
    }

    /// Records that a request for the line is on its way. A cache that has the line exclusively
    /// keeps it until the cycle `until`.
    pub fn stay(&mut self, now: u64, until: u64) {
        if matches!(self.state, State::Modified | State::Exclusive) {
            self.staying.retain(|stay| stay.until > now && stay.cache != self.owner);
            self.staying.push(Stay { cache: self.owner, until });
        }
    }

    /// The cycle until which a cache keeps the line although others have requested it. `None` if
    /// that is before the cycle `at`, or if no other cache has requested the line from this one.
    #[inline]
    pub fn stays_beyond(&self, cache: usize, at: u64) -> Option<u64> {
        let mut staying = self.staying.iter();
        staying.find(|stay| stay.cache == cache && stay.until >= at).map(|stay| stay.until)
    }

    /// The node of the line's home.
    pub fn home(&self) -> usize {
        self.home
    }

    /// The cache whose register guards the line.
    pub fn keeper(&self) -> usize {
        self.keeper
    }

    /// Whether a cache has the line.
    #[inline]
    pub fn is_held(&self, cache: usize) -> bool {
        self.state != State::Invalid && self.holders.has(cache)
    }

    /// Whether a cache has the line in a state in which the access needs no other cache.
    #[inline]
    pub fn suits(&self, access: Access, cache: usize) -> bool {
        match access {
            Access::Load => self.is_held(cache),
            _ => matches!(self.state, State::Modified | State::Exclusive) && self.owner == cache,
        }
    }

    /// The cycles for which an access that takes `cycles` keeps the line busy.
    pub fn occupied(&self, machine: &Machine, access: Access, cache: usize, cycles: u32) -> u32 {
        let class = machine.class(machine.node_of(cache), self.home);
        machine.occupied(access, self.state, class, cycles)
    }

    /// Cycles of an access by a cache, given the line's present state.
    pub fn cycles(&self, machine: &Machine, access: Access, cache: usize) -> u32 {
        let (here, home) = (machine.node_of(cache), self.home);
        let sharers = || machine.class_of_sharers(access, cache, &self.holders);
        let holder = match (machine.description.protocol, self.state) {
            (Protocol::Uncached | Protocol::Home, _) => {
                return self.over(machine, access, machine.class(here, home));
            }
            (Protocol::Snooping, _) => {
                let class = sharers().unwrap_or_else(|| machine.class(here, home));
                return self.over(machine, access, class);
            }
            // The directory does not know the sharers, so they are asked at the same time as the
            // home. The cost is that of the distance to the home or to a sharer, whichever is
            // farther: for a load the nearest sharer counts, for a write the farthest.
            (Protocol::Directory, State::Shared) => {
                let class = machine.class(here, home).max(sharers().unwrap_or(0));
                return self.over(machine, access, class);
            }
            (Protocol::Directory, State::Invalid) => home,
            (Protocol::Directory, _) => machine.node_of(self.owner),
        };
        // The tables have the costs of round trips, in which the home is on the asking core's node
        // or on the holder's. The route here has three one-way parts: to the home, to the holder,
        // and back. Each adds half of what a round trip over the same distance adds to an access
        // within a node.
        let within = machine.cycles(access, self.state, 0);
        let more =
            |a, b| machine.cycles(access, self.state, machine.class(a, b)).saturating_sub(within);
        within + (more(here, home) + more(home, holder) + more(holder, here)) / 2
    }

    /// Cycles of an access over this class of distance.
    #[inline]
    fn over(&self, machine: &Machine, access: Access, class: usize) -> u32 {
        if self.state == State::Shared && machine.counts_sharers(access) {
            machine.cycles_shared(access, class, self.holders.count())
        } else {
            machine.cycles(access, self.state, class)
        }
    }

    /// Changes the line's state and holders as an access does.
    pub fn access(&mut self, machine: &Machine, access: Access, cache: usize) {
        if machine.is_uncached() {
            return;
        }
        if access != Access::Load {
            self.state = State::Modified;
            self.owner = cache;
            self.holders = Caches::default();
        } else if self.is_held(cache) {
            return;
        } else {
            self.state = match self.state {
                State::Invalid => {
                    self.owner = cache;
                    self.holders = Caches::default();
                    if machine.reads_to_share() { State::Shared } else { State::Exclusive }
                }
                // The reader gets the line alone, unchanged. If it does not write to the line, the
                // next reader shares it.
                State::Modified if machine.description.reads_take_over => {
                    self.owner = cache;
                    self.holders = Caches::default();
                    State::Exclusive
                }
                // A changed line is not written back: its owner supplies it to readers (MOESI).
                State::Modified | State::Owned if machine.has_owned() => State::Owned,
                _ => State::Shared,
            };
        }
        self.holders.add(cache);
    }

    /// Puts the line into a state, with these holders; the first one is the owner. Used to measure
    /// the cost of accesses to such a line.
    pub fn prepare(&mut self, state: State, holders: &[usize]) {
        self.staying.clear();
        self.state = state;
        self.owner = holders.first().copied().unwrap_or(0);
        self.holders = Caches::default();
        for &holder in holders {
            self.holders.add(holder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_share_and_writes_take_the_line() {
        let xeon = Machine::named("xeon").unwrap();
        let mut line = Line::new(0, 0);
        line.access(&xeon, Access::Load, 3);
        assert!(line.suits(Access::Store, 3), "the only holder may write");
        line.access(&xeon, Access::Load, 4);
        assert!(line.is_held(3) && line.is_held(4) && !line.suits(Access::Store, 3));
        line.access(&xeon, Access::Swap, 4);
        assert!(!line.is_held(3) && line.suits(Access::Store, 4));
    }

    #[test]
    fn readers_take_changed_lines_over_if_the_machine_says_so() {
        let mut description = Machine::named("clusters").unwrap().description;
        description.reads_take_over = true;
        let machine = Machine::new(description).unwrap();
        let mut line = Line::new(0, 0);
        line.access(&machine, Access::Store, 3);
        line.access(&machine, Access::Load, 9);
        assert!(line.suits(Access::Store, 9) && !line.is_held(3));
        line.access(&machine, Access::Load, 3);
        assert!(line.is_held(3) && line.is_held(9) && !line.suits(Access::Store, 9));
    }

    #[test]
    fn a_changed_line_stays_owned_on_the_opteron() {
        let opteron = Machine::named("opteron").unwrap();
        let mut line = Line::new(0, 0);
        line.access(&opteron, Access::Store, 0);
        line.access(&opteron, Access::Load, 1);
        assert_eq!(line.state, State::Owned);
        assert_eq!(line.cycles(&opteron, Access::Store, 0), 244);
    }

    #[test]
    fn a_directory_far_from_reader_and_owner_makes_the_route_longer() {
        let opteron = Machine::named("opteron").unwrap();
        let mut line = Line::new(0, 0);
        line.prepare(State::Modified, &[4 * 6]);
        let near = line.cycles(&opteron, Access::Load, 0);
        assert_eq!(near, 172, "the home is where the reader is, one hop from the owner");
        // Nodes 3 and 5 are two hops from node 0, and one from each other.
        line.prepare(State::Modified, &[3 * 6]);
        assert_eq!(line.cycles(&opteron, Access::Load, 5 * 6), 81 + (171 + 171 + 91) / 2);
    }
}

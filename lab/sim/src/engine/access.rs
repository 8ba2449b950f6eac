//! Accesses by simulated threads. An access to a line that the thread's cache does not have, or not
//! in a suitable state, waits until the line is free, and is served. A write also wakes the threads
//! that watch the line.

use super::{Engine, RECENT, Then, ThreadId};
use crate::line::Line;
use crate::machine::{Access, Homes, LINE, State};

/// The home of a new line for which [`Engine::home`] has set none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fresh {
    /// The node that the machine's description determines.
    #[default]
    Machine,
    /// This node or, if it has no memory, the nearest node that has.
    At(usize),
    /// Each node in turn.
    InTurn,
}

/// Cycles between two reads by a waiting thread, as long as one or two spin-loop hints take.
const PAUSE: u64 = 40;

/// A line that a thread has just used. The line stays in the thread's cache until another cache's
/// access to it can be served, which takes at least
/// [`Machine::quickest`](crate::Machine::quickest). So a thread reads or writes the words of a line
/// in a burst, even if another thread requests the line meanwhile. An atomic operation may begin a
/// burst, since the line stays in the thread's cache. It never continues one, since it waits for
/// the accesses before it.
#[derive(Clone, Copy)]
pub struct Kept {
    line: u32,
    /// Whether the thread may write to the line.
    written: bool,
    /// The cycle in which the thread's latest access to the line was over.
    at: u64,
    /// The earliest cycle in which the line may leave the thread's cache.
    leaves: u64,
}

impl Engine<'_> {
    /// The line of an address.
    #[inline]
    pub(super) fn line_of(&mut self, address: usize) -> u32 {
        let number = address / LINE;
        let (recent, line) = self.recent[number % RECENT];
        if recent == number { line } else { self.find_line(number) }
    }

    fn find_line(&mut self, number: usize) -> u32 {
        let next = self.lines.len();
        let line = *self.by_address.entry(number).or_insert(next as u32);
        if line as usize == next {
            let machine = self.machine;
            let cache = self.threads.get(self.current as usize).map_or(0, |t| t.cache as usize);
            let nodes = machine.description.nodes;
            let node = match (self.fresh, machine.description.homes) {
                (Fresh::At(node), _) => node % nodes,
                (Fresh::InTurn, _) => next % nodes,
                (Fresh::Machine, Homes::FirstTouch) => machine.node_of(cache),
                // To make runs repeatable, homes depend on the order in which lines are first used,
                // not on the addresses that the system chose. A multiplicative hash scatters the
                // homes.
                (Fresh::Machine, Homes::Hashed) => {
                    let scattered = (next as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                    (scattered % nodes as u64) as usize
                }
            };
            self.lines.push(Line::new(machine.memory_near(node), cache));
            self.warm_up(line);
        }
        self.recent[number % RECENT] = (number, line);
        line
    }

    /// In a run with warm caches, puts a line that no thread has accessed into the caches of all
    /// threads.
    pub(super) fn warm_up(&mut self, line: u32) {
        if !self.warm {
            return;
        }
        let holders: Vec<usize> = self.threads.iter().map(|thread| thread.cache as usize).collect();
        let alone = holders.iter().all(|&holder| holder == holders[0]);
        let state =
            if alone && !self.machine.reads_to_share() { State::Exclusive } else { State::Shared };
        self.lines[line as usize].prepare(state, &holders);
        for holder in holders {
            self.levels.touch(holder, line);
        }
    }

    /// Sets the home that new lines get from now on, unless [`home`](Self::home) sets theirs.
    pub fn place(&mut self, fresh: Fresh) {
        self.fresh = fresh;
    }

    /// Gives the lines of these addresses a home, whichever thread touches them first: this node
    /// or, if it has no memory, the nearest node that has.
    pub fn home(&mut self, addresses: std::ops::Range<usize>, node: usize) {
        let machine = self.machine;
        for number in addresses.start / LINE..addresses.end.div_ceil(LINE) {
            let line = self.find_line(number);
            let caches = machine.description.caches_per_node;
            let keeper = node * caches + line as usize % caches;
            self.lines[line as usize] = Line::new(machine.memory_near(node), keeper);
        }
    }

    /// Puts the line of an address into a state, with these caches as its holders, the owner first.
    /// Used to measure the cost of an access to such a line.
    pub fn prepare(&mut self, address: usize, state: State, holders: &[usize]) {
        let line = self.line_of(address);
        self.lines[line as usize].prepare(state, holders);
        for &holder in holders {
            self.levels.touch(holder, line);
        }
    }

    /// Makes an access of the current thread to one word. The access takes effect when the thread
    /// has done what the returned [`Then`] says.
    #[inline]
    pub(crate) fn access(&mut self, access: Access, address: usize) -> Then {
        self.access_words(access, address, 1)
    }

    /// Makes one access to `words` words of a line. The instructions of an access are counted once
    /// for each word.
    pub(crate) fn access_words(&mut self, access: Access, address: usize, words: u64) -> Then {
        self.accesses += 1;
        self.words_of_access = words;
        let number = self.line_of(address);
        if self.machine.is_uncached() {
            return self.access_memory(access, number);
        }
        let cache = self.look(access, number);
        let begun = self.begun();
        if let Some(cycles) = self.find(access, number, cache) {
            let leaves = self.now + u64::from(self.machine.quickest());
            return self.access_here(access, number, [begun, cycles], leaves);
        }
        if let Some(cycles) = self.machine.again(access)
            && let Some(leaves) = self.stays_until(access, number, u64::from(cycles))
        {
            return self.access_here(access, number, [begun, cycles.into()], leaves);
        }
        if let Some((cycles, leaves)) = self.stays(access, number, cache) {
            return self.access_here(access, number, [begun, cycles], leaves);
        }
        let done = self.serve(access, number, cache, begun).max(self.now);
        let leaves = done + u64::from(self.machine.quickest());
        self.finish(access, number, [begun, done], leaves, access != Access::Load)
    }

    /// Makes an access of a cache. The core began the access in cycle `begun`, and the thread does
    /// not wait for it. Returns the cycle in which the access is done.
    pub(super) fn reach_line(
        &mut self,
        access: Access,
        number: u32,
        cache: usize,
        begun: u64,
    ) -> u64 {
        let here = self.find(access, number, cache);
        match here.or_else(|| self.stays(access, number, cache).map(|(cycles, _)| cycles)) {
            Some(cycles) => self.now + cycles,
            None => self.serve(access, number, cache, begun),
        }
    }

    /// Cycles of an access to a line that this cache still has although other caches have requested
    /// the line, and the cycle until which the cache has it. `None` if the cache does not have the
    /// line, if it loses the line before the access is over, or if this kind of access always
    /// leaves the core.
    #[inline]
    fn stays(&self, access: Access, number: u32, cache: usize) -> Option<(u64, u64)> {
        let cycles = u64::from(self.machine.local(access)?);
        let line = &self.lines[number as usize];
        line.stays_beyond(cache, self.now + cycles).map(|until| (cycles, until))
    }

    /// Cycles of an access to a line that the cache already has in a state that suits the access.
    /// `None` if the cache has no such line, or if even such an access has to leave the core.
    #[inline]
    fn find(&mut self, access: Access, number: u32, cache: usize) -> Option<u64> {
        let line = &mut self.lines[number as usize];
        if let Some(cycles) = self.machine.local(access)
            && line.suits(access, cache)
        {
            let level = self.levels.touch(cache, number);
            let farther = self.machine.farther(level)?;
            line.access(self.machine, access, cache);
            return Some(u64::from(cycles + farther));
        }
        if !self.machine.private_lines().is_empty() {
            self.levels.touch(cache, number);
        }
        None
    }

    /// Whether a store by the current thread finds its line at hand: in the first level, or still
    /// in the thread's cache although another cache has requested it.
    #[inline]
    pub(super) fn is_at_hand(&mut self, number: u32) -> bool {
        let Some(cycles) = self.machine.again(Access::Store) else { return false };
        let cache = self.threads[self.current as usize].cache as usize;
        if self.machine.local(Access::Store).is_some()
            && self.lines[number as usize].suits(Access::Store, cache)
        {
            return self.levels.touch(cache, number) == 0;
        }
        self.stays_until(Access::Store, number, u64::from(cycles)).is_some()
            || self.stays(Access::Store, number, cache).is_some()
    }

    /// Records that this thread, which goes on now, has just used the line and may write to the
    /// line.
    pub(super) fn keep(&mut self, thread: ThreadId, line: u32) {
        let leaves = self.now + u64::from(self.machine.quickest());
        let kept = Kept { line, written: true, at: self.now, leaves };
        self.threads[thread as usize].kept = Some(kept);
    }

    /// Makes an access to a line that the thread's cache has until `leaves`. The access began at
    /// `begun` and takes `cycles`. A load or store that directly follows another access to the same
    /// line does not wait for that access: if instructions cost cycles, it takes only those of its
    /// own instructions. An atomic operation begins when the accesses before it are over.
    #[inline]
    fn access_here(
        &mut self,
        access: Access,
        number: u32,
        [begun, cycles]: [u64; 2],
        leaves: u64,
    ) -> Then {
        let thread = &self.threads[self.current as usize];
        let kept = thread.kept;
        self.lines[number as usize].used(thread.cache as usize, self.now);
        let before = kept.filter(|kept| kept.line == number && kept.at == self.now);
        let written = access != Access::Load || before.is_some_and(|kept| kept.written);
        let bursts = matches!(access, Access::Load | Access::Store);
        let issued = bursts && before.is_some() && self.instructions() > 0;
        let begins = if bursts { begun } else { self.now };
        let done = (begins + if issued { 0 } else { cycles }).max(self.now);
        self.finish(access, number, [begun, done], leaves, written)
    }

    /// Ends an access that began at `begun` and is done at `done`, and whose line can leave the
    /// cache at `leaves`. The access takes effect, and the thread goes on, when both the access and
    /// its instructions are done. Every access is delayed by its instructions, so accesses stay in
    /// order. A core that runs ahead executes the instructions while it waits for the access.
    #[inline]
    fn finish(
        &mut self,
        access: Access,
        line: u32,
        [begun, done]: [u64; 2],
        leaves: u64,
        written: bool,
    ) -> Then {
        let instructions = self.instructions();
        let over = (begun + instructions).max(done);
        let at = if self.machine.under_way() > 1 { over } else { done + instructions };
        self.goes_on_after(begun, instructions, at);
        let thread = &mut self.threads[self.current as usize];
        thread.instructions = (at, at - done);
        thread.kept = Some(Kept { line, written, at, leaves });
        if access != Access::Load {
            self.write(line, at);
        }
        self.pass_until(at)
    }

    /// Cycles of the instructions that belong to an access by the current thread.
    #[inline]
    pub(super) fn instructions(&self) -> u64 {
        if !self.with_instructions {
            return 0;
        }
        let cache = self.threads[self.current as usize].cache as usize;
        self.words_of_access * self.machine.instructions(self.running[cache])
    }

    /// Cycles of this many instructions of the current thread that access no memory.
    pub(super) fn executing(&self, instructions: u64) -> u64 {
        if !self.with_instructions {
            return 0;
        }
        let cache = self.threads[self.current as usize].cache as usize;
        self.machine.executing(instructions, self.running[cache])
    }

    /// The cycle until which a line is still in the thread's cache although another cache may have
    /// requested it. `None` unless three conditions hold: the current thread has just used the
    /// line, it may write to the line if this access does, and this access ends before the line can
    /// leave.
    #[inline]
    fn stays_until(&self, access: Access, line: u32, cycles: u64) -> Option<u64> {
        let kept = self.threads[self.current as usize].kept?;
        let suits = kept.line == line && (access == Access::Load || kept.written);
        (suits && kept.at == self.now && self.now + cycles <= kept.leaves).then_some(kept.leaves)
    }

    /// Makes an atomic operation of the current thread, or a store that does not go to a buffer.
    /// Returns `None`, without an access, if the operation has to be replaced by loads and stores
    /// under a register.
    #[inline]
    pub(crate) fn atomic(&mut self, access: Access, address: usize) -> Option<Then> {
        (access == Access::Store || !self.machine.is_uncached())
            .then(|| self.access(access, address))
    }

    /// Whether threads fetch the line of a word for writing before they load the word.
    #[inline]
    pub(crate) fn fetches(&self) -> bool {
        self.fetches
    }

    /// Fetches a line for writing, on machines whose caches hold written lines. Does nothing on
    /// machines whose stores go out to the last-level cache.
    pub(crate) fn prefetch(&mut self, address: usize) -> Then {
        match self.machine.local(Access::Store) {
            None => Then::GoOn,
            Some(_) if self.machine.under_way() > 1 && self.machine.store_buffer() > 0 => {
                self.ask_ahead(address)
            }
            Some(_) => self.access(Access::Store, address),
        }
    }

    /// Records that the current thread reads a line, or makes another access to it. Returns the
    /// thread's cache.
    #[inline]
    fn look(&mut self, access: Access, line: u32) -> usize {
        let thread = &mut self.threads[self.current as usize];
        let reads = access == Access::Load;
        (thread.looks_at, thread.writes_to) = (reads.then_some(line), (!reads).then_some(line));
        thread.cache as usize
    }

    /// Lets the line serve an access of a cache. The access begins when the line is free, but not
    /// before the cycle `begun`, in which the core began it. Returns the cycle in which the access
    /// is done.
    #[inline]
    fn serve(&mut self, access: Access, number: u32, cache: usize, begun: u64) -> u64 {
        let line = &mut self.lines[number as usize];
        let cycles = line.cycles(self.machine, access, cache);
        let occupied = line.occupied(self.machine, access, cache, cycles);
        let begun = begun.max(line.unused_since(cache, self.now)).min(self.now);
        let begins = line.free_at.max(begun);
        if let Some(stays) = self.machine.stays(cycles) {
            line.stay(self.now, begins + stays);
        }
        line.free_at = begins + u64::from(occupied);
        line.access(self.machine, access, cache);
        begins + u64::from(cycles)
    }

    /// Records a write by the current thread that becomes visible in cycle `at`. Plans that the
    /// threads that watch the line go on less than [`PAUSE`] cycles later. No thread begins to
    /// watch the line before `at`.
    #[inline]
    pub(super) fn write(&mut self, line: u32, at: u64) {
        let state = &mut self.lines[line as usize];
        state.written_at = state.written_at.max(at);
        if !state.watchers.is_empty() {
            self.notify(line, at);
        }
    }

    fn notify(&mut self, line: u32, at: u64) {
        let mut watchers = std::mem::take(&mut self.lines[line as usize].watchers);
        for watcher in watchers.drain(..) {
            let late = self.chance(PAUSE);
            self.plan(at + late, watcher);
        }
        self.lines[line as usize].watchers = watchers;
    }

    /// Pauses between two looks, which are reads of a waiting thread. After more than `patience`
    /// looks, the thread watches the line instead, and goes on when the line is written to: looks
    /// before that would change nothing. The thread watches only if it has never asked for the
    /// time, and if its next look would find the same value.
    pub(crate) fn pause(&mut self, looks: u32, patience: u32) -> Then {
        let thread = &self.threads[self.current as usize];
        if looks > patience
            && !thread.asked_time
            && let Some(number) = thread.looks_at
        {
            let line = &mut self.lines[number as usize];
            // A write that is under way, or that takes effect in this cycle, has already woken the
            // watchers, so this thread must not become one.
            if line.is_held(thread.cache as usize) && line.written_at < self.now {
                line.watchers.push(self.current);
                self.threads[self.current as usize].looks_again();
                return self.suspend();
            }
        }
        self.threads[self.current as usize].looks_again();
        self.pass_until(self.now + PAUSE)
    }

    /// The current thread spends this many cycles without an access.
    pub(crate) fn delay(&mut self, cycles: u64) -> Then {
        let thread = &mut self.threads[self.current as usize];
        thread.looks_at = None;
        thread.stops();
        self.pass_until(self.now + cycles)
    }

    /// The current thread backs off for `units` times the longest time that a line takes to move
    /// from a writer to the next reader.
    pub(crate) fn back_off(&mut self, units: u32) -> Then {
        self.delay(u64::from(units) * u64::from(self.machine.hand_over()))
    }
}

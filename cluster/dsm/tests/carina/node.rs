//! A node: it performs the lists of steps that the rules give, one step at a time. A node has the
//! state that the steps use: a cache, its knowledge about each line, a word of notices.
//!
//! A node has one thread. It caches lines of its own home like all other lines.

use syncline_dsm::carina::{
    Deposit, Entry, Fence, FenceStep, Known, LineEvent, LineStep, Others, Role, Rules, Scheme,
    Tell, registers,
};

use crate::broken::Broken;
use crate::network::Op;
use crate::program::Access;
use crate::world::{Broke, MOST_NODES, PAGE, Pending, World};

/// What [`FenceStep::Synchronize`] of a fence does.
#[derive(Clone, Copy, Debug)]
pub enum Sync {
    Take(usize),
    Give(usize),
    Meet,
}

/// A task of a node. In a list of tasks, the last one is the next.
#[derive(Clone, Copy, Debug)]
pub enum Do {
    Fence(FenceStep, Sync),
    Line(LineStep, usize),
    Access(Access),
    /// After a compare-and-swap of an entry: if the entry was as supposed, the deposit is made.
    Deposited {
        line: usize,
        role: Role,
        supposed: Entry,
    },
    /// After a fetch.
    Fetched(usize),
    /// After the read of the count of all logs' entries.
    Counted,
    /// After the logs were read: takes in the word of notices.
    TakeIn,
    /// Waits until all nodes have met this many times.
    Met(usize),
    Drop(usize),
}

/// A cached line.
pub struct Copy {
    pub line: usize,
    pub bytes: [u8; PAGE],
    pub twin: [u8; PAGE],
    pub written: bool,
}

#[derive(Default)]
pub struct Node {
    pub todo: Vec<Do>,
    pub known: Vec<Known>,
    pub slots: Vec<Option<Copy>>,
    /// A bit for each line. Other nodes' notices set it, and this node sets it for lines that it
    /// reads in the logs.
    pub notices: u64,
    /// The count of all logs' entries, as read before the logs were last read.
    pub counted: u64,
    /// The number of entries that this node has read of each home's log.
    pub read: [usize; MOST_NODES],
    pub held: Vec<usize>,
    pub reply: Option<u64>,
    /// The number of reads under way.
    pub gets: usize,
    pub arriving: [u8; PAGE],
    pub phase: usize,
    pub left: usize,
}

impl Node {
    fn copy(&mut self, line: usize) -> Option<&mut Copy> {
        let slot = line % self.slots.len();
        self.slots[slot].as_mut().filter(|copy| copy.line == line)
    }

    fn written(&self) -> Vec<usize> {
        self.slots.iter().flatten().filter(|copy| copy.written).map(|copy| copy.line).collect()
    }
}

impl World<'_> {
    /// Adds a fence's steps to a node's tasks.
    pub fn begin(&mut self, me: usize, which: Fence, sync: Sync) {
        let steps = self.rules.fence(which).iter().rev();
        self.nodes[me].todo.extend(steps.map(|step| Do::Fence(*step, sync)));
    }

    /// Adds an event's steps to a node's tasks.
    pub fn line(&mut self, me: usize, event: LineEvent, line: usize) {
        let steps = self.rules.line(event).iter().rev();
        self.nodes[me].todo.extend(steps.map(|step| Do::Line(*step, line)));
    }

    /// Downgrades one written line, as happens when a write buffer is full.
    pub fn drain(&mut self, me: usize) {
        if let Some(line) = self.nodes[me].written().pop() {
            self.line(me, LineEvent::Downgrade, line);
        }
    }

    /// Whether a node can perform its next step now.
    pub fn ready(&self, me: usize) -> bool {
        let node = &self.nodes[me];
        match node.todo.last() {
            None => !self.is_done(me),
            Some(Do::Fence(FenceStep::Flush, _)) if self.rules == Broken::NoticesNotAwaited => {
                self.network.has_put(me)
            }
            Some(Do::Fence(FenceStep::Flush, _)) => self.network.is_flushed(me),
            Some(Do::Fence(FenceStep::Synchronize, Sync::Take(lock))) => !self.locked[*lock],
            Some(Do::Line(LineStep::Settle, line)) => self.network.is_settled(me, self.home(*line)),
            Some(Do::Deposited { .. } | Do::Counted) => node.reply.is_some(),
            Some(Do::Fetched(_) | Do::TakeIn) => node.gets == 0,
            Some(Do::Met(meetings)) => self.meetings >= *meetings,
            Some(_) => true,
        }
    }

    /// Performs a node's next step.
    pub fn step(&mut self, me: usize) -> Result<(), Broke> {
        match self.nodes[me].todo.pop() {
            None => self.act(me),
            Some(Do::Access(access)) => return self.access(me, access),
            Some(Do::Fence(step, sync)) => self.fence_step(me, step, sync),
            Some(Do::Line(step, line)) => self.line_step(me, step, line),
            Some(Do::Deposited { line, role, supposed }) => {
                let found = self.nodes[me].reply.take().map(Entry::from_bits);
                match found {
                    Some(entry) if entry != supposed => self.deposit(me, line, role, entry),
                    _ => self.deposited(me, line, role, supposed),
                }
            }
            Some(Do::Fetched(line)) => {
                let node = &mut self.nodes[me];
                let slot = line % node.slots.len();
                let (bytes, twin) = (node.arriving, [0; PAGE]);
                node.slots[slot] = Some(Copy { line, bytes, twin, written: false });
            }
            Some(Do::Counted) => {
                let node = &mut self.nodes[me];
                let count = node.reply.take().unwrap_or_default();
                if count > node.counted {
                    node.counted = count;
                    node.gets = self.homes;
                    (0..self.homes).for_each(|home| self.network.send(me, home, Op::ReadLog));
                }
            }
            Some(Do::TakeIn) => {
                let node = &mut self.nodes[me];
                let notices = std::mem::take(&mut node.notices);
                for (line, known) in node.known.iter_mut().enumerate() {
                    if notices >> line & 1 != 0 {
                        *known = self.rules.after_notice(self.scheme, *known);
                        self.reached.notices += 1;
                    }
                }
            }
            Some(Do::Met(_)) => {}
            Some(Do::Drop(line)) => {
                let node = &mut self.nodes[me];
                let slot = line % node.slots.len();
                node.slots[slot] = None;
            }
        }
        Ok(())
    }

    fn fence_step(&mut self, me: usize, step: FenceStep, sync: Sync) {
        match step {
            FenceStep::Downgrade => {
                for line in self.nodes[me].written() {
                    let alone = self.nodes[me].known[line].others == Others::None;
                    if self.rules != Broken::PrivateNotDowngraded || !alone {
                        self.line(me, LineEvent::Downgrade, line);
                    }
                }
            }
            FenceStep::Flush => {}
            FenceStep::Synchronize => self.synchronize(me, sync),
            FenceStep::Notices if self.scheme == Scheme::Shared => {}
            FenceStep::Notices => {
                self.network.send(me, 0, Op::ReadCount);
                self.nodes[me].todo.extend([Do::TakeIn, Do::Counted]);
            }
            FenceStep::Invalidate => {
                let copies = self.nodes[me].slots.iter().flatten();
                for (line, written) in copies.map(|c| (c.line, c.written)).collect::<Vec<_>>() {
                    if self.rules.keeps(self.scheme, self.nodes[me].known[line]) {
                        self.reached.kept += 1;
                    } else {
                        self.drop_line(me, line, written);
                    }
                }
            }
            FenceStep::Forget => {
                let node = &mut self.nodes[me];
                node.slots.fill_with(|| None);
                node.known.fill(Known::default());
                for line in (0..self.directory.len()).filter(|line| line % self.homes == me) {
                    self.directory[line] = Entry::EMPTY;
                }
                self.reached.resets += 1;
            }
        }
    }

    /// Drops a line. If it was written, it is downgraded first.
    fn drop_line(&mut self, me: usize, line: usize, written: bool) {
        self.nodes[me].todo.push(Do::Drop(line));
        if written && self.rules != Broken::DirtyDropped {
            self.reached.written_dropped += 1;
            self.line(me, LineEvent::Downgrade, line);
        }
    }

    fn synchronize(&mut self, me: usize, sync: Sync) {
        match sync {
            Sync::Take(lock) => {
                self.locked[lock] = true;
                self.nodes[me].held.push(lock);
            }
            Sync::Give(lock) => {
                self.locked[lock] = false;
                self.nodes[me].held.retain(|held| *held != lock);
            }
            Sync::Meet => {
                self.nodes[me].todo.push(Do::Met(self.meetings + 1));
                self.waiting += 1;
                if self.waiting == self.homes {
                    self.waiting = 0;
                    self.meetings += 1;
                    self.program.deal(self.homes, &mut self.rng);
                }
            }
        }
    }

    fn line_step(&mut self, me: usize, step: LineStep, line: usize) {
        let home = self.home(line);
        match step {
            LineStep::MakeRoom => {
                let slots = self.nodes[me].slots.len();
                if let Some(copy) = &self.nodes[me].slots[line % slots] {
                    self.drop_line(me, copy.line, copy.written);
                }
            }
            LineStep::Reader => {
                if registers(self.scheme, Role::Reader) && !self.nodes[me].known[line].reads {
                    self.deposit(me, line, Role::Reader, Entry::EMPTY);
                }
            }
            LineStep::Writer => {
                if registers(self.scheme, Role::Writer) && !self.nodes[me].known[line].writes {
                    self.deposit(me, line, Role::Writer, Entry::EMPTY);
                }
            }
            LineStep::Settle => {}
            LineStep::Fetch => {
                self.nodes[me].gets = 2;
                (0..2).for_each(|half| self.network.send(me, home, Op::Get { line, half }));
                self.nodes[me].todo.push(Do::Fetched(line));
            }
            LineStep::Diff => {
                let (rules, network) = (self.rules, &mut self.network);
                let Some(copy) = self.nodes[me].copy(line) else { return };
                copy.written = false;
                rules.diff(&copy.twin, &copy.bytes, &mut |at, run| {
                    let mut bytes = [0; PAGE];
                    bytes[..run.len()].copy_from_slice(run);
                    network.send(me, home, Op::Put { line, at, len: run.len(), bytes });
                });
            }
            LineStep::Twin => {
                let again = self.rules == Broken::TwinFromHome;
                let now = self.memory[line];
                let Some(copy) = self.nodes[me].copy(line) else { return };
                copy.twin = if again { now } else { copy.bytes };
            }
        }
    }

    /// Tries to add this node to the line's directory entry, by a compare-and-swap that expects
    /// `supposed`.
    fn deposit(&mut self, me: usize, line: usize, role: Role, supposed: Entry) {
        let new = self.rules.deposit(self.scheme, me, role, supposed).entry;
        self.network.send(me, self.home(line), Op::Swap { line, expected: supposed, new });
        self.nodes[me].todo.push(Do::Deposited { line, role, supposed });
    }

    /// Completes a deposit: the node learns what the old entry says, and sends the notices.
    fn deposited(&mut self, me: usize, line: usize, role: Role, old: Entry) {
        let answer: Deposit = self.rules.deposit(self.scheme, me, role, old);
        let known = &mut self.nodes[me].known[line];
        *known = known.deposited(role, &answer);
        self.reached.told += usize::from(old.is_told());
        let deposit = self.pending.len();
        let left = match answer.tell {
            Tell::Nobody => return,
            Tell::Nodes(nodes) => {
                for to in nodes.iter() {
                    self.network.send(me, to, Op::Notice { line, deposit });
                }
                nodes.iter().count()
            }
            Tell::Everybody => {
                self.reached.everybody += 1;
                self.network.send(me, self.home(line), Op::Append { line, deposit });
                if self.rules == Broken::CountBeforeLog {
                    self.network.send(me, 0, Op::Count { deposit });
                }
                1
            }
        };
        self.pending.push(Pending { from: me, line, left, then_told: answer.then_told });
    }

    /// Performs an access of the program. The result of a read is compared with the oracle.
    fn access(&mut self, me: usize, access: Access) -> Result<(), Broke> {
        let Access { line, at, len, write } = access;
        let range = at..at + len;
        let Some(copy) = self.nodes[me].copy(line) else {
            self.nodes[me].todo.push(Do::Access(access));
            self.line(me, LineEvent::Miss, line);
            return Ok(());
        };
        let right = &mut self.program.oracle[line][range.clone()];
        if let Some(bytes) = write {
            copy.bytes[range].copy_from_slice(&bytes[..len]);
            copy.written = true;
            right.copy_from_slice(&bytes[..len]);
        } else if copy.bytes[range.clone()] != *right {
            let (read, right) = (copy.bytes[range].to_vec(), right.to_vec());
            return Err(Broke::Read { node: me, line, at, read, right });
        }
        self.reached.accesses += 1;
        Ok(())
    }
}

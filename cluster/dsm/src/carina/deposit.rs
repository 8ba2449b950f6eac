//! A node deposits itself: it enters itself as a reader or a writer into the directory entry of a
//! line. This file says what the entry becomes, what the node learns from it, and which nodes need
//! a notice (sections 3.4 and 3.5 of the paper).
//!
//! A notice tells a node what another node does with a line. A node needs a notice when another
//! node's deposit ends the first node's right to keep the line at an acquire. Under P/S that is the
//! first deposit of another reader; under P/S3 it is the first deposit of another writer. Under
//! P/S3 a private line that gets a second reader needs no notice: P, "S, NW" and the node's own "S,
//! SW" are all kept.
//!
//! **Which node sends notices.** In the paper the second writer notifies only the first one, since
//! the first writer has notified the readers. But the first writer's notices may still be under way
//! when the second writer releases. A reader that then acquires from the second writer keeps the
//! line, although a notice for it is on its way. So every depositor sends notices to all other
//! nodes of the entry, until the entry has the mark *told*. A depositor sets this mark once its
//! notices have arrived, but only if it has reached every node that any of the deposits so far
//! concerns. Under P/S3 the first writer can't set the mark, because the first writer itself has no
//! notice of a second one.
//!
//! Invariant: once a deposit and its notices are complete, every other node of the entry knows of
//! the deposit. An exhaustive test below checks it over four nodes and all orders of delivery.

use super::entry::{Entry, Nodes, Writers};
use super::scheme::Scheme;

/// The role in which a node deposits itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A reader, at its first miss.
    Reader,
    /// A writer, when its first write is found.
    Writer,
}

/// What other nodes do with a line, as far as a node knows. The value only grows until a reset (see
/// `Fence::Reset`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Others {
    /// No other node uses the line.
    #[default]
    None,
    /// Other nodes read the line.
    Read,
    /// Another node writes the line.
    Write,
}

/// A node's knowledge about a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Known {
    /// Whether the node has deposited itself as a reader.
    pub reads: bool,
    /// Whether the node has deposited itself as a writer.
    pub writes: bool,
    /// What other nodes do with the line.
    pub others: Others,
}

impl Known {
    /// The node's knowledge after a deposit with this answer.
    #[must_use]
    pub fn deposited(self, role: Role, answer: &Deposit) -> Known {
        Known {
            reads: true,
            writes: self.writes || role == Role::Writer,
            others: self.others.max(answer.others),
        }
    }

    /// The node's knowledge after a notice. Under each scheme, only one kind of deposit causes
    /// notices, so the scheme says what the notice is about.
    #[must_use]
    pub fn after_notice(self, scheme: Scheme) -> Known {
        let others = if scheme == Scheme::Writers { Others::Write } else { Others::Read };
        Known { others: self.others.max(others), ..self }
    }
}

/// The nodes to which a depositor sends notices, before its next release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tell {
    /// No node.
    Nobody,
    /// These nodes, each by its own notice.
    Nodes(Nodes),
    /// All nodes, by the log of the line's home.
    Everybody,
}

/// The result of a deposit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deposit {
    /// The new entry.
    pub entry: Entry,
    /// What other nodes do, according to the entry before the deposit.
    pub others: Others,
    /// The nodes that need a notice.
    pub tell: Tell,
    /// Whether to set [`Entry::TOLD`] once the notices have arrived.
    pub then_told: bool,
}

/// Whether a node deposits itself in this role under this scheme.
pub fn registers(scheme: Scheme, role: Role) -> bool {
    match scheme {
        Scheme::Shared => false,
        Scheme::Private => role == Role::Reader,
        Scheme::Writers => true,
    }
}

/// Enters node `me` into an entry.
pub fn deposit(scheme: Scheme, me: usize, role: Role, old: Entry) -> Deposit {
    let entry = match role {
        Role::Reader => old.with_reader(me),
        Role::Writer => old.with_writer(me),
    };
    let others_read = old.readers().is_none_or(|readers| !readers.without(me).is_empty());
    let others_write = match old.writers() {
        Writers::None => false,
        Writers::One(writer) => writer != me,
        Writers::Many => true,
    };
    let others = match (others_read, others_write) {
        (_, true) => Others::Write,
        (true, false) => Others::Read,
        (false, false) => Others::None,
    };
    let concerns = match role {
        Role::Reader => scheme == Scheme::Private,
        Role::Writer => scheme == Scheme::Writers,
    };
    if !concerns || !others_read || old.is_told() {
        return Deposit { entry, others, tell: Tell::Nobody, then_told: false };
    }
    let tell = match old.readers() {
        Some(readers) => Tell::Nodes(readers.without(me)),
        None => Tell::Everybody,
    };
    // Under P/S3 the first writer does not set *told*, since it has no notice of a second writer.
    let then_told = role == Role::Reader || others_write;
    Deposit { entry, others, tell, then_told }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const NODES: usize = 4;

    /// The directory, the nodes, and the notices under way.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct World {
        entry: Entry,
        known: [Known; NODES],
        /// For each node, its deposit whose notices are not all delivered: the nodes that have not
        /// got them yet, and whether *told* is set afterwards.
        pending: [Option<(Vec<usize>, bool)>; NODES],
    }

    /// The worlds that can come next.
    fn next(
        world: &World,
        scheme: Scheme,
        rule: impl Fn(usize, Role, Entry) -> Deposit,
    ) -> Vec<World> {
        let mut all = Vec::new();
        for me in 0..NODES {
            let mut after = world.clone();
            if let Some((to, then_told)) = &world.pending[me] {
                for one in to {
                    let mut after = world.clone();
                    after.known[*one] = after.known[*one].after_notice(scheme);
                    let left = to.iter().copied().filter(|n| n != one).collect();
                    after.pending[me] = Some((left, *then_told));
                    all.push(after);
                }
                if to.is_empty() {
                    if *then_told {
                        after.entry = Entry::from_bits(after.entry.bits() | Entry::TOLD);
                    }
                    after.pending[me] = None;
                    all.push(after);
                }
                continue;
            }
            let role = match world.known[me] {
                Known { reads: false, .. } => Role::Reader,
                Known { writes: false, .. } if registers(scheme, Role::Writer) => Role::Writer,
                _ => continue,
            };
            let answer = rule(me, role, world.entry);
            after.entry = answer.entry;
            after.known[me] = after.known[me].deposited(role, &answer);
            let to = match answer.tell {
                Tell::Nobody => Vec::new(),
                Tell::Nodes(nodes) => nodes.iter().collect(),
                Tell::Everybody => (0..NODES).filter(|n| *n != me).collect(),
            };
            after.pending[me] = Some((to, answer.then_told));
            all.push(after);
        }
        all
    }

    /// Whether a node's deposit and its notices are complete, and another node of the entry still
    /// does not know of it.
    fn unknown(world: &World, scheme: Scheme) -> bool {
        let complete = |n: usize| {
            let known = world.known[n];
            world.pending[n].is_none()
                && if scheme == Scheme::Writers { known.writes } else { known.reads }
        };
        let least = if scheme == Scheme::Writers { Others::Write } else { Others::Read };
        let ignorant = |n: usize| world.known[n].reads && world.known[n].others < least;
        (0..NODES).any(|n| complete(n) && (0..NODES).any(|m| m != n && ignorant(m)))
    }

    /// The number of reachable worlds, or an error at the first in which the invariant is broken.
    fn explore(scheme: Scheme, rule: impl Fn(usize, Role, Entry) -> Deposit) -> Result<usize, ()> {
        let start = World {
            entry: Entry::EMPTY,
            known: [Known::default(); NODES],
            pending: [const { None }; NODES],
        };
        let mut seen = HashSet::from([start.clone()]);
        let mut left = vec![start];
        while let Some(world) = left.pop() {
            if unknown(&world, scheme) {
                return Err(());
            }
            for after in next(&world, scheme, &rule) {
                if seen.insert(after.clone()) {
                    left.push(after);
                }
            }
        }
        Ok(seen.len())
    }

    #[test]
    fn notices_in_any_order_announce_a_complete_deposit() {
        for scheme in [Scheme::Private, Scheme::Writers] {
            let worlds = explore(scheme, |me, role, old| deposit(scheme, me, role, old));
            assert!(worlds.expect("the invariant holds") > 1000);
        }
    }

    #[test]
    fn the_papers_rule_for_the_second_writer_breaks_the_invariant() {
        let papers = |me: usize, role: Role, old: Entry| {
            let answer = deposit(Scheme::Writers, me, role, old);
            let tell = match (role, old.writers()) {
                (Role::Writer, Writers::One(writer)) => {
                    Tell::Nodes(Entry::EMPTY.with_reader(writer).readers().expect("one"))
                }
                (Role::Writer, Writers::Many) => Tell::Nobody,
                _ => answer.tell,
            };
            Deposit { tell, then_told: false, ..answer }
        };
        assert_eq!(explore(Scheme::Writers, papers), Err(()));
    }

    #[test]
    fn each_case_of_section_3_5() {
        let of = |role, me, old| deposit(Scheme::Writers, me, role, old);
        let told = |answer: Deposit| match answer.tell {
            Tell::Nobody => vec![],
            Tell::Nodes(nodes) => nodes.iter().collect(),
            Tell::Everybody => vec![usize::MAX],
        };
        let private = Entry::EMPTY.with_reader(0);
        assert_eq!(told(of(Role::Writer, 0, private)), [], "private, written by its owner");
        assert_eq!(told(of(Role::Writer, 1, private)), [0], "private, written by a new node");
        let shared = private.with_reader(1).with_reader(2);
        assert_eq!(told(of(Role::Writer, 1, shared)), [0, 2], "shared, no writer: all readers");
        let many = shared.with_reader(3);
        assert_eq!(told(of(Role::Writer, 1, many)), [usize::MAX], "too many to name");
        let single = private.with_writer(1);
        assert_eq!(told(of(Role::Writer, 0, single)), [1], "a second writer tells the first");
        assert!(of(Role::Writer, 0, single).then_told);
        let several = Entry::from_bits(single.with_writer(0).bits() | Entry::TOLD);
        assert_eq!(told(of(Role::Writer, 2, several)), [], "many writers: nothing to do");
        assert_eq!(of(Role::Reader, 2, single).others, Others::Write);
        assert_eq!(of(Role::Reader, 2, private).others, Others::Read);
        assert_eq!(of(Role::Reader, 2, Entry::EMPTY).others, Others::None);
        let ps = deposit(Scheme::Private, 1, Role::Reader, private);
        assert_eq!((told(ps), ps.then_told), (vec![0], true), "P -> S tells the owner");
    }
}

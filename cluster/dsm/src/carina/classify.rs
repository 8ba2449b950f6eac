//! Table 1 of the paper: the classifications, their classes, and the action of each class at a
//! fence.

use super::deposit::{Known, Others};
use super::entry::{Entry, Writers};
use super::scheme::Scheme;

/// The class of a line, which follows from its directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// P: at most one node uses the line.
    Private,
    /// S, NW: several nodes read the line, and none writes it.
    NoWriter,
    /// S, SW: several nodes use the line, and one of them writes it.
    SingleWriter,
    /// S, MW: several nodes write the line.
    ManyWriters,
}

/// Whether a node that holds a line invalidates it at an acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidation {
    /// The node keeps the line.
    Never,
    /// The node keeps the line only if it is the line's writer.
    Others,
    /// The node always invalidates the line.
    Always,
}

/// A row of Table 1.
#[derive(Clone, Copy, Debug)]
pub struct TableRow {
    /// The classification.
    pub scheme: Scheme,
    /// The class.
    pub class: Class,
    /// The column SI: whether the line is self-invalidated at an acquire.
    pub invalidated: Invalidation,
    /// The column SD (self-downgrade): whether changes are sent to the home at a release.
    pub downgraded: bool,
}

const fn row(scheme: Scheme, class: Class, invalidated: Invalidation) -> TableRow {
    TableRow { scheme, class, invalidated, downgraded: true }
}

/// Table 1. The paper has a single row for S, and one for the S of P/S. Here every scheme has a row
/// for each class. Everything that was written is downgraded, even private lines (section 3.4.2).
pub const TABLE: [TableRow; 12] = [
    row(Scheme::Shared, Class::Private, Invalidation::Always),
    row(Scheme::Shared, Class::NoWriter, Invalidation::Always),
    row(Scheme::Shared, Class::SingleWriter, Invalidation::Always),
    row(Scheme::Shared, Class::ManyWriters, Invalidation::Always),
    row(Scheme::Private, Class::Private, Invalidation::Never),
    row(Scheme::Private, Class::NoWriter, Invalidation::Always),
    row(Scheme::Private, Class::SingleWriter, Invalidation::Always),
    row(Scheme::Private, Class::ManyWriters, Invalidation::Always),
    row(Scheme::Writers, Class::Private, Invalidation::Never),
    row(Scheme::Writers, Class::NoWriter, Invalidation::Never),
    row(Scheme::Writers, Class::SingleWriter, Invalidation::Others),
    row(Scheme::Writers, Class::ManyWriters, Invalidation::Always),
];

/// The class of a line with this entry.
pub fn class(entry: Entry) -> Class {
    match (entry.readers(), entry.writers()) {
        (Some(readers), _) if readers.iter().count() <= 1 => Class::Private,
        (_, Writers::None) => Class::NoWriter,
        (_, Writers::One(_)) => Class::SingleWriter,
        (_, Writers::Many) => Class::ManyWriters,
    }
}

/// Whether a node keeps a line over an acquire, given what the node knows about the line. This is
/// Table 1 from a node's point of view. The line's class in the directory may have changed since,
/// but nothing that this acquire has to see depends on the change (deferred invalidation, section
/// 3.4.1).
pub fn keeps(scheme: Scheme, known: Known) -> bool {
    match scheme {
        Scheme::Shared => false,
        Scheme::Private => known.reads && known.others == Others::None,
        Scheme::Writers => known.reads && known.others != Others::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every entry that the reads and writes of up to five nodes can produce.
    fn entries() -> Vec<Entry> {
        let mut all = vec![Entry::EMPTY];
        let mut at = 0;
        while at < all.len() {
            for node in 0..5 {
                for next in [all[at].with_reader(node), all[at].with_writer(node)] {
                    if !all.contains(&next) {
                        all.push(next);
                    }
                }
            }
            at += 1;
        }
        all
    }

    /// The knowledge of a node that has just read the whole entry.
    fn known(entry: Entry, me: usize) -> Known {
        let readers = entry.readers();
        let alone = readers.is_some_and(|r| r.without(me).is_empty());
        let others = match entry.writers() {
            Writers::One(writer) if writer != me => Others::Write,
            Writers::Many => Others::Write,
            _ if alone => Others::None,
            _ => Others::Read,
        };
        Known { reads: true, writes: entry.writers() == Writers::One(me), others }
    }

    #[test]
    fn invalidation_follows_the_table_when_the_entry_is_known() {
        let mut rows = [0; TABLE.len()];
        for entry in entries() {
            for scheme in [Scheme::Shared, Scheme::Private, Scheme::Writers] {
                let at = TABLE.iter().position(|r| r.scheme == scheme && r.class == class(entry));
                let at = at.expect("the table has every class");
                rows[at] += 1;
                let reads = |n: &usize| entry.readers().is_none_or(|r| r.iter().any(|m| m == *n));
                for me in (0..5).filter(reads) {
                    let known = known(entry, me);
                    let invalidates = match TABLE[at].invalidated {
                        Invalidation::Never => false,
                        Invalidation::Others => entry.writers() != Writers::One(me),
                        Invalidation::Always => true,
                    };
                    assert_eq!(keeps(scheme, known), !invalidates, "{scheme:?}, {entry:?}, {me}");
                }
            }
        }
        assert!(rows.iter().all(|n| *n > 0), "every row is met: {rows:?}");
        assert!(TABLE.iter().all(|row| row.downgraded));
    }

    #[test]
    fn a_line_that_is_not_registered_is_not_kept() {
        for scheme in [Scheme::Shared, Scheme::Private, Scheme::Writers] {
            assert!(!keeps(scheme, Known::default()), "{scheme:?}");
        }
    }
}

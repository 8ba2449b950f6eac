//! *Carina*, the coherence protocol, as pure functions and tables: what happens to a line at an
//! access and at a fence, given what its node knows and what its directory entry says.
//!
//! Nothing here waits, sends or remembers. A node (`crate::node`) performs what these tables say,
//! on its memory and over a fabric. The tests perform it on simulated networks, both as it is and
//! with one rule changed.
//!
//! ```text
//!   scheme      the classifications that a program can have
//!   entry       which nodes read a line and which write it: 64 bits at the line's home
//!   classify    Table 1: the classes, and which of them are invalidated and downgraded
//!   deposit     a node enters itself: the new entry, what the node learns, which nodes get notices
//!   step        what a miss, a downgrade and each fence do, in order
//!   diff        which bytes of a page are written home
//! ```
//!
//! Source: Kaxiras et al., "Turning Centralized Coherence and Distributed Critical-Section Execution
//! on their Head" (HPDC'15), sections 3.1 to 3.5. Where this differs from the paper, the file says so;
//! docs/internals/dsm.md has the list.

mod classify;
mod deposit;
mod diff;
mod entry;
mod scheme;
mod step;

pub use classify::{Class, Invalidation, TABLE, TableRow, class, keeps};
pub use deposit::{Deposit, Known, Others, Role, Tell, deposit, registers};
pub use diff::diff;
pub use entry::{Entry, MAX_NODES, Nodes, Writers};
pub use scheme::Scheme;
pub use step::{Fence, FenceStep, LineEvent, LineStep, fence, line};

/// The protocol's decisions, as one value. [`Carina`] makes the decisions of this module. Tests
/// replace one decision at a time, and then the check of coherence has to fail.
pub trait Rules {
    /// See [`deposit`].
    fn deposit(&self, scheme: Scheme, me: usize, role: Role, old: Entry) -> Deposit {
        deposit(scheme, me, role, old)
    }
    /// See [`keeps`].
    fn keeps(&self, scheme: Scheme, known: Known) -> bool {
        keeps(scheme, known)
    }
    /// See [`Known::after_notice`].
    fn after_notice(&self, scheme: Scheme, known: Known) -> Known {
        known.after_notice(scheme)
    }
    /// See [`fence`].
    fn fence(&self, which: Fence) -> &'static [FenceStep] {
        fence(which)
    }
    /// See [`line()`].
    fn line(&self, event: LineEvent) -> &'static [LineStep] {
        line(event)
    }
    /// See [`diff`].
    fn diff(&self, old: &[u8], new: &[u8], run: &mut dyn FnMut(usize, &[u8])) {
        diff(old, new, run);
    }
}

/// The protocol itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carina;

impl Rules for Carina {}

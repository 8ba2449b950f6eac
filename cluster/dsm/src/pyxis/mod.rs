//! *Pyxis*, the directory: words at the lines' homes, which nodes change by one-sided operations.
//! No code at the home takes part.
//!
//! ```text
//!   deposit   a node enters itself into an entry, and sends notices to the nodes concerned
//!   notices   the lines about which a node got notices: a bit for each line, in the node's part
//!   log       notices to all nodes: at the line's home, and counted in one global word
//! ```
//!
//! Every operation is complete when its call returns. So when the call for a deposit returns, its
//! notices have arrived. If the deposit sets the mark *told*, it was set after that. A release
//! makes deposits while it downgrades. So when the release ends, the notices of these deposits have
//! arrived.
//!
//! Source: Kaxiras et al. (HPDC'15; their system is called Argo), section 3.3;
//! docs/internals/dsm.md lists the differences.

mod log;
mod notices;

use syncline_fabric::{Change, Dead, Fabric, Swap};

use crate::carina::{Entry, Known, Role, Rules, Scheme, Tell};
use crate::homes::Home;
use crate::shape::{Layout, Shape};
use log::Logs;

/// A node's state for the use of the directory.
#[derive(Debug)]
pub struct Pyxis {
    /// The number of notices in this node's part when it last took them in; the logs have counts of
    /// their own.
    notices: u64,
    logs: Logs,
}

impl Pyxis {
    /// The state of a node that has neither made a deposit nor taken in a notice.
    pub fn new(shape: &Shape) -> Pyxis {
        Pyxis { notices: 0, logs: Logs::new(shape.ranks) }
    }

    /// The first exchange by which this node tries to enter itself into the entry of a line with this
    /// home: a guess of what the entry holds, which is often right at the first access, and at the
    /// first write after it.
    #[allow(clippy::too_many_arguments, reason = "what a deposit is made of")]
    pub fn first_try(
        &self,
        me: usize,
        rules: &impl Rules,
        scheme: Scheme,
        layout: &Layout,
        home: Home,
        role: Role,
        known: Known,
    ) -> Swap {
        let old = match known.reads {
            true => rules.deposit(scheme, me, Role::Reader, Entry::EMPTY).entry,
            false => Entry::EMPTY,
        };
        let new = rules.deposit(scheme, me, role, old).entry;
        Swap::new(layout.entry(home.rank, home.slot), old.bits(), new.bits())
    }

    /// Enters this node into a line's entry, and sends the notices. `tried` is the
    /// [first try](Self::first_try), which has been performed. Returns what the node then knows about
    /// the line.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    #[allow(clippy::too_many_arguments, reason = "what a deposit is made of")]
    pub fn deposit(
        &self,
        fabric: &impl Fabric,
        rules: &impl Rules,
        scheme: Scheme,
        (shape, layout): (&Shape, &Layout),
        (line, home): (usize, Home),
        role: Role,
        known: Known,
        tried: Swap,
    ) -> Result<Known, Dead> {
        let me = fabric.rank();
        let (mut swap, word) = (tried, tried.at);
        while swap.found != swap.old {
            let answer = rules.deposit(scheme, me, role, Entry::from_bits(swap.found));
            swap = Swap::new(word, swap.found, answer.entry.bits());
            swap.perform_on(fabric)?;
        }
        let answer = rules.deposit(scheme, me, role, Entry::from_bits(swap.old));
        match answer.tell {
            Tell::Nobody => {}
            Tell::Nodes(nodes) => {
                for node in nodes.iter() {
                    notices::send(fabric, layout, node, line)?;
                }
            }
            Tell::Everybody => log::append(fabric, shape, layout, home.rank, line)?,
        }
        if answer.then_told {
            fabric.fetch_and(word, Change::Or, Entry::TOLD)?;
        }
        Ok(known.deposited(role, &answer))
    }

    /// Calls `noticed` with each line about which this node got a notice since the last call. Calls
    /// `noticed` with `None` if entries of a log were lost, so that this node must assume a notice
    /// for every line.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn receive_notices(
        &mut self,
        fabric: &impl Fabric,
        shape: &Shape,
        layout: &Layout,
        noticed: &mut dyn FnMut(Option<usize>),
    ) -> Result<(), Dead> {
        self.logs.read(fabric, shape, layout, noticed)?;
        notices::receive(&mut self.notices, fabric, layout, noticed)
    }
}

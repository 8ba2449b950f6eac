//! Analyses a trace of critical sections: how long they are, which data they touch, whether they
//! are independent of each other, on which data they conflict, and what to do about the lock.
//!
//! The method is Syncchar's (Porter, Hofmann, Witchel 2007, sections 2 to 4): two sections of one
//! lock, executed by different threads, could have run at the same time if neither wrote data that
//! the other read or wrote (conflict serializability). The data that a section read and wrote is
//! called its address set. The counts of instructions and accesses are those of SyncPerf's
//! diagnosis tool (Alam et al. 2017, section 3.2).
//!
//! ```text
//! Trace --> sets        address sets, without the thread's own stack and the locks themselves;
//!             |         words have numbers
//!             +--> conflict    compares a section with the last 128, and with those it waited for
//!             +--> section     instructions and system calls of each call site
//!             +--> groups      the number of independent pieces of data that the lock guards
//!             +--> touched     the variables and blocks of the heap that sections touch
//!             v
//!      lock --> enough --> facts --> advice --> naming --> model (with names)
//! ```
//!
//! `totals` has the counts of all locks, traced or not. `enough` finds out whether enough sections
//! were traced of the locks for which threads waited most.
//!
//! Everything up to `facts` is a pure function over plain data, and knows only addresses. An
//! implementation of [`Names`] gives names to them.
//!
//! The analysis can't see what untraced sections and devices do, nor whether the order of two
//! sections matters for another reason than the data in memory.

mod advice;
mod conflict;
mod enough;
mod facts;
mod groups;
mod index;
mod lock;
mod lock_words;
mod model;
mod naming;
mod section;
mod sets;
mod system_calls;
mod totals;
mod touched;
mod words;

pub use advice::{Advice, Proposal, advise};
pub use conflict::{Cause, Comparison, Field};
pub use enough::{ENOUGH, Run, Scarce};
pub use facts::{Facts, Options, Overall, Untraced, busy, facts, facts_by, facts_with};
pub use groups::Groups;
pub use index::{Conflict, Window};
pub use lock::LockFacts;
pub use model::{Data, Line, Lock, NamedCause, Names, Pairs, Report, SCHEMA, Site, TooFew};
pub use naming::named;
pub use section::{Distribution, SiteFacts, StepFacts};
pub use sets::{Access, LockSections, Set, Sets};
pub use touched::{Object, Touched};
pub use words::{Word, Words};

//! The result of an analysis: plain data, in seconds and names.
//!
//! A [`Process`] holds tables; their entries refer to each other by index: a [`Lock`] refers to its
//! [`Site`]s by their index in [`Process::sites`], a site to its [`Stack`]s by their index in
//! [`Process::stacks`], a stack to its [`Frame`]s by their index in [`Process::frames`].
//!
//! Times are in seconds unless a field says otherwise, rates in 1/s, shares from 0 to 1, and
//! addresses are those of the process. The JSON report has each [`Process`] in this form:
//! `docs/report-json.md`.

mod atomics;
mod blocking;
mod figures;
mod finding;
mod in_call;
mod inspected;
mod lock;
mod nesting;
mod note;
mod openmp;
mod path;
mod process;
mod quadrant;
mod question;
mod remaining;
mod rule;
mod runs;
mod site;
mod stuck;
mod thread;
mod thresholds;
mod timeline;
mod times;
mod unread;
mod whatif;

pub use atomics::Atomics;
pub use blocking::{Blocker, Blocking};
pub use figures::{Bucket, Figures, Histogram, HolderTime, Kind, Waiting};
pub use finding::{Evidence, Finding, Gain, Group, Method, Remedy, Unit};
pub use in_call::InCall;
pub use inspected::{Data, Inspected};
pub use lock::{Lock, SiteUse};
pub use nesting::{Nesting, Outer};
pub use note::Note;
pub(crate) use note::with_messages;
pub use openmp::is_openmp;
pub use path::{CriticalPath, OnPath, PathPart, Stage};
pub use process::{Process, State};
pub use quadrant::{Quadrant, QuadrantCounts};
pub use question::{Answer, OpenQuestion, Recorded};
pub use remaining::Remaining;
pub use rule::{About, AnotherLock, Category, Lost, Rule};
pub use runs::{Run, Runs, Seen};
pub use site::{Site, Way};
pub use stuck::{Stuck, Trap};
pub use syncline_code::model::{Frame, Module, Section, Stack, SymbolSource};
pub use thread::{TakingPart, Thread, WaitingNow};
pub use thresholds::Thresholds;
pub use timeline::{Activity, Span, Timeline};
pub use times::Times;
pub use unread::Unread;
pub use whatif::{Delay, Delayed, Follows, Range, Shape, WhatIf};

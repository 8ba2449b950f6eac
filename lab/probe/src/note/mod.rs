//! Notes on a measurement: values that could not be measured, or not with certainty, and what this
//! means for the figures.

pub(crate) mod rules;

use std::fmt;

use serde::Serialize;
use syncline_sim::machine::Protocol;

/// A limit of a measurement that readers of its figures should know.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Note {
    VirtualMachine { hypervisor: String },
    Container,
    Restricted { usable: usize, online: usize },
    Quota { processors: usize, usable: usize },
    WithoutHwloc { why: String },
    UncertainClock { fault: &'static str },
    CoarseClock { nanoseconds: f64 },
    FrequencyChanged { least_gigahertz: f64, most_gigahertz: f64 },
    Outliers { count: usize, of: usize },
    Noisy { cells: usize, of: usize },
    OneProcessor,
    NoThird { distance: String },
    SharerElsewhere { distance: String },
    NoOwned,
    OwnedUnknown,
    NotExclusive { cycles: f64, own: f64 },
    ReadTakesOver { distance: String },
    NotNear { distance: String, cycles: f64, memory: f64 },
    NoLastLevel { cycles: f64 },
    CachesUnknown,
    Assumed { what: &'static str, from: &'static str },
    AssumedProtocol { protocol: Protocol },
    Irregular { kept: usize, of: usize },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::VirtualMachine { hypervisor } => write!(
                f,
                "this is a virtual machine ({hypervisor}): what it says of caches and cores may be \
                 made up, two processors may be threads of one core, and the hypervisor may move \
                 them at any time; distances are as the machine names them"
            ),
            Note::Container => write!(
                f,
                "this is a container: other programs may use the same processors, and the \
                 container may not see all of them"
            ),
            Note::Restricted { usable, online } => write!(
                f,
                "this process may use {usable} of {online} processors: only those were measured"
            ),
            Note::Quota { processors, usable } => write!(
                f,
                "this process may use {usable} processors, but only the time of {processors}: it \
                 is stopped now and then, which shows as outliers"
            ),
            Note::WithoutHwloc { why } => write!(
                f,
                "{why}, so distances come from Linux's lists of processors, which don't \
                 distinguish threads of a core from cores with a common cache, and sizes of caches \
                 are unknown: install hwloc (libhwloc15)"
            ),
            Note::UncertainClock { fault } => {
                write!(f, "{fault}: ticks may not always be equally long")
            }
            Note::CoarseClock { nanoseconds } => write!(
                f,
                "the clock ticks every {nanoseconds:.1} ns: a sample of 32 accesses is exact to \
                 {:.1} ns an access",
                nanoseconds / 32.0
            ),
            Note::FrequencyChanged { least_gigahertz, most_gigahertz } => write!(
                f,
                "the processor ran at {least_gigahertz:.2} to {most_gigahertz:.2} GHz meanwhile: \
                 cycles are counted at the frequency of the moment, nanoseconds at the median one"
            ),
            Note::Outliers { count, of } => write!(
                f,
                "{count} of {of} samples were far longer than the others: other programs, \
                 interrupts or a hypervisor took the processor away; they don't move the medians"
            ),
            Note::Noisy { cells, of } => write!(
                f,
                "in {cells} of {of} cells the middle half of the samples differs by more than a \
                 fifth: measure again on an idle machine"
            ),
            Note::OneProcessor => write!(
                f,
                "there is one hardware thread, so no other can share a line: only accesses that need \
                 no other thread were measured; a machine description uses memory's cost for all \
                 others"
            ),
            Note::NoThird { distance } => write!(
                f,
                "{distance}: two sharers and a reader are three threads, and there are fewer: loads \
                 of owned and shared lines were not measured, and writes were measured on lines \
                 that the writer itself shares"
            ),
            Note::SharerElsewhere { distance } => write!(
                f,
                "{distance}: no third thread is as far, so the second sharer of owned and shared \
                 lines is at another distance"
            ),
            Note::NoOwned => write!(
                f,
                "these processors have no owned state: the row has lines that one thread \
                 changed and others then read, which are clean and shared"
            ),
            Note::OwnedUnknown => write!(
                f,
                "whether these processors have an owned state is unknown: the row has lines that one \
                 thread changed and others then read, whatever their state"
            ),
            Note::NotExclusive { cycles, own } => write!(
                f,
                "a store to a line that only the storing thread had read took {cycles:.0} cycles, \
                 and a store to an own line {own:.0}: a read does not seem to make a line \
                 exclusive here, so the row of exclusive lines may be of shared ones"
            ),
            Note::ReadTakesOver { distance } => write!(
                f,
                "{distance}: the reader of a changed line takes it over and may write to it, and \
                 only the next reader shares it: so no line was owned, and that row is of lines \
                 that their reader had alone"
            ),
            Note::NotNear { distance, cycles, memory } => write!(
                f,
                "{distance}: a line takes {cycles:.0} cycles from one to the other, and {memory:.0} \
                 from memory, so they have no cache in common, whatever the machine says"
            ),
            Note::NoLastLevel { cycles } => write!(
                f,
                "loads that should find their line in the last-level cache took {cycles:.0} \
                 cycles, as from memory: other programs fill this cache, or this machine \
                 can't use it"
            ),
            Note::CachesUnknown => write!(
                f,
                "the sizes of the caches are unknown: no loads from the second and the last \
                 level were measured"
            ),
            Note::Assumed { what, from } => {
                write!(f, "the machine description takes {what} from {from}")
            }
            Note::AssumedProtocol { protocol } => write!(
                f,
                "the machine description has the protocol `{}`, by the processor's maker and not \
                 by measurement",
                if *protocol == Protocol::Directory { "directory" } else { "snooping" }
            ),
            Note::Irregular { kept, of } => write!(
                f,
                "the cores or groups of cores are not all alike, or there are too many: the \
                 machine description has {kept} of {of} hardware threads"
            ),
        }
    }
}

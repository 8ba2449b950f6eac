//! The statements of the papers, each with its check.

use super::check::Part;
use super::{
    hardware, locks, memcached, messages, placement, scaling, shared_memory, table, two_sockets,
    uncontended, windows,
};
use crate::figure::Book;

/// A statement of a paper.
pub struct Row {
    /// The row's id, which tests and docs cite.
    pub id: &'static str,
    /// The section, figure or table of its paper.
    pub place: &'static str,
    /// The statement.
    pub says: &'static str,
    /// The greatest error that a number may have, in words.
    pub within: &'static str,
    /// The way in which the statement is checked.
    pub check: Check,
}

/// The way in which a row is checked.
pub enum Check {
    /// Checked on simulated machines: the ids of the figures that the check needs, and the check.
    Figures(&'static [&'static str], fn(&Book) -> Vec<Part>),
    /// Checked on real programs: the command or test that shows the result, and the verdict,
    /// `holds` or `misses`.
    Elsewhere(&'static str, &'static str),
    /// Not checked yet, with what is missing for the check.
    NotBuilt(&'static str),
}

use Check::{Elsewhere, Figures, NotBuilt};

const fn row(
    id: &'static str,
    place: &'static str,
    within: &'static str,
    says: &'static str,
    check: Check,
) -> Row {
    Row { id, place, says, within, check }
}

const DELEGATION: Check = NotBuilt("threads of a simulated node that delegate");

/// All rows: SSYNC (S), MPI passive target (M), SyncPerf (P), Syncchar (C) and Argo (A).
#[rustfmt::skip]
pub const ROWS: [Row; 40] = [
    row("S1", "Tables 2, 3", "5 %", "each latency of the tables comes out of an access on the simulated machine", Figures(&["table-2", "table-3"], hardware::tables)),
    row("S2", "5.2", "10 %", "a store to a line that all cores share: 296 cycles (Opteron), 445 (Xeon), 200 (Tilera)", Figures(&["table-2"], hardware::shared_by_all)),
    row("S3", "5.2", "10 %", "Opteron: with the directory two hops from both cores, a load takes 312 cycles", Figures(&["table-2"], hardware::far_directory)),
    row("S4", "Figure 3", "25 %", "Opteron, a ticket lock, 48 cores: about 720,000 cycles; far less with back-off; up to twice as fast again with write-prefetch", Figures(&["figure-3"], locks::ticket)),
    row("S5", "Figure 4", "25 %", "Opteron, Xeon: an atomic operation takes 20 cycles alone, 120 with a second core; 20 Mops/s within a socket; less beyond, on the Xeon more so", Figures(&["figure-4", "figure-4-latency"], hardware::atomics_of_multi_sockets)),
    row("S6", "Figure 4", "-", "Niagara, Tilera: throughput rises over the first few cores, then stays level; Niagara: FAI is as fast as FAI made of CAS, and TAS is fastest; Tilera: FAI is slightly faster than the others", Figures(&["figure-4"], hardware::atomics_of_single_sockets)),
    row("S7", "Figure 6", "25 %", "a free lock from the farthest holder costs up to 12.5 times a local one (Opteron), 11 times (Xeon), the same (Niagara), slightly more (Tilera); 350 to 450 cycles on multi-sockets, 200 on single-sockets", Figures(&["figure-6"], uncontended::check)),
    row("S8", "Figure 5", "-", "one lock: hierarchical locks best on the Xeon, MCS and CLH elsewhere; ticket the best spin lock; two cores an order of magnitude below one on multi-sockets, comparable on single-sockets", Figures(&["figure-5"], locks::one_lock)),
    row("S9", "Figure 7", "-", "512 locks: ticket best on Opteron, Niagara, Tilera; differences vanish on the Xeon; simple locks match or beat queue locks", Figures(&["figure-7"], locks::many_locks)),
    row("S10", "Figure 8", "25 %", "few locks: Niagara scales up to 1.7 times better than Tilera; Xeon scales within a socket and falls with one remote thread; Opteron scales poorly", Figures(&["figure-8"], scaling::check)),
    row("S11", "6.1.2, 8", "-", "no lock is best on all machines, none on all workloads of a machine, and each of the nine is best somewhere", Figures(&["figure-5", "figure-6", "figure-7", "figure-8"], scaling::none_is_best)),
    row("S12", "Figure 9", "20 %", "message passing: about two transfers of a line one way, about four there and back", Figures(&["figure-9", "table-2"], messages::transfers)),
    row("S13", "Figure 10", "30 %", "Xeon, one server: 25 Mops/s one way within a socket, 8 with a remote client; with many clients, round trips overtake one-way messages", Figures(&["figure-10"], messages::xeon)),
    row("S14", "Figure 10", "30 %", "Tilera's hardware messages, 35 clients: 16 Mops/s round trip; of one word 27, and over 100 one way", Figures(&["figure-10"], messages::hardware)),
    row("S15", "Figure 11", "-", "hash table, low contention: longer sections scale better except on Tilera; message passing below the locks; spin locks best; Xeon has the highest throughput", Figures(&["figure-11"], table::low_contention)),
    row("S16", "Figure 11", "25 %", "hash table, high contention: message passing beats locks on three of four machines; Niagara's throughput with 36 threads is 10 times that with one", Figures(&["figure-11"], table::high_contention)),
    row("S17", "6.3", "-", "hash table, high contention: without pinning, throughput is at most 4 to 6 times lower on multi-sockets", Figures(&["figure-11", "figure-11-unpinned"], table::unpinned)),
    row("S18", "6.4, Figure 12", "-", "Memcached, set-only: other locks than the mutex win 29 to 50 % on three of four machines; get-only: no difference", Figures(&["figure-12"], memcached::check)),
    row("S19", "8", "-", "two-socket Opteron 2384 and Xeon X5660: crossing sockets costs 1.6 and 2.7 times as much; the trends are the same", Figures(&["table-2", "figure-4", "figure-5"], two_sockets::check)),
    row("S20", "5.3", "25 %", "Opteron: message passing is up to 2.5 times faster with write-prefetch", Figures(&["figure-9"], messages::prefetch)),
    row("M1", "Table 2", "25 %", "48 processes: the time of lock and unlock has the table's quartiles, for three schemes and three mixes", Figures(&["scc-table-2"], windows::quartiles)),
    row("M2", "Figures 6-8", "-", "the time of a lock without back-off grows linearly with the number of writers; with back-off, and with MCS-WP, it is nearly constant", Figures(&["scc-figure-7", "scc-figure-8"], windows::grows)),
    row("M3", "Figure 6", "-", "the time of MCS-WP rises up to 24 processes, then stays, with a drop at 32", Figures(&["scc-figure-6"], windows::controllers)),
    row("M4", "Table 3", "30 %", "the time of a writer's PUT and UNLOCK against 0 to 47 readers; with 47, MCS-WP is ahead by 2.7 to 3.9 times", Figures(&["scc-table-3"], windows::writer)),
    row("M5", "Figure 5", "-", "synchronization data scales when spread over the memory controllers, and not in one place", Figures(&["scc-figure-5"], placement::check)),
    row("M6", "6.3", "-", "the window locks are ahead of those of MPICH and of Open MPI", Elsewhere("`./x bench windows`, ranks of one host: our locks take 1 % of the time of Open MPI's and less than 1 % of that of MPICH's; against Open MPI's over shared memory (`osc sm`) they take 1.25 to 1.6 times as long", "misses")),
    row("P1", "4.5", "1 %; 5 %", "recording costs 2.3 % on average, 19 % at worst", Elsewhere("`./x bench record-overhead`: recording costs 3.6 % of wall time and 5.1 % of processor time on average over three programs; over 20 others with small inputs 16 % of wall time and 12 % of processor time, and 52 % of wall time at worst. A test that does nothing but take 92,000 locks in turn takes 97 % longer", "misses")),
    row("P2", "4.6", "below", "memory grows by 36 % over all programs", Elsewhere("`./x bench record-overhead`: peak memory grows by 6.6 % over three programs, and by 17 % over 19 others", "holds")),
    row("P3", "4.5.2", "below", "diagnosis takes 3.5 to 11.7 times as long", Elsewhere("`./x bench inspect-overhead`: with every section traced, programs take 1.1 (pbzip2) to 13 times as long, 3.9 times on average", "misses")),
    row("P4", "Table 2", "all, 0", "15 problems found and 2 false alarms, over 15 programs", Elsewhere("`./x accuracy`: 25 of 25 problems found and no false alarm, over small programs with one problem each, some of which are modelled on the paper's", "holds")),
    row("P5", "4.4.5", "-", "the proposed assignment of threads to stages is within one thread of the best", Elsewhere("the tests of syncline-analysis: the proposed assignment is the best of all in a model, and is the one that SyncPerf gives for its example; `./x accuracy`, unequal-stages: it gains 57 %, as predicted", "holds")),
    row("C1", "Table 1", "exact", "in the table's tree, sections 1 and 2 are independent, section 3 conflicts, and the address sets are as printed", Elsewhere("tests of syncline-conflicts check the addresses as printed, and tests of `syncline inspect` check a traced program", "holds")),
    row("C2", "Tables 2, 3", "-", "Linux under a parallel build: the locks conflict as often as in the tables, and at most 4.5 % of acquisitions wait", Elsewhere("`syncline kernel --cpus 15`, Linux 6.1: as in the paper, the sections of `zone.lock` and of the run queues that waited conflict nearly always (98 and 99 %), and those of the locks of directory entries seldom (19 %). But four classes of locks wait in 11 to 21 % of their acquisitions; the paper has 4.5 % at most", "misses")),
    row("C3", "3", "-", "a window of 50 instead of 100 changes most locks by less than 5 %", Elsewhere("`syncline kernel --read DIR --window N`, Linux 6.1: of 46 classes of locks with 1,000 pairs or more, 44 change by less than 5 points; `syncline inspect --window` over the traces of x264, RocksDB and five small programs: of 16 locks, 15 change by less than 5 points, and one by 8", "holds")),
    row("C4", "4.2", "-", "weighted by the time held, 24.1 % of sections are independent on average, which keeps 4 of 15 processors busy", Elsewhere("`syncline kernel --cpus 15`, Linux 6.1, with the paper's window of 100: 30.0 % of pairs of sections are independent, enough to keep 5.2 of 15 processors busy. The paper has 24.1 % of sections and concludes 4 of 15; our formula gives 4.4 for that. `syncline inspect`: 4.0 % and 1.6 of 15 processors for x264, 3.7 % and 1.5 for RocksDB", "misses")),
    row("A1", "5.3", "25 %", "delegation beats cohort locks; it loses 42 % from one node to two, and then stays level up to 32", DELEGATION),
    row("A2", "Figure 8", "-", "P/S3 beats S; naive P/S with checkpoints does not", Figures(&["argo-figure-8"], shared_memory::schemes)),
    row("A3", "Figures 9, 10", "-", "a write buffer of a minimum size is needed, and a larger one neither helps nor hurts", Figures(&["argo-figure-9"], shared_memory::buffers)),
    row("A4", "Figure 13", "shape", "each program scales as far as in the figure, on up to 128 nodes", Figures(&["argo-figure-13"], shared_memory::scaling)),
    row("A5", "Figure 7", "15 %", "reads of page lines follow the transport's bandwidth", Elsewhere("`./x bench dsm`: on one machine, a page that is read in lines of 16 pages takes twice as long as with `memcpy`; a network was not measured", "misses")),
];

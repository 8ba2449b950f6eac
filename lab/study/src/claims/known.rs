//! Parts of claims that are known to miss, each with the reason.

/// A part that misses.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// The row.
    pub id: &'static str,
    /// What the part is about, as it begins.
    pub part: &'static str,
    /// Why.
    pub why: &'static str,
}

const CLOCK: &str = "a local acquisition is shorter than what SSYNC timed. It is not the instructions: with 0, 1 and 2 cycles of them an access the Opteron has 26, 22 and 20 times, and counted are not more; nor the store buffer, since alone a release finds its line at hand; what reading a clock twice takes, which the paper does not say, would do it";
const SLOW_CORES: &str = "the accesses take half of it. It is not the instructions that were counted: with none of them, and with twice as many, it is 102 and 114 cycles on the Niagara; stalls, memory barriers and the clock are not simulated";
const ONE_ACCESS: &str = "by the tables, the test-and-set lock's one atomic operation takes 44 cycles less than the ticket lock's fetch-and-increment, and the table has that row, not the loop of compare-and-swap that SPARC makes of it";
const WRITE_THROUGH: &str = "each store goes out to the last-level cache, a line can't be fetched for writing, and a transfer is 24 cycles: beside it the seven words and what comes with them count. That the thread goes on behind a store saved one of the seven transfers";
const SERVER: &str = "a server's accesses follow each other here: a look at a client's line, the words, the flag, each as long as the table has it. 25 million messages a second are 85 cycles for each, less than one load of a changed line (109), so that a real one has several loads under way. That it goes on behind its stores changed nothing: the line of a message was fetched for writing";
const SCHEDULER: &str = "threads are placed and moved as Linux's documentation has it: each has a processor of its own, over all sockets, and a crowd on one socket would be spread within some hundredths of a second, of a run of seconds. One thread alone loses nothing by that, so that a maximum that is 4 to 6 times lower needs pinned threads that do 4 to 6 times as much as one; here the best number of them does 1.0 to 1.1 times as much, with 12 keys, and two threads on two sockets lose 3 to 3.5 times at most. Kernels and numbers of threads are not in the paper's text";

const PUNCTUAL: &str = "it is not simulated: simulated time is punctual, and four cores that try again and again in the same rhythm keep another one from the register that guards the word for ever";
const CALL: &str = "the instructions of an MPI call are not simulated, and a core of the SCC runs at 533 MHz: the paper's RCKMPI, which sends nothing and touches no shared memory, takes more than three microseconds for a pair";
const ONE_WORD: &str = "all writers add to one word at the first core's controller, under one register, and here that is most of the time; the paper's writers leave it again while they wait, ours stay counted (docs/mpi.md)";
const LIGHT_QUEUE: &str = "the library's lock is lighter than the paper's: a reader that meets no writer adds to one word and is not queued, and a writer touches four lines. The paper's keeps a list of readers beside a state, and each of its accesses is an MPI operation";
const POLLING: &str = "readers that poll disturb the writer less here than there: a controller serves a word in 46 cycles of the memory and many at once, which is all that the description says of it; how the real one slows down under many requests is not in the paper";

const LU_SIZE: &str = "the paper does not say how large the matrix is. With the 512 rows that SPLASH-2 comes with it is flat (3.6 on 8 nodes, 4.7 on 32), with the 2,048 here it goes on to 64 nodes and beyond";

/// All of them.
#[rustfmt::skip]
pub const KNOWN_MISSES: &[Miss] = &[
    Miss { id: "S4", part: "with prefetch, times", why: "the lock without the prefetch is about as in the paper, and with it twenty times faster than without back-off: waiters stay away for exactly as long as those ahead need, and nothing disturbs them, so that a hand-over is two transfers of the line, the least that there can be. Store buffers changed nothing: what follows the release is an atomic operation, which waits" },
    Miss { id: "S6", part: "niagara: FAI as CAS-based FAI", why: "the table's row for fetch-and-increment is one access that always succeeds, and of many threads in a loop of compare-and-swap one succeeds in each round of the queue. That a line is busy for less than an access takes changed it from 0.4 to 0.8 million a second only. With fetch-and-increment and swap made of a load and a compare-and-swap, as SPARC has them, this part held and four others missed: these operations fell from 11 and 16 to 0.8 million with all threads, where the paper's do not fall, and MCS and CLH with them from 8.9 to 0.8, where the paper has them best; so it was taken out again" },
    Miss { id: "S7", part: "opteron: farthest over local", why: CLOCK },
    Miss { id: "S7", part: "xeon: farthest over local", why: CLOCK },
    Miss { id: "S7", part: "niagara: farthest over local", why: "a thread that takes the lock again at once waits first until its own release has left the store buffer, 24 cycles; before there were buffers, this held with 0.9" },
    Miss { id: "S7", part: "niagara: cycles", why: SLOW_CORES },
    Miss { id: "S7", part: "tilera: cycles", why: SLOW_CORES },
    Miss { id: "S9", part: "niagara: ticket is best", why: ONE_ACCESS },
    Miss { id: "S9", part: "xeon: differences vanish", why: "a local hand-over is an atomic operation of 20 cycles and a store; the one or two accesses more of the queue locks are a large part of that. Instructions, as counted, changed it by a hundredth" },
    Miss { id: "S12", part: "niagara, other core", why: WRITE_THROUGH },
    Miss { id: "S13", part: "Mops/s one way within", why: SERVER },
    Miss { id: "S13", part: "with a client on another socket", why: SERVER },
    Miss { id: "S13", part: "35 clients: round trips", why: "clients that wait for room look at their lines once and then watch for nothing: the traffic of their busy waiting, by which the paper explains it, is not simulated" },
    Miss { id: "S15", part: "tilera: longer sections", why: "in the simulation a core's data do not share its second level with lines whose home it is, which is the paper's reason; that levels have a size changed it from 69 to 68 times" },
    Miss { id: "S15", part: "highest throughput", why: "the Tilera and the Niagara are ahead: the instructions of a look-up are counted at the least that a core's width allows for, and theirs need more. With twice the cycles for instructions, and nothing else changed, the Niagara fell from 282 to 117 million a second, next to the Xeon's 97" },
    Miss { id: "S17", part: "opteron", why: SCHEDULER },
    Miss { id: "S17", part: "xeon", why: SCHEDULER },
    Miss { id: "S18", part: "sets: other locks win", why: "with the sections of the paper's version, recorded here, the gains are the paper's on the Opteron and the Xeon, and larger on the single-sockets, where lines move in fewer cycles, which a mutex gains little by; on the Niagara the paper's limits are network and system (footnote 11), so that the Tilera decides. All gains hang on what waking a thread takes the one that wakes, which the paper does not have: with nothing they are 18 and 22 % on the Opteron and the Xeon, with the least that it can be 35 and 42 %, with twice that 50 and 61 %. A request of twice the cycles on the Tilera changes nothing" },
    Miss { id: "S19", part: "xeon-x5660: one lock", why: "the best of the spin locks and the ticket lock of each socket were level (4.9 million a second both). Since a release ends with the hand-over to another socket, so that the next holder may free the lock, the socket's own lock is released before it, and the other socket waits for that" },
    Miss { id: "S20", part: "times as fast", why: "without the prefetch each message has two broadcasts of 244 cycles, with it two transfers of 83 and nothing else: by the table that is four times, and since the next look is at the same line, a store buffer hides nothing of it. What a real message takes besides is the same for both, and would bring them nearer to each other" },
    Miss { id: "M1", part: "GBH, ", why: PUNCTUAL },
    Miss { id: "M1", part: "GBH back-off, shared", why: CALL },
    Miss { id: "M1", part: "GBH back-off, exclusive", why: ONE_WORD },
    Miss { id: "M1", part: "MCS-WP, ", why: LIGHT_QUEUE },
    Miss { id: "M1", part: "shared: GBH", why: LIGHT_QUEUE },
    Miss { id: "M1", part: "mixed: GBH", why: LIGHT_QUEUE },
    Miss { id: "M1", part: "exclusive: GBH", why: LIGHT_QUEUE },
    Miss { id: "M2", part: "GBH, mixed", why: PUNCTUAL },
    Miss { id: "M2", part: "GBH, exclusive", why: PUNCTUAL },
    Miss { id: "M2", part: "GBH back-off, mixed", why: ONE_WORD },
    Miss { id: "M2", part: "GBH back-off, exclusive", why: ONE_WORD },
    Miss { id: "M3", part: "rises", why: LIGHT_QUEUE },
    Miss { id: "M3", part: "drops", why: LIGHT_QUEUE },
    Miss { id: "M4", part: "GBH back-off, readers 0, 32", why: CALL },
    Miss { id: "M4", part: "GBH back-off, readers 1 close, 32", why: CALL },
    Miss { id: "M4", part: "GBH back-off, readers 1 distant, 32", why: CALL },
    Miss { id: "M4", part: "MCS-WP, readers 0, 32", why: CALL },
    Miss { id: "M4", part: "MCS-WP, readers 1 close, 32", why: CALL },
    Miss { id: "M4", part: "MCS-WP, readers 1 distant, 32", why: CALL },
    Miss { id: "M4", part: "GBH back-off, readers 11", why: POLLING },
    Miss { id: "M4", part: "MCS-WP, readers 11 close", why: POLLING },
    Miss { id: "M4", part: "MCS-WP, readers 11 distant, 32", why: CALL },
    Miss { id: "M4", part: "GBH back-off, readers 47", why: POLLING },
    Miss { id: "M4", part: "MCS-WP, readers 47", why: POLLING },
    Miss { id: "M4", part: "47 readers, 32", why: POLLING },
    Miss { id: "A2", part: "naive P/S", why: "Carina here sends the changes of private pages home as well, in every scheme, so that there is no checkpoint to be compared with" },
    Miss { id: "A4", part: "LU: flat", why: LU_SIZE },
    Miss { id: "A4", part: "CG: gains", why: "the vector that all nodes read in each step lives at one node or two, as the paper has homes: each node a part of the addresses (section 3). That node's port serves all others, and from 16 nodes on this takes longer than what they compute. With homes that alternate line by line, and nothing else changed, it gains up to 64 nodes: 16.7, 24.4 and 26.2 on 16, 32 and 64. Where the paper's vector is, it does not say" },
];

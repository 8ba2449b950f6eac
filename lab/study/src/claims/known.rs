//! Parts of claims that are known to miss, each with the reason.

/// A part that is known to miss, with the reason.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// The id of the claim's row.
    pub id: &'static str,
    /// The beginning of the part's `what`.
    pub part: &'static str,
    /// The reason why the part misses.
    pub why: &'static str,
}

const CLOCK: &str = "a local acquisition is shorter here than what SSYNC timed; a distant one is about right. 450 cycles are 12.5 times 36. It is not the instructions: with 0, 1 and 2 cycles of them an access, the Opteron had 26, 22 and 20 times. Nor is it the store buffer, since alone a release finds its line at hand; nor that lines are fetched for writing, which made it 19 times instead of 22 on the Opteron. SSYNC subtracts what reading the clock twice takes on average; what it takes around an atomic operation, the paper does not say";
const SLOW_CORES: &str = "the accesses take half of it. It is not the instructions that were counted: with none of them, and with twice as many, it is 102 and 114 cycles on the Niagara; stalls, memory barriers and the clock are not simulated";
const ONE_ACCESS: &str = "by the tables, the test-and-set lock's one atomic operation takes 44 cycles less than the ticket lock's fetch-and-increment, and the table has that row, not the loop of compare-and-swap that SPARC makes of it";
const BESIDES: &str = "the simulation has the transfers of the line and hardly anything else. SSYNC's own runs take 96 to 160 cycles more for a message one way, at any distance: copying the message out of and into private memory, the mispredicted branch that ends a wait, calls. The paper's own numbers do not have them. In transfers of a line, these runs have 2.9 to 3.2 one way, where the paper says \"roughly twice\"";
const WRITE_THROUGH: &str = "each store goes out to the last-level cache, a line can't be fetched for writing, and a transfer is 24 cycles: beside it the seven words and what comes with them count. That the thread goes on behind a store saved one of the seven transfers";
const SERVER: &str = "a server's accesses follow each other here: a look at a client's line, the words, the flag, each as long as the table has it. 25 million messages a second are 85 cycles for each, less than one load of a changed line (109), so that a real one has several loads under way. SSYNC's published library for messages has another way to look on the Xeon: loads within a socket, compare-and-swap between sockets, and a fence after each part. With that it was 18 million within the socket and 14 with a distant client, and the messages of S12 took twice as long as the paper has them";
const SCHEDULER: &str = "threads are placed and moved as Linux's documentation has it: each has a processor of its own, over all sockets, and a crowd on one socket would be spread within some hundredths of a second, of a run of seconds. So no more can be lost than two threads lose on two sockets, or one that is not pinned, which loses nothing: the best number of pinned threads does 3.6 times as much as the two on the Xeon and 2.9 on the Opteron, and 1.4 to 2.3 times as much as one. Where 4 to 6 times is lost, pinned threads must do as many times more than one does. Kernels and numbers of threads are not in the paper's text";

const PUNCTUAL: &str = "it is not simulated: simulated time is punctual, and four cores that try again and again in the same rhythm keep another one from the register that guards the word for ever";
const CALL: &str = "the instructions of an MPI call are not simulated, and a core of the SCC runs at 533 MHz: the paper's RCKMPI, which sends nothing and touches no shared memory, takes more than three microseconds for a pair";
const ONE_WORD: &str = "all writers add to one word at the first core's controller, under one register, and here that is most of the time; the paper's writers leave it again while they wait, ours stay counted (docs/mpi.md)";
const LIGHT_QUEUE: &str = "the library's lock is lighter than the paper's: a reader that meets no writer adds to one word and is not queued, and a writer touches four lines. The paper's keeps a list of readers beside a state, and each of its accesses is an MPI operation";
const POLLING: &str = "readers that poll disturb the writer less here than there: a controller serves a word in 46 cycles of the memory and many at once, which is all that the description says of it; how the real one slows down under many requests is not in the paper";

const LU_SIZE: &str = "the paper does not say how large the matrix is. With the 512 rows that SPLASH-2 comes with it is flat (3.6 on 8 nodes, 4.7 on 32), with the 2,048 here it goes on to 64 nodes and beyond";

/// All parts that are known to miss.
#[rustfmt::skip]
pub const KNOWN_MISSES: &[Miss] = &[
    Miss { id: "S6", part: "niagara: FAI as CAS-based FAI", why: "the table's row for fetch-and-increment is one access that always succeeds. In a loop of compare-and-swap of many threads, one succeeds in each round of the queue, since the simulated line serves requests in their order, failing ones as well. The paper's do not fall when threads are added, so that its crossbar must do something else, which the paper does not describe. With fetch-and-increment and swap made of a load and a compare-and-swap, as SPARC has them, this part held and four others missed: these operations fell from 11 and 16 to 0.8 million with all threads, and MCS and CLH with them from 8.9 to 0.8, where the paper has them best; so it was taken out again" },
    Miss { id: "S7", part: "opteron: farthest over local", why: CLOCK },
    Miss { id: "S7", part: "xeon: farthest over local", why: CLOCK },
    Miss { id: "S7", part: "niagara: cycles", why: SLOW_CORES },
    Miss { id: "S7", part: "tilera: cycles", why: SLOW_CORES },
    Miss { id: "S9", part: "niagara: ticket is best", why: ONE_ACCESS },
    Miss { id: "S9", part: "xeon: differences vanish", why: "a local hand-over is an atomic operation of 20 cycles and a store; the one or two accesses more of the queue locks are a large part of that. Instructions, as counted, changed it by a hundredth" },
    Miss { id: "S12", part: "niagara, other core", why: WRITE_THROUGH },
    Miss { id: "S12", part: "opteron, same die: one way, cycles, published", why: BESIDES },
    Miss { id: "S12", part: "opteron, same die: round trip, cycles, published", why: BESIDES },
    Miss { id: "S12", part: "opteron, same MCM: one way, cycles, published", why: BESIDES },
    Miss { id: "S12", part: "opteron, same MCM: round trip, cycles, published", why: BESIDES },
    Miss { id: "S12", part: "opteron, one hop: one way, cycles, published", why: BESIDES },
    Miss { id: "S13", part: "Mops/s one way within", why: SERVER },
    Miss { id: "S13", part: "with a client on another socket", why: SERVER },
    Miss { id: "S13", part: "35 clients: round trips", why: "clients that wait for room look at their lines once and then watch for nothing: the traffic of their busy waiting, by which the paper explains it, is not simulated" },
    Miss { id: "S15", part: "niagara: longer sections", why: "a thread that shares its core with three others has the same share of it with short and with long sections, and where the data are in the last-level cache anyway, longer ones do not hide anything. It was 67 and 85 times while one thread began with cold caches and found them empty longer than 36" },
    Miss { id: "S15", part: "highest throughput", why: "the Tilera and the Niagara are ahead of the Xeon by a fifth. Instructions cost the least that a core's width allows for, counted on x86-64; in-order cores stall besides." },
    Miss { id: "S17", part: "opteron", why: SCHEDULER },
    Miss { id: "S17", part: "xeon", why: SCHEDULER },
    Miss { id: "S18", part: "sets: other locks win", why: "with the sections of the paper's version, recorded here, the gains are the paper's on the Opteron and the Xeon, and larger on the single-sockets, where lines move in fewer cycles, which a mutex gains little by; on the Niagara the paper's limits are network and system (footnote 11), so that the Tilera decides. All gains hang on what waking a thread takes the one that wakes, which the paper does not have: with nothing they are 18 and 22 % on the Opteron and the Xeon, with the least that it can be 33 and 45 %, with twice that 50 and 61 %. A request of twice the cycles does not make the Tilera's less" },
    Miss { id: "S20", part: "times as fast", why: "it is the fast side that is too fast. Without the prefetch, each message has two broadcasts and two loads, 650 cycles within a die; with it two transfers and nothing else, 166. SSYNC's own runs take 262 with it (S12), and 650 is 2.5 times that" },
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

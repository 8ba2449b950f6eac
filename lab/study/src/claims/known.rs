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

const CLOCK: &str = "a local acquisition takes less time here than SSYNC measured; a distant one takes about the right time (450 cycles are 12.5 times 36). Instructions are not the cause: with 0, 1 and 2 cycles of them per access, the ratio on the Opteron was 26, 22 and 20. Nor is the store buffer, since a thread that is alone finds its line at hand when it releases the lock. Nor is it that lines are fetched for writing: this made the ratio 19 instead of 22 on the Opteron. SSYNC subtracts the average time of reading the clock twice; the paper does not say how long this takes around an atomic operation";
const SLOW_CORES: &str = "the accesses take half of the paper's time. The counted instructions are not the cause: with none of them, and with twice as many, the result is 102 and 114 cycles on the Niagara. Stalls, memory barriers and the clock are not simulated";
const ONE_ACCESS: &str = "by the tables, the test-and-set lock's one atomic operation takes 44 cycles less than the ticket lock's fetch-and-increment. The table has a row for fetch-and-increment, not the loop of compare-and-swap by which SPARC performs it";
const BESIDES: &str = "the simulation has the transfers of the line and hardly anything else. SSYNC's own runs take 96 to 160 cycles more for a message one way, at any distance: for copying the message from and to private memory, for the mispredicted branch that ends a wait, and for calls. The paper's own numbers do not include these costs. In these runs, a message one way takes 2.9 to 3.2 transfers of a line, where the paper says \"roughly twice\"";
const WRITE_THROUGH: &str = "each store goes out to the last-level cache, a line can't be fetched for writing, and a transfer takes only 24 cycles. So the seven words of a message, and the accesses that come with them, count as well. Letting the thread go on after a store saved one of the seven transfers";
const SERVER: &str = "a simulated server makes its accesses one after the other (a look at a client's line, the words, the flag), and each takes as long as the table says. 25 million messages a second leave 85 cycles for each, which is less than one load of a changed line (109). So a real server has several loads under way. On the Xeon, SSYNC's published library for messages looks in another way: with loads within a socket, with compare-and-swap between sockets, and with a fence after each part. With that, the result was 18 million within the socket and 14 million with a distant client, and the messages of S12 took twice as long as in the paper";
const SCHEDULER: &str = "threads are placed and moved as Linux's documentation describes. Each has a processor of its own, over all sockets; a crowd on one socket would be spread within some hundredths of a second, in a run of seconds. So no more can be lost than two threads lose on two sockets, or than one unpinned thread loses, which is nothing. The best number of pinned threads does 3.6 times as much as the two threads on the Xeon and 2.9 times as much on the Opteron, and 1.4 to 2.3 times as much as one thread. If 4 to 6 times is lost, pinned threads must do that many times more than one thread. The paper's text does not name the kernels and the numbers of threads";

const PUNCTUAL: &str = "this case is not simulated: simulated time is punctual, and four cores that retry in the same rhythm keep another core away for ever from the register that guards the word";
const CALL: &str = "the instructions of an MPI call are not simulated, and a core of the SCC runs at 533 MHz: the paper's RCKMPI, which sends nothing and touches no shared memory, takes more than three microseconds for a pair";
const ONE_WORD: &str = "all writers add to one word at the first core's controller, guarded by one register, and this takes most of the time here. The paper's writers are not counted in the word while they wait; ours are (docs/mpi.md)";
const LIGHT_QUEUE: &str = "the library's lock is lighter than the paper's: a reader that meets no writer adds to one word and is not queued, and a writer touches four lines. The paper's lock keeps a list of readers beside a state, and each access to it is an MPI operation";
const POLLING: &str = "readers that poll disturb the writer less here than in the paper: a simulated controller serves a word in 46 cycles of the memory, and many words at once, since the description says nothing else about it. The paper does not say how the real controller slows down under many requests";

const LU_SIZE: &str = "the paper does not say how large the matrix is. With the 512 rows of SPLASH-2's default, the speedup is flat (3.6 on 8 nodes, 4.7 on 32); with the 2,048 rows here, it grows up to 64 nodes and beyond";

/// All parts that are known to miss.
#[rustfmt::skip]
pub const KNOWN_MISSES: &[Miss] = &[
    Miss { id: "S6", part: "niagara: FAI is as fast as FAI made of CAS", why: "the table's row for fetch-and-increment is one access that always succeeds. If many threads loop over a compare-and-swap, one of them succeeds in each round of the queue, since the simulated line serves requests in their order, including failing ones. The paper's throughput does not fall when threads are added, so its crossbar must do something else, which the paper does not describe. When fetch-and-increment and swap were made of a load and a compare-and-swap, as on SPARC, this part held and four others missed: with all threads, these operations fell from 11 and 16 million to 0.8 million, and with them MCS and CLH from 8.9 to 0.8 million, where the paper has them best. So this change was taken out again" },
    Miss { id: "S7", part: "opteron: farthest over local", why: CLOCK },
    Miss { id: "S7", part: "xeon: farthest over local", why: CLOCK },
    Miss { id: "S7", part: "niagara: cycles", why: SLOW_CORES },
    Miss { id: "S7", part: "tilera: cycles", why: SLOW_CORES },
    Miss { id: "S9", part: "niagara: ticket is best", why: ONE_ACCESS },
    Miss { id: "S9", part: "xeon: differences vanish", why: "a local hand-over is an atomic operation of 20 cycles and a store, so the one or two further accesses of the queue locks are a large part of it. The counted instructions changed the result by a hundredth" },
    Miss { id: "S12", part: "niagara, other core", why: WRITE_THROUGH },
    Miss { id: "S12", part: "opteron, same die: one way, cycles; paper: later data (ssmp-threads)", why: BESIDES },
    Miss { id: "S12", part: "opteron, same die: round trip, cycles; paper: later data (ssmp-threads)", why: BESIDES },
    Miss { id: "S12", part: "opteron, same MCM: one way, cycles; paper: later data (ssmp-threads)", why: BESIDES },
    Miss { id: "S12", part: "opteron, same MCM: round trip, cycles; paper: later data (ssmp-threads)", why: BESIDES },
    Miss { id: "S12", part: "opteron, one hop: one way, cycles; paper: later data (ssmp-threads)", why: BESIDES },
    Miss { id: "S13", part: "Mops/s one way within", why: SERVER },
    Miss { id: "S13", part: "with a client on another socket", why: SERVER },
    Miss { id: "S13", part: "35 clients: round trips", why: "a client that waits for room looks at its line once, and then watches the line at no cost. The paper explains its result by the traffic of busy waiting, which is not simulated" },
    Miss { id: "S15", part: "niagara: longer sections", why: "a thread that shares its core with three others has the same share of the core with short and with long sections, and if the data are in the last-level cache anyway, longer sections hide nothing. The result was 67 and 85 times while runs began with cold caches, since one thread takes longer to fill them than 36 threads" },
    Miss { id: "S15", part: "highest throughput", why: "the Tilera and the Niagara are ahead of the Xeon by a fifth. Instructions are counted on x86-64, and cost the least that a core's width allows; real in-order cores also stall." },
    Miss { id: "S17", part: "opteron", why: SCHEDULER },
    Miss { id: "S17", part: "xeon", why: SCHEDULER },
    Miss { id: "S18", part: "sets: other locks win", why: "with the sections of the paper's version of memcached, recorded here, the gains are the paper's on the Opteron and the Xeon. On the single-sockets they are larger: lines move in fewer cycles there, by which a mutex gains little. On the Niagara, network and system limit the paper's throughput (footnote 11), so the Tilera decides. All gains depend on how long it takes a thread to wake another one, which the paper does not say: with no time they are 18 and 22 % on the Opteron and the Xeon, with the least possible time 33 and 45 %, and with twice that 50 and 61 %. If a request takes twice the cycles, the Tilera's gain is not smaller" },
    Miss { id: "S20", part: "times as fast", why: "the variant with prefetch is too fast here. Without the prefetch, each message takes two broadcasts and two loads, 650 cycles within a die; with it, two transfers and nothing else, 166 cycles. SSYNC's own runs take 262 cycles with it (S12), and 650 is 2.5 times that" },
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
    Miss { id: "A2", part: "naive P/S", why: "our Carina sends the changes of private pages home as well, in every scheme, so there is no checkpoint to compare with" },
    Miss { id: "A4", part: "LU: flat", why: LU_SIZE },
    Miss { id: "A4", part: "CG: gains", why: "with homes as in the paper, where each node has a part of the addresses (section 3), the vector that all nodes read in each step is at one or two nodes. Such a node's port serves all other nodes, and from 16 nodes on this takes longer than the computation. If homes alternate line by line, and nothing else is changed, CG gains up to 64 nodes: 16.7, 24.4 and 26.2 on 16, 32 and 64 nodes. The paper does not say where its vector is" },
];

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

const INSTRUCTIONS: &str = "what a lock does besides its accesses takes no time in the simulation, so that a local acquisition is shorter than a real one";
const SLOW_CORES: &str = "the simulation has the accesses of an acquisition only, and the slow cores of the single-sockets spend most of theirs on instructions";
const FEWER_ACCESSES: &str = "by the tables, the one atomic operation of a test-and-set lock costs less than the fetch-and-increment and the loads of a ticket lock; real loops have work around them that hides it";
const WRITE_THROUGH: &str = "each store goes out to the last-level cache there, and a transfer between threads of one core is 3 cycles: a message has more accesses than transfers";
const SERVER: &str = "a line serves one access after the other, so that a server's looks at its clients' lines and their writes delay each other by less or more than on a real interconnect";
const SCHEDULER: &str = "the simulated scheduler keeps one thread on each processor as soon as there is one, and places all of them at once; what SSYNC's kernels did is not described";

/// All of them.
#[rustfmt::skip]
pub const KNOWN_MISSES: &[Miss] = &[
    Miss { id: "S1", part: "the other levels", why: "the simulator has private caches and lines, and no levels of caches: what it simulates is the transfer of lines" },
    Miss { id: "S4", part: "with prefetch, times", why: "faster than the paper's: with the line fetched for writing, who is served looks and releases in one visit of the line, and nothing else is simulated that would slow it down" },
    Miss { id: "S6", part: "niagara: FAI as CAS-based FAI", why: "a line serves an access for its whole latency, so that of many threads in a loop of compare-and-swap one succeeds in each round; the real last-level cache overlaps them" },
    Miss { id: "S7", part: "opteron: farthest over local", why: INSTRUCTIONS },
    Miss { id: "S7", part: "xeon: farthest over local", why: INSTRUCTIONS },
    Miss { id: "S7", part: "niagara: cycles", why: SLOW_CORES },
    Miss { id: "S7", part: "tilera: cycles", why: SLOW_CORES },
    Miss { id: "S9", part: "opteron: ticket is best", why: FEWER_ACCESSES },
    Miss { id: "S9", part: "niagara: ticket is best", why: FEWER_ACCESSES },
    Miss { id: "S9", part: "xeon: differences vanish", why: "without work around the acquisitions, the one or two accesses that locks differ by are all that is left" },
    Miss { id: "S12", part: "niagara, same core", why: WRITE_THROUGH },
    Miss { id: "S12", part: "niagara, other core", why: WRITE_THROUGH },
    Miss { id: "S12", part: "tilera, one hop", why: "the words of a message are read and written one by one, which counts beside a transfer of 45 cycles" },
    Miss { id: "S13", part: "Mops/s one way within", why: SERVER },
    Miss { id: "S13", part: "with a client on another socket", why: SERVER },
    Miss { id: "S13", part: "35 clients: round trips", why: "clients that wait for room look at their lines once and then watch for nothing: the traffic of their busy waiting, by which the paper explains it, is not simulated" },
    Miss { id: "S15", part: "tilera: longer sections", why: "caches have no size in the simulation, and the paper's reason is that data push each other out" },
    Miss { id: "S15", part: "highest throughput", why: "instructions take no time, so that 36 slow threads of the Niagara are ahead" },
    Miss { id: "S16", part: "tilera: messages beat locks", why: "the servers are asked over shared lines here, SSYNC's over the Tilera's hardware messages" },
    Miss { id: "S17", part: "opteron", why: SCHEDULER },
    Miss { id: "S17", part: "xeon", why: SCHEDULER },
    Miss { id: "S20", part: "times as fast", why: "the plain buffer suffers more than SSYNC's: each of its accesses to a shared line is a broadcast with nothing beside it" },
];

//! Shared memory over ranks, by page faults: coherence that every node decides by itself.

pub mod carina;

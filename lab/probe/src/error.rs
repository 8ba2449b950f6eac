//! The reasons why nothing could be measured.

/// The reason why nothing could be measured.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("can't tell which processors this process may use: {source}")]
    Affinity { source: std::io::Error },
    #[error(
        "can't keep a thread on processor {processor}: {source}; the set of processors of this \
         process, or of its container, changed or does not allow it"
    )]
    Pin { processor: usize, source: std::io::Error },
    #[error("can't start a thread: {source}")]
    Thread { source: std::io::Error },
    #[error("no memory for {bytes} bytes of lines: {source}")]
    Memory { bytes: usize, source: std::io::Error },
    #[error("{from} does not say where in the machine the processors of this process are")]
    Topology { from: &'static str },
    #[error("the processor's clock stands still, so nothing can be timed")]
    NoClock,
}

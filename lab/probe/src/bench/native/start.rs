//! A start line: either all threads begin together, or none begins.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// A start line, where threads wait until all of them are at their places. If one thread can't get
/// to its place, no thread goes on.
pub struct Start {
    state: Mutex<(usize, Option<Error>)>,
    changed: Condvar,
}

impl Start {
    /// A start line for this many threads.
    pub fn new(missing: usize) -> Start {
        Start { state: Mutex::new((missing, None)), changed: Condvar::new() }
    }

    /// Reports that a thread is at its place, or could not get there. Waits for the other threads,
    /// and returns whether all are at their places.
    pub fn arrive(&self, arrived: Result<(), Error>) -> bool {
        match arrived {
            Ok(()) => self.lock().0 -= 1,
            Err(error) => self.fail(error),
        }
        self.changed.notify_all();
        let waits =
            |(missing, failed): &mut (usize, Option<Error>)| *missing > 0 && failed.is_none();
        let state = self.changed.wait_while(self.lock(), waits);
        state.unwrap_or_else(PoisonError::into_inner).1.is_none()
    }

    /// Reports that one of the threads will not come.
    pub fn fail(&self, error: Error) {
        self.lock().1 = Some(error);
        self.changed.notify_all();
    }

    /// The error that kept the threads from starting, if there was one.
    pub fn outcome(self) -> Result<(), Error> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.1.map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, (usize, Option<Error>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::thread;

    use super::*;

    #[test]
    fn threads_start_once_all_have_arrived() {
        let start = Start::new(3);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| start.arrive(Ok(())))).collect();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        });
        assert!(start.outcome().is_ok());
    }

    #[test]
    fn no_thread_starts_if_one_fails() {
        let start = Start::new(3);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| start.arrive(Ok(())))).collect();
            start.fail(Error::Thread { source: io::ErrorKind::WouldBlock.into() });
            assert!(threads.into_iter().all(|thread| !thread.join().unwrap()));
        });
        assert!(matches!(start.outcome(), Err(Error::Thread { .. })));
    }
}

//! The libraries that run the transactions: ours, a global lock, and the crate `stm`.

use std::convert::Infallible;

use parking_lot::Mutex;
use syncline::stm::{TCell, Tx};

use super::access::{Access, Machine, Op};

/// Our library's transactions.
pub struct Ours(Vec<TCell<u64>>);

struct OurWords<'a, 'tx, 'env> {
    tx: &'a mut Tx<'tx, 'env>,
    cells: &'tx [TCell<u64>],
}

impl Access for OurWords<'_, '_, '_> {
    type Stop = syncline::stm::Stop;

    #[inline(always)]
    fn get(&mut self, word: usize) -> Result<u64, Self::Stop> {
        self.cells[word].get(self.tx)
    }
    #[inline(always)]
    fn set(&mut self, word: usize, value: u64) -> Result<(), Self::Stop> {
        self.cells[word].set(self.tx, value);
        Ok(())
    }
}

impl Machine for Ours {
    fn new(words: usize) -> Self {
        Self((0..words).map(|_| TCell::new(0)).collect())
    }

    #[inline]
    fn atomically<O: Op>(&self, op: &O) -> O::Out {
        let cells = &*self.0;
        syncline::stm::atomically(|tx| op.run(&mut OurWords { tx, cells }))
    }
}

/// Plain words, with one lock for all transactions.
pub struct GlobalLock(Mutex<Vec<u64>>);

struct PlainWords<'a>(&'a mut [u64]);

impl Access for PlainWords<'_> {
    type Stop = Infallible;

    #[inline(always)]
    fn get(&mut self, word: usize) -> Result<u64, Infallible> {
        Ok(self.0[word])
    }
    #[inline(always)]
    fn set(&mut self, word: usize, value: u64) -> Result<(), Infallible> {
        self.0[word] = value;
        Ok(())
    }
}

impl Machine for GlobalLock {
    fn new(words: usize) -> Self {
        Self(Mutex::new(vec![0; words]))
    }

    #[inline]
    fn atomically<O: Op>(&self, op: &O) -> O::Out {
        let mut words = self.0.lock();
        let Ok(result) = op.run(&mut PlainWords(&mut words));
        result
    }
}

/// The transactions of the crate `stm`.
///
/// They are not opaque: an attempt that is going to fail may have seen parts of other transactions,
/// and so loop for ever. So an attempt with more reads than any search needs is abandoned.
pub struct StmCrate(Vec<stm::TVar<u64>>);

struct StmWords<'a> {
    tx: &'a mut stm::Transaction,
    variables: &'a [stm::TVar<u64>],
    /// The number of reads that the attempt may still make.
    left: usize,
}

/// The most reads of one word by an attempt that does not loop.
const READS: usize = 2;

impl Access for StmWords<'_> {
    type Stop = stm::StmError;

    #[inline(always)]
    fn get(&mut self, word: usize) -> Result<u64, Self::Stop> {
        self.left = self.left.checked_sub(1).ok_or(stm::StmError::Failure)?;
        self.variables[word].read(self.tx)
    }
    #[inline(always)]
    fn set(&mut self, word: usize, value: u64) -> Result<(), Self::Stop> {
        self.variables[word].write(self.tx, value)
    }
}

impl Machine for StmCrate {
    fn new(words: usize) -> Self {
        Self((0..words).map(|_| stm::TVar::new(0)).collect())
    }

    #[inline]
    fn atomically<O: Op>(&self, op: &O) -> O::Out {
        let variables = &*self.0;
        let left = READS * variables.len();
        stm::atomically(|tx| op.run(&mut StmWords { tx, variables, left }))
    }
}

//! Transactions for C: a function that gets its argument and a handle, and returns 0 to commit.
//!
//! C can't be prevented from using a handle or a cell too long; the interface's contract forbids
//! it. The library detects nested transactions, cells that were never initialized, and waiting
//! without having read anything.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

use syncline::stm::{GLOBAL, Stop, TCell, Tx, atomically};

use crate::boundary::{Refusal, at, boundary};

type Word = TCell<u64>;
type Function = unsafe extern "C" fn(*mut Handle, *mut c_void) -> c_int;

/// A transaction in progress, or `syncline_tx_t`.
pub(crate) struct Handle {
    /// Lives as long as the handle, as do the cells that the transaction uses.
    tx: *mut Tx<'static, 'static>,
    /// Why the attempt has ended, if it has.
    stop: Option<Stop>,
    has_read: bool,
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a transaction; returns what its function returned in the last attempt, or an error number.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_atomically(
    function: Option<Function>,
    argument: *mut c_void,
) -> c_int {
    let mut ended = 0;
    let outcome = boundary(|| {
        let function = function.ok_or(Refusal::Invalid)?;
        if INSIDE.replace(true) {
            return Err(Refusal::Deadlock);
        }
        ended = atomically(|tx| {
            // SAFETY: the handle is not used after the function returns.
            let tx = unsafe { transmute::<*mut Tx, *mut Tx<'static, 'static>>(&raw mut *tx) };
            let mut handle = Handle { tx, stop: None, has_read: false };
            // SAFETY: C's caller gives a function that takes this argument.
            let returned = unsafe { function(&raw mut handle, argument) };
            match handle.stop {
                Some(stop) if returned == libc::EAGAIN => return Err(stop),
                // SAFETY: the transaction is still in progress.
                _ if returned != 0 => unsafe { (*tx).undo() },
                _ => {}
            }
            Ok(returned)
        });
        INSIDE.set(false);
        Ok(())
    });
    if outcome == 0 { ended } else { outcome }
}

/// Calls an operation of a transaction. Returns `EAGAIN` if the operation has ended the attempt.
unsafe fn with(
    handle: *mut Handle,
    call: impl FnOnce(&mut Handle) -> Result<Result<(), Stop>, Refusal>,
) -> c_int {
    let mut over = false;
    let outcome = boundary(|| {
        // SAFETY: C's caller passes the handle that its function was given.
        let handle = unsafe { handle.as_mut() }.ok_or(Refusal::Invalid)?;
        if let Err(stop) = call(handle)? {
            handle.stop = Some(stop);
            over = true;
        }
        Ok(())
    });
    if over { libc::EAGAIN } else { outcome }
}

/// The cell at an address, if it is one.
unsafe fn cell(pointer: *const Word) -> Result<&'static Word, Refusal> {
    // SAFETY: a cell may be zero; by the contract it lives until the transaction ends.
    let cell: &'static Word = unsafe { at(pointer) }?;
    if cell.belongs_to(&GLOBAL) { Ok(cell) } else { Err(Refusal::Invalid) }
}

/// Reads a cell.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_tx_get(
    handle: *mut Handle,
    word: *const Word,
    value: *mut u64,
) -> c_int {
    // SAFETY: the pointers are C's caller's; the transaction is in progress.
    unsafe {
        with(handle, |handle| {
            let word = cell(word)?;
            if value.is_null() || !value.is_aligned() {
                return Err(Refusal::Invalid);
            }
            handle.has_read = true;
            Ok(word.get(&mut *handle.tx).map(|read| value.write(read)))
        })
    }
}

/// Writes a cell.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_tx_set(handle: *mut Handle, word: *const Word, value: u64) -> c_int {
    // SAFETY: as above.
    unsafe {
        with(handle, |handle| {
            cell(word)?.set(&mut *handle.tx, value);
            Ok(Ok(()))
        })
    }
}

/// Ends the attempt. `syncline_atomically` repeats the attempt when a cell that it has read has
/// changed.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_tx_retry(handle: *mut Handle) -> c_int {
    // SAFETY: as above.
    unsafe {
        with(handle, |handle| {
            if !handle.has_read {
                return Err(Refusal::Invalid);
            }
            Ok((*handle.tx).retry())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout is the one that `syncline/transactions.h` declares.
    #[test]
    fn a_cell_is_two_words() {
        assert_eq!((size_of::<Word>(), align_of::<Word>()), (16, 8));
    }
}

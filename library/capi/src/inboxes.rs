//! Inboxes for C, which receive from several senders. As in [`channels`](crate::channels), there is
//! one for each of a few sizes of messages and each policy, and the type of messages is erased.

use std::ffi::{c_int, c_void};
use std::slice;

use libc::timespec;
use syncline::channel::{Inbox, RecvError};
use syncline::wait::Wait;

use crate::boundary::{Outcome, Refusal, at, boundary};
use crate::channels::{End, MOST, Message, PARK, Queue, Receive, SenderOfC, by_policy, of_size};
use crate::deadline;

/// An inbox whose type of messages is erased.
trait Receiving {
    fn connect(&mut self, bytes: usize) -> Result<(usize, *mut SenderOfC), Refusal>;

    /// Writes the next message to this address, and returns its sender's slot.
    ///
    /// # Safety
    ///
    /// There is room for as many bytes as the messages have.
    unsafe fn receive(
        &mut self,
        message: *mut u8,
        bytes: usize,
        how: Receive,
    ) -> Result<usize, Refusal>;

    /// Like [`receive`](Self::receive), from these slots only; waits for a message from one of
    /// them.
    ///
    /// # Safety
    ///
    /// Same requirements as [`receive`](Self::receive).
    unsafe fn receive_from(
        &mut self,
        slots: &[usize],
        message: *mut u8,
        bytes: usize,
    ) -> Result<usize, Refusal>;
}

impl<const WORDS: usize, W: Wait> Receiving for Inbox<Message<WORDS>, Queue<WORDS, W>> {
    fn connect(&mut self, bytes: usize) -> Result<(usize, *mut SenderOfC), Refusal> {
        let (slot, sender) = Inbox::connect(self).map_err(|_| Refusal::NotNow)?;
        Ok((slot, End::new(Box::new(sender) as _, bytes)))
    }

    unsafe fn receive(
        &mut self,
        message: *mut u8,
        bytes: usize,
        how: Receive,
    ) -> Result<usize, Refusal> {
        let (slot, received) = how.by(self, Self::try_recv, Self::recv, Self::recv_until)?;
        // SAFETY: our caller's promise; as many bytes were sent.
        unsafe { received.read(message, bytes) };
        Ok(slot)
    }

    unsafe fn receive_from(
        &mut self,
        slots: &[usize],
        message: *mut u8,
        bytes: usize,
    ) -> Result<usize, Refusal> {
        if slots.iter().any(|&slot| slot >= self.slots()) {
            return Err(Refusal::Invalid);
        }
        let (slot, received) = self.recv_from(slots).map_err(|RecvError| Refusal::Disconnected)?;
        // SAFETY: our caller's promise; as many bytes were sent.
        unsafe { received.read(message, bytes) };
        Ok(slot)
    }
}

/// `syncline_inbox_t`.
type InboxOfC = End<dyn Receiving>;

fn of_words<const WORDS: usize, W: Wait>(
    bytes: usize,
    slots: usize,
    capacity: usize,
) -> *mut InboxOfC {
    End::new(Box::new(Inbox::<_, Queue<WORDS, W>>::over(slots, capacity)) as _, bytes)
}

fn create<W: Wait>(bytes: usize, slots: usize, capacity: usize) -> Result<*mut InboxOfC, Refusal> {
    if !(1..=MOST).contains(&capacity) || !(1..=MOST).contains(&slots) {
        return Err(Refusal::Invalid);
    }
    Ok(of_size!(bytes, of_words, W)(bytes, slots, capacity))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_inbox_create(
    size: usize,
    senders: usize,
    capacity: usize,
    inbox: *mut *mut InboxOfC,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { syncline_inbox_create_waiting(size, senders, capacity, PARK, inbox) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_inbox_create_waiting(
    size: usize,
    senders: usize,
    capacity: usize,
    waiting: c_int,
    inbox: *mut *mut InboxOfC,
) -> c_int {
    boundary(|| {
        if inbox.is_null() {
            return Err(Refusal::Invalid);
        }
        let made = by_policy!(waiting, create(size, senders, capacity))?;
        // SAFETY: C's caller gives room for it.
        unsafe { inbox.write(made) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_inbox_connect(
    inbox: *const InboxOfC,
    sender: *mut *mut SenderOfC,
    slot: *mut usize,
) -> c_int {
    boundary(|| {
        if sender.is_null() {
            return Err(Refusal::Invalid);
        }
        // SAFETY: C's caller gives an inbox.
        unsafe { at(inbox) }?.with(|end, bytes| {
            let (place, made) = end.connect(bytes)?;
            // SAFETY: C's caller gives room for them, or a null pointer for the slot.
            unsafe {
                sender.write(made);
                write(slot, place);
            }
            Ok(())
        })
    })
}

/// Writes a slot's number if the address is not null.
///
/// # Safety
///
/// The address is null, or there is room for it.
unsafe fn write(slot: *mut usize, number: usize) {
    if !slot.is_null() {
        // SAFETY: our caller's promise.
        unsafe { slot.write(number) };
    }
}

/// Receives, waiting as `how` says.
///
/// # Safety
///
/// The requirements in `channels.h` hold.
unsafe fn receive(
    inbox: *const InboxOfC,
    message: *mut c_void,
    slot: *mut usize,
    how: impl FnOnce() -> Result<Receive, Refusal>,
) -> c_int {
    let act = |end: &mut (dyn Receiving + 'static), bytes: usize, how: Receive| -> Outcome {
        // SAFETY: C's caller gives room for a message of the inbox's size, and for the slot.
        unsafe { write(slot, end.receive(message.cast(), bytes, how)?) };
        Ok(())
    };
    boundary(|| {
        if message.is_null() {
            return Err(Refusal::Invalid);
        }
        let how = how()?;
        // SAFETY: C's caller gives an inbox.
        unsafe { at(inbox) }?.with(|end, bytes| act(end, bytes, how))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_inbox_recv(
    inbox: *const InboxOfC,
    message: *mut c_void,
    slot: *mut usize,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { receive(inbox, message, slot, || Ok(Receive::Waiting)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_inbox_tryrecv(
    inbox: *const InboxOfC,
    message: *mut c_void,
    slot: *mut usize,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { receive(inbox, message, slot, || Ok(Receive::Now)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_inbox_timedrecv(
    inbox: *const InboxOfC,
    message: *mut c_void,
    slot: *mut usize,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the contract is the same; C's caller gives a time.
    unsafe { receive(inbox, message, slot, || deadline::read(deadline).map(Receive::Until)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_inbox_recvfrom(
    inbox: *const InboxOfC,
    slots: *const usize,
    count: usize,
    message: *mut c_void,
    slot: *mut usize,
) -> c_int {
    boundary(|| {
        if slots.is_null() || !slots.is_aligned() || count == 0 || message.is_null() {
            return Err(Refusal::Invalid);
        }
        // SAFETY: C's caller gives this many numbers.
        let slots = unsafe { slice::from_raw_parts(slots, count) };
        // SAFETY: C's caller gives an inbox.
        unsafe { at(inbox) }?.with(|end, bytes| {
            // SAFETY: C's caller gives room for a message of the inbox's size, and for the slot.
            unsafe { write(slot, end.receive_from(slots, message.cast(), bytes)?) };
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_inbox_destroy(inbox: *mut InboxOfC) -> c_int {
    // SAFETY: C's caller gives an inbox, and does not use it afterwards.
    boundary(|| unsafe { End::destroy(inbox) })
}

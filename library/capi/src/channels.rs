//! Channels for C: the size of messages is given when a channel is made.
//!
//! The library's channels know the size of their messages at compile time. So there is one channel
//! for each of a few sizes, and a message travels in the smallest that holds it. No message is
//! larger than 1016 bytes; to send more, C sends a pointer.
//!
//! How ends wait is a type parameter as well, so there is a channel of each size for every policy.
//!
//! An end belongs to one thread at a time. If two threads use one end at the same time, the second
//! gets an error, since each end notes that it is in use.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use libc::timespec;
use syncline::channel::{
    self, Receiver, RecvError, RecvTimeoutError, Ring, SendError, Sender, TryRecvError,
    TrySendError,
};
use syncline::wait::Wait;

use crate::boundary::{Outcome, Refusal, at, boundary};
use crate::deadline;

/// A message of up to `WORDS` words. Only as many bytes are written and read as the channel's
/// messages have.
pub(crate) struct Message<const WORDS: usize>(MaybeUninit<[u64; WORDS]>);

/// The greatest capacity of a channel: the library panics above it.
pub(crate) const MOST: usize = 1 << 28;

/// A sending end whose type of messages is erased.
pub(crate) trait SendingEnd {
    /// Sends the message at this address.
    ///
    /// # Safety
    ///
    /// There are as many bytes at the address as the channel's messages have.
    unsafe fn send(&mut self, message: *const u8, bytes: usize, wait: bool) -> Outcome;

    /// Sends `count` messages, which are contiguous; returns how many were sent before the receiver
    /// was gone.
    ///
    /// # Safety
    ///
    /// Same requirements as [`send`](Self::send), for each of them.
    unsafe fn send_all(&mut self, messages: *const u8, bytes: usize, count: usize) -> usize;
}

trait ReceivingEnd {
    /// Writes the next message to this address.
    ///
    /// # Safety
    ///
    /// Same requirements as [`SendingEnd::send`].
    unsafe fn receive(&mut self, message: *mut u8, bytes: usize, how: Receive) -> Outcome;
}

/// A channel of such messages whose ends wait under this policy.
pub(crate) type Queue<const WORDS: usize, W> = Ring<Message<WORDS>, W>;

/// Whether and how long a receiver waits.
#[derive(Clone, Copy)]
pub(crate) enum Receive {
    /// Not at all.
    Now,
    /// Without a limit.
    Waiting,
    /// Until a moment on the native memory's clock.
    Until(Duration),
}

impl Receive {
    /// Receives in this way, by one of three functions.
    pub(crate) fn by<R, T>(
        self,
        from: &mut R,
        now: impl FnOnce(&mut R) -> Result<T, TryRecvError>,
        waiting: impl FnOnce(&mut R) -> Result<T, RecvError>,
        until: impl FnOnce(&mut R, Duration) -> Result<T, RecvTimeoutError>,
    ) -> Result<T, Refusal> {
        match self {
            Self::Now => now(from).map_err(|error| match error {
                TryRecvError::Empty => Refusal::NotNow,
                TryRecvError::Disconnected => Refusal::Disconnected,
            }),
            Self::Waiting => waiting(from).map_err(|RecvError| Refusal::Disconnected),
            Self::Until(deadline) => until(from, deadline).map_err(|error| match error {
                RecvTimeoutError::Timeout => Refusal::TimedOut,
                RecvTimeoutError::Disconnected => Refusal::Disconnected,
            }),
        }
    }
}

impl<const WORDS: usize, W: Wait> SendingEnd for Sender<Message<WORDS>, Queue<WORDS, W>> {
    unsafe fn send(&mut self, message: *const u8, bytes: usize, wait: bool) -> Outcome {
        // SAFETY: our caller's promise.
        let copy = unsafe { Message::copy(message, bytes) };
        if wait {
            return Sender::send(self, copy).map_err(|_| Refusal::Disconnected);
        }
        self.try_send(copy).map_err(|error| match error {
            TrySendError::Full(_) => Refusal::NotNow,
            TrySendError::Disconnected(_) => Refusal::Disconnected,
        })
    }

    unsafe fn send_all(&mut self, messages: *const u8, bytes: usize, count: usize) -> usize {
        let mut taken = 0;
        let copies = (0..count).map(|number| {
            taken = number + 1;
            // SAFETY: our caller's promise.
            unsafe { Message::copy(messages.add(number * bytes), bytes) }
        });
        match Sender::send_all(self, copies) {
            Ok(()) => count,
            // The message that was taken last came back with the error; those before it were sent.
            Err(SendError(_)) => taken - 1,
        }
    }
}

impl<const WORDS: usize, W: Wait> ReceivingEnd for Receiver<Message<WORDS>, Queue<WORDS, W>> {
    unsafe fn receive(&mut self, message: *mut u8, bytes: usize, how: Receive) -> Outcome {
        let received = how.by(self, Self::try_recv, Self::recv, Self::recv_until)?;
        // SAFETY: our caller's promise; that many bytes were sent.
        unsafe { received.read(message, bytes) };
        Ok(())
    }
}

impl<const WORDS: usize> Message<WORDS> {
    /// Copies the message at this address.
    ///
    /// # Safety
    ///
    /// There are `bytes` bytes at the address, and the message type has room for them.
    unsafe fn copy(message: *const u8, bytes: usize) -> Self {
        let mut copy = Self(MaybeUninit::uninit());
        // SAFETY: our caller's promise.
        unsafe { copy.0.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(message, bytes) };
        copy
    }

    /// Writes the message to this address.
    ///
    /// # Safety
    ///
    /// There is room for `bytes` bytes at the address, and as many were sent.
    pub(crate) unsafe fn read(&self, message: *mut u8, bytes: usize) {
        // SAFETY: our caller's promise.
        unsafe { message.copy_from_nonoverlapping(self.0.as_ptr().cast(), bytes) };
    }
}

/// An end for C: `syncline_sender_t` or `syncline_receiver_t`.
pub(crate) struct End<E: ?Sized> {
    in_use: AtomicBool,
    /// Size of a message in bytes.
    bytes: usize,
    end: UnsafeCell<Box<E>>,
}

pub(crate) type SenderOfC = End<dyn SendingEnd>;
type ReceiverOfC = End<dyn ReceivingEnd>;

impl<E: ?Sized> End<E> {
    pub(crate) fn new(end: Box<E>, bytes: usize) -> *mut Self {
        Box::into_raw(Box::new(Self { in_use: AtomicBool::new(false), bytes, end: end.into() }))
    }

    /// Uses the end, unless another thread does.
    pub(crate) fn with(&self, act: impl FnOnce(&mut E, usize) -> Outcome) -> Outcome {
        // Acquire: pairs with the Release below.
        if self.in_use.swap(true, Acquire) {
            return Err(Refusal::Busy);
        }
        // SAFETY: no other thread uses it.
        let outcome = act(unsafe { &mut **self.end.get() }, self.bytes);
        // Release: pairs with the Acquire above, as another thread may use the end next.
        self.in_use.store(false, Release);
        outcome
    }

    /// Drops an end, unless another thread uses it.
    ///
    /// # Safety
    ///
    /// It comes from `new`, and was not destroyed yet.
    pub(crate) unsafe fn destroy(end: *mut Self) -> Outcome {
        // SAFETY: our caller's promise.
        let used = unsafe { at(end) }?.in_use.swap(true, Acquire);
        if used {
            return Err(Refusal::Busy);
        }
        // SAFETY: no thread uses it.
        drop(unsafe { Box::from_raw(end) });
        Ok(())
    }
}

type Ends = (*mut SenderOfC, *mut ReceiverOfC);

/// Makes a channel whose messages have up to `WORDS` words.
fn of_words<const WORDS: usize, W: Wait>(bytes: usize, capacity: usize) -> Ends {
    let (sender, receiver) = channel::over::<Queue<WORDS, W>>(capacity);
    (End::new(Box::new(sender) as _, bytes), End::new(Box::new(receiver) as _, bytes))
}

/// Chooses the function for messages of this many bytes from one that is generic over their words;
/// refuses other sizes.
macro_rules! of_size {
    ($bytes:expr, $of_words:ident, $Wait:ty) => {
        // Messages of up to 24 bytes share lines; the larger sizes fill lines.
        match $bytes.div_ceil(size_of::<u64>()) {
            1 => $of_words::<1, $Wait>,
            2 => $of_words::<2, $Wait>,
            3 => $of_words::<3, $Wait>,
            4..=7 => $of_words::<7, $Wait>,
            8..=15 => $of_words::<15, $Wait>,
            16..=31 => $of_words::<31, $Wait>,
            32..=63 => $of_words::<63, $Wait>,
            64..=127 => $of_words::<127, $Wait>,
            _ => return Err(Refusal::Invalid),
        }
    };
}
pub(crate) use of_size;

/// Calls a function that is generic over how ends wait, given C's number of the policy.
macro_rules! by_policy {
    ($waiting:expr, $create:ident($($argument:expr),*)) => {
        match $waiting {
            $crate::channels::PARK => $create::<syncline::wait::Park>($($argument),*),
            $crate::channels::YIELD => $create::<syncline::wait::Yield>($($argument),*),
            $crate::channels::SPIN => $create::<syncline::wait::Spin>($($argument),*),
            _ => Err(Refusal::Invalid),
        }
    };
}
pub(crate) use by_policy;

/// The numbers of `enum syncline_waiting`.
pub(crate) const PARK: c_int = 0;
pub(crate) const YIELD: c_int = 1;
pub(crate) const SPIN: c_int = 2;

fn create<W: Wait>(bytes: usize, capacity: usize) -> Result<Ends, Refusal> {
    if capacity == 0 || capacity > MOST {
        return Err(Refusal::Invalid);
    }
    Ok(of_size!(bytes, of_words, W)(bytes, capacity))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_channel_create(
    size: usize,
    capacity: usize,
    sender: *mut *mut SenderOfC,
    receiver: *mut *mut ReceiverOfC,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { syncline_channel_create_waiting(size, capacity, PARK, sender, receiver) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_channel_create_waiting(
    size: usize,
    capacity: usize,
    waiting: c_int,
    sender: *mut *mut SenderOfC,
    receiver: *mut *mut ReceiverOfC,
) -> c_int {
    boundary(|| {
        if sender.is_null() || receiver.is_null() {
            return Err(Refusal::Invalid);
        }
        let ends = by_policy!(waiting, create(size, capacity))?;
        // SAFETY: C's caller gives room for both.
        unsafe {
            sender.write(ends.0);
            receiver.write(ends.1);
        }
        Ok(())
    })
}

/// Sends, waiting for room if `wait`.
///
/// # Safety
///
/// The requirements in `channels.h` hold.
unsafe fn send(sender: *const SenderOfC, message: *const c_void, wait: bool) -> c_int {
    boundary(|| {
        if message.is_null() {
            return Err(Refusal::Invalid);
        }
        // SAFETY: C's caller gives a sender, and a message of its channel's size.
        unsafe { at(sender)?.with(|end, bytes| end.send(message.cast(), bytes, wait)) }
    })
}

/// Receives, waiting as `how` says.
///
/// # Safety
///
/// The requirements in `channels.h` hold.
unsafe fn receive(
    receiver: *const ReceiverOfC,
    message: *mut c_void,
    how: impl FnOnce() -> Result<Receive, Refusal>,
) -> c_int {
    boundary(|| {
        if message.is_null() {
            return Err(Refusal::Invalid);
        }
        let how = how()?;
        // SAFETY: C's caller gives a receiver, and room for a message of its channel's size.
        unsafe { at(receiver)?.with(|end, bytes| end.receive(message.cast(), bytes, how)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_sender_send(
    sender: *const SenderOfC,
    message: *const c_void,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { send(sender, message, true) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_sender_trysend(
    sender: *const SenderOfC,
    message: *const c_void,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { send(sender, message, false) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_sender_sendall(
    sender: *const SenderOfC,
    messages: *const c_void,
    count: usize,
    sent: *mut usize,
) -> c_int {
    boundary(|| {
        if messages.is_null() {
            return Err(Refusal::Invalid);
        }
        // SAFETY: C's caller gives a sender.
        unsafe { at(sender) }?.with(|end, bytes| {
            // SAFETY: C's caller gives as many messages of the channel's size, and room for their
            // number or a null pointer.
            unsafe {
                let number = end.send_all(messages.cast(), bytes, count);
                if !sent.is_null() {
                    sent.write(number);
                }
                if number < count { Err(Refusal::Disconnected) } else { Ok(()) }
            }
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_sender_destroy(sender: *mut SenderOfC) -> c_int {
    // SAFETY: C's caller gives a sender, and does not use it afterwards.
    boundary(|| unsafe { End::destroy(sender) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_receiver_recv(
    receiver: *const ReceiverOfC,
    message: *mut c_void,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { receive(receiver, message, || Ok(Receive::Waiting)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_receiver_tryrecv(
    receiver: *const ReceiverOfC,
    message: *mut c_void,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { receive(receiver, message, || Ok(Receive::Now)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_receiver_timedrecv(
    receiver: *const ReceiverOfC,
    message: *mut c_void,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the contract is the same; C's caller gives a time.
    unsafe { receive(receiver, message, || deadline::read(deadline).map(Receive::Until)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_receiver_recvsome(
    receiver: *const ReceiverOfC,
    messages: *mut c_void,
    most: usize,
    received: *mut usize,
) -> c_int {
    boundary(|| {
        if messages.is_null() || received.is_null() || most == 0 {
            return Err(Refusal::Invalid);
        }
        // SAFETY: C's caller gives a receiver, room for as many messages of the channel's size, and
        // room for their number.
        unsafe {
            at(receiver)?.with(|end, bytes| {
                let place = |number: usize| messages.cast::<u8>().add(number * bytes);
                end.receive(place(0), bytes, Receive::Waiting)?;
                let mut number = 1;
                while number < most && end.receive(place(number), bytes, Receive::Now).is_ok() {
                    number += 1;
                }
                received.write(number);
                Ok(())
            })
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_receiver_destroy(receiver: *mut ReceiverOfC) -> c_int {
    // SAFETY: C's caller gives a receiver, and does not use it afterwards.
    boundary(|| unsafe { End::destroy(receiver) })
}

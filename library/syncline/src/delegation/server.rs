//! A server: a thread that owns a value and runs the sections that others send it.
//!
//! The value never leaves the server's cache, and there is no lock: a call is a message to the
//! server and one back, four transfers of a line. Clients disturb each other only by the time that
//! their sections take. The price is a thread, which serves up to about as many calls a second as
//! it can receive messages. A queue delegation lock ([`Qd`](super::Qd)) needs no thread and serves
//! long queues as well, but its helper changes, and the value moves to each new helper.
//!
//! A section travels in the messages if it captures up to five words of variables, and if its
//! result or its panic fits into seven words. A larger section stays with its client, and costs a
//! transfer for each of its lines.
//!
//! Source: SSYNC (SOSP'13), sections 4.1 and 6.3 (the hash table over message passing); sending
//! sections instead of kinds of requests is from Roghanchi, Eriksson and Basu, "ffwd: delegation is
//! (much) faster than you think" (SOSP'17).

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr;

use super::panics::{Outcome, catch};
use crate::channel::{self, Disconnected, Inbox, NoSlot, Receiver, Sender, Single};
use crate::memory::{Memory, Native};
use crate::wait::{Park, Wait};

type Asks<T, W, M> = Single<Job<T>, W, M>;
type Answers<W, M> = Single<Answer, W, M>;

/// A value, and the thread that will serve it.
///
/// The value never leaves the server's cache: a call is a message to the server and one back. A
/// server that is dropped without having run drops the value, and its clients' calls fail.
///
/// ```
/// use std::collections::HashMap;
/// use syncline::delegation::Server;
///
/// let mut server = Server::new(HashMap::new(), 2);
/// let mut client = server.connect().unwrap();
/// std::thread::scope(|scope| {
///     let serving = scope.spawn(|| server.run());
///     client.with(|table| table.insert(1, "one")).unwrap();
///     assert_eq!(client.with(|table| table.get(&1).copied()), Ok(Some("one")));
///     drop(client);
///     assert_eq!(serving.join().unwrap().len(), 1);
/// });
/// ```
pub struct Server<T, W: Wait = Park, M: Memory = Native> {
    // The order of the fields matters: a client that finds `answers` disconnected relies on `asks`
    // having been dropped before.
    asks: Inbox<Job<T>, Asks<T, W, M>>,
    answers: Vec<Option<Sender<Answer, Answers<W, M>>>>,
    value: T,
}

/// Sends sections to a [`Server`]. Dropping it disconnects.
pub struct Client<T, W: Wait = Park, M: Memory = Native> {
    /// `None` after the server was found to be gone.
    ask: Option<Sender<Job<T>, Asks<T, W, M>>>,
    answer: Receiver<Answer, Answers<W, M>>,
}

impl<T> Server<T> {
    /// A server of this value, with slots for `slots` clients.
    ///
    /// # Panics
    ///
    /// If there are no slots.
    pub fn new(value: T, slots: usize) -> Self {
        Self::over(value, slots)
    }
}

impl<T, W: Wait, M: Memory> Server<T, W, M> {
    /// Like [`new`](Server::new), with any waiting policy and memory.
    ///
    /// # Panics
    ///
    /// Same panics as [`new`](Server::new).
    pub fn over(value: T, slots: usize) -> Self {
        let asks = Inbox::over(slots, 1);
        Self { asks, answers: (0..slots).map(|_| None).collect(), value }
    }

    /// A new client.
    ///
    /// # Errors
    ///
    /// If all slots are taken. The slot of a client that was dropped is free again.
    pub fn connect(&mut self) -> Result<Client<T, W, M>, NoSlot> {
        let (slot, ask) = self.asks.connect()?;
        let (answers, answer) = channel::over(1);
        self.answers[slot] = Some(answers);
        Ok(Client { ask: Some(ask), answer })
    }

    /// Serves until all clients are gone, and returns the value.
    pub fn run(mut self) -> T {
        while let Ok((slot, job)) = self.asks.recv() {
            let answer = job.run(&mut self.value);
            if let Some(answers) = &mut self.answers[slot] {
                // The client waits, so the receiver exists.
                let _ = answers.send(answer);
            }
        }
        self.value
    }
}

impl<T, W: Wait, M: Memory> Client<T, W, M> {
    /// Lets the server run a section, waits for it, and returns its result. The section may borrow
    /// from the caller. The section sees what happened before the call, and what earlier sections
    /// did.
    ///
    /// A section must not call its own server: it would wait for itself.
    ///
    /// # Errors
    ///
    /// If the server is gone; the section has not run then.
    ///
    /// # Panics
    ///
    /// If the section panics; the server continues.
    #[inline]
    pub fn with<R: Send>(
        &mut self,
        section: impl FnOnce(&mut T) -> R + Send,
    ) -> Result<R, Disconnected> {
        let outcome = self.ask_for(section)?;
        Ok(outcome.unwrap_or_else(|panic| panic.resume()))
    }

    #[inline]
    fn ask_for<F, R>(&mut self, section: F) -> Result<Outcome<R>, Disconnected>
    where
        F: FnOnce(&mut T) -> R + Send,
        R: Send,
    {
        if fits::<F, Section>() && fits::<Outcome<R>, Answer>() {
            let answer = self.call(Job::new(section, Kind::<T, F, R>::BY_VALUE))?;
            // SAFETY: the answer is that of this kind of job.
            return Ok(unsafe { take(&answer.0) });
        }
        let mut frame = Frame { section: Some(section), outcome: None };
        self.call(Job::new(ptr::from_mut(&mut frame), Kind::<T, F, R>::BY_REFERENCE))?;
        Ok(frame.outcome.expect("it was answered after it had run"))
    }

    #[inline]
    fn call(&mut self, job: Job<T>) -> Result<Answer, Disconnected> {
        let ask = self.ask.as_mut().ok_or(Disconnected)?;
        if ask.send(job).is_ok()
            && let Ok(answer) = self.answer.recv()
        {
            return Ok(answer);
        }
        // The job may still be in the channel, and may borrow from our caller. The server has
        // dropped its end of this channel before that of the answers, so dropping our end drops the
        // job.
        self.ask = None;
        Err(Disconnected)
    }
}

/// Room for a section, next to the functions for it.
type Section = [MaybeUninit<u64>; 5];

/// Room for an outcome.
struct Answer([MaybeUninit<u64>; 7]);

// SAFETY: it holds an outcome whose result may be sent, or nothing.
unsafe impl Send for Answer {}

/// A section on its way, or its address.
struct Job<T> {
    functions: Functions<T>,
    section: Section,
}

// SAFETY: it holds a section that may be sent, or refers to one, whose client waits.
unsafe impl<T> Send for Job<T> {}

/// The operations on a job. They follow from the type of its section.
struct Functions<T> {
    /// Runs the section, which is then gone, and does not unwind.
    run: unsafe fn(&Section, &mut T) -> Answer,
    /// Drops the section without running it.
    discard: unsafe fn(&Section),
}

impl<T> Job<T> {
    /// A job of a section, or of a reference to one, with the functions for it.
    #[inline]
    fn new<F>(section: F, functions: Functions<T>) -> Self {
        Self { functions, section: put(section) }
    }

    #[inline]
    fn run(self, value: &mut T) -> Answer {
        let this = ManuallyDrop::new(self);
        // SAFETY: the functions are those of the section, which is used here and not dropped.
        unsafe { (this.functions.run)(&this.section, value) }
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        // SAFETY: the functions are those of the section, which was not run.
        unsafe { (self.functions.discard)(&self.section) };
    }
}

/// A section that stays with its client, and its outcome.
struct Frame<F, R> {
    section: Option<F>,
    outcome: Option<Outcome<R>>,
}

/// The functions for sections of a type.
struct Kind<T, F, R>(PhantomData<fn(&mut T, F) -> R>);

impl<T, F: FnOnce(&mut T) -> R, R> Kind<T, F, R> {
    const BY_VALUE: Functions<T> = Functions {
        run: |section, value| {
            // SAFETY: our caller has such a section, and gives it up.
            let section = unsafe { take::<F>(section) };
            Answer(put(catch(|| section(value))))
        },
        // SAFETY: as above.
        discard: |section| drop(unsafe { take::<F>(section) }),
    };

    const BY_REFERENCE: Functions<T> = Functions {
        run: |section, value| {
            // SAFETY: our caller has a reference to such a frame, whose client waits.
            let frame = unsafe { &mut *take::<*mut Frame<F, R>>(section) };
            let section = frame.section.take().expect("a section runs once");
            frame.outcome = Some(catch(|| section(value)));
            Answer([MaybeUninit::uninit(); 7])
        },
        // The section stays with its client, which drops it.
        discard: |_| (),
    };
}

/// Whether a value fits into a `Room`.
const fn fits<V, Room>() -> bool {
    size_of::<V>() <= size_of::<Room>() && align_of::<V>() <= align_of::<u64>()
}

/// Puts a value, which fits, into words.
#[inline]
fn put<V, const N: usize>(value: V) -> [MaybeUninit<u64>; N] {
    assert!(fits::<V, [u64; N]>());
    let mut words = [MaybeUninit::uninit(); N];
    // SAFETY: it fits.
    unsafe { words.as_mut_ptr().cast::<V>().write(value) };
    words
}

/// Takes a value out of words.
///
/// # Safety
///
/// A value of this type was put there, and is taken once.
#[inline]
unsafe fn take<V>(words: &[MaybeUninit<u64>]) -> V {
    // SAFETY: our caller's promise.
    unsafe { words.as_ptr().cast::<V>().read() }
}

impl<T, W: Wait, M: Memory> fmt::Debug for Server<T, W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("slots", &self.asks.slots()).finish_non_exhaustive()
    }
}

impl<T, W: Wait, M: Memory> fmt::Debug for Client<T, W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("connected", &self.ask.is_some()).finish_non_exhaustive()
    }
}

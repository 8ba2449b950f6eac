//! The cases: requirements of a channel, as small functions over any channel in any checker's
//! memory.
//!
//! The checkers report unordered accesses to a message's slot. Each message is a note: it has a
//! number, and a reference to a token. The token's reference count shows whether a note was dropped
//! twice or never.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};
use std::thread::panicking;

use syncline::channel::{
    self, Duplex, Inbox, RawChannel, Receiver, RecvTimeoutError, Select, Selectable, Sender,
    TryRecvError, TrySendError,
};
use syncline_checkers::Engine;

/// A message of `N` equal numbers, and a reference to a token.
pub struct Note<const N: usize> {
    numbers: [u64; N],
    _token: Arc<()>,
}

/// A message that shares a line with another.
pub type Small = Note<2>;
/// A message that fills a line.
pub type Large = Note<6>;

/// A message with a number.
pub trait Numbered: Send + 'static {
    fn new(number: u64, token: &Arc<()>) -> Self;
    fn number(self) -> u64;
}

impl<const N: usize> Numbered for Note<N> {
    fn new(number: u64, token: &Arc<()>) -> Self {
        Self { numbers: [number; N], _token: Arc::clone(token) }
    }

    fn number(self) -> u64 {
        assert!(self.numbers.iter().all(|&number| number == self.numbers[0]), "a torn message");
        self.numbers[0]
    }
}

/// A channel that a checker can run.
pub trait Checked: RawChannel<Item: Numbered, Memory: Engine> + Sized + 'static {}
impl<Q: RawChannel<Item: Numbered, Memory: Engine> + 'static> Checked for Q {}

pub type Tx<Q> = Kept<Sender<<Q as RawChannel>::Item, Q>>;
pub type Rx<Q> = Kept<Receiver<<Q as RawChannel>::Item, Q>>;

/// An end, or a future, that is not dropped in a case that has failed, since the checker has
/// stopped running the case.
pub struct Kept<E>(ManuallyDrop<E>);

impl<E> Kept<E> {
    pub fn new(end: E) -> Self {
        Self(ManuallyDrop::new(end))
    }
}

impl<E> Deref for Kept<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

impl<E> DerefMut for Kept<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.0
    }
}

impl<E> Drop for Kept<E> {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

/// Runs a thread for each part. At the end, no message may have a reference to the token.
pub fn play<M: Engine, P: Send + 'static>(
    parts: Vec<P>,
    token: Arc<()>,
    act: impl Fn(usize, P, &Arc<()>) + Send + Sync + 'static,
) {
    let count = parts.len();
    let parts: Vec<_> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let shared = Arc::new((parts, token));
    let played = Arc::clone(&shared);
    M::run(count, move |thread| {
        let part = played.0[thread].lock().expect("nobody panicked").take().expect("it is there");
        act(thread, part, &played.1);
    });
    // `run` may return before the closure that it got is dropped, so only the token's count
    // matters.
    assert_eq!(Arc::strong_count(&shared.1), 1, "messages were dropped twice or never");
}

enum End<Q: RawChannel> {
    Sends(Tx<Q>),
    Receives(Rx<Q>),
}

/// Makes a channel, and runs a thread with its sender and a thread with its receiver.
pub fn pair<Q: Checked>(
    capacity: usize,
    send: impl Fn(Tx<Q>, &Arc<()>) + Send + Sync + 'static,
    receive: impl Fn(Rx<Q>) + Send + Sync + 'static,
) {
    let (sender, receiver) = channel::over::<Q>(capacity);
    let parts = vec![End::<Q>::Sends(Kept::new(sender)), End::Receives(Kept::new(receiver))];
    play::<Q::Memory, _>(parts, Arc::default(), move |_, end, token| match end {
        End::Sends(sender) => send(sender, token),
        End::Receives(receiver) => receive(receiver),
    });
}

/// All messages arrive in order; then the receiver learns that the sender is gone.
pub fn stream<Q: Checked>(capacity: usize, messages: u64) {
    pair::<Q>(
        capacity,
        move |mut sender, token| {
            for number in 0..messages {
                assert!(sender.send(Q::Item::new(number, token)).is_ok());
            }
        },
        move |mut receiver| assert!(receiver.iter().map(Numbered::number).eq(0..messages)),
    );
}

/// Like [`stream`], in one batch.
pub fn batch<Q: Checked>(capacity: usize, messages: u64) {
    pair::<Q>(
        capacity,
        move |mut sender, token| {
            let notes = (0..messages).map(|number| Q::Item::new(number, token));
            assert!(sender.send_all(notes).is_ok());
        },
        move |mut receiver| assert!(receiver.iter().map(Numbered::number).eq(0..messages)),
    );
}

/// Like [`batch`], but the receiver already waits when the batch is sent, and the sender then waits
/// for room.
pub fn batch_to_a_waiter<Q: Checked>(capacity: usize, messages: u64) {
    pair::<Q>(
        capacity,
        move |mut sender, token| {
            Q::Memory::wait_for_waiter(1);
            let notes = (0..messages).map(|number| Q::Item::new(number, token));
            assert!(sender.send_all(notes).is_ok());
        },
        move |mut receiver| assert!(receiver.iter().map(Numbered::number).eq(0..messages)),
    );
}

/// No thread waits: each message that was sent arrives or is dropped.
pub fn tries<Q: Checked>(capacity: usize, messages: u64) {
    pair::<Q>(
        capacity,
        move |mut sender, token| {
            for number in 0..messages {
                match sender.try_send(Q::Item::new(number, token)) {
                    Ok(()) => {}
                    Err(TrySendError::Full(note) | TrySendError::Disconnected(note)) => {
                        assert_eq!(note.number(), number);
                    }
                }
            }
        },
        move |mut receiver| {
            let mut last = None;
            for _ in 0..messages {
                let number = receiver.try_recv().ok().map(Numbered::number);
                assert!(number.is_none() || number > last);
                last = number.or(last);
            }
        },
    );
}

/// A receiver that waits until a deadline, which may pass, loses no message.
pub fn in_time_or_not<Q: Checked>(messages: u64) {
    pair::<Q>(
        1,
        move |mut sender, token| {
            for number in 0..messages {
                assert!(sender.send(Q::Item::new(number, token)).is_ok());
            }
        },
        move |mut receiver| {
            let mut next = 0;
            match receiver.recv_until(Q::Memory::soon()) {
                Ok(note) => {
                    assert_eq!(note.number(), 0);
                    next = 1;
                }
                Err(error) => assert_eq!(error, RecvTimeoutError::Timeout),
            }
            assert!(receiver.iter().map(Numbered::number).eq(next..messages));
        },
    );
}

/// No message is sent before the deadline.
pub fn too_late<Q: Checked>() {
    let (sender, receiver) = channel::over::<Q>(1);
    // The first thread does nothing. Without it, the checker would try only one execution.
    let parts = vec![None, Some((Kept::new(sender), Kept::new(receiver)))];
    play::<Q::Memory, _>(parts, Arc::default(), |_, ends, token| {
        let Some((mut sender, mut receiver)) = ends else { return };
        let wait = receiver.recv_until(Q::Memory::soon());
        assert_eq!(wait.err(), Some(RecvTimeoutError::Timeout));
        assert!(sender.send(Q::Item::new(1, token)).is_ok());
        assert_eq!(receiver.recv_until(Q::Memory::soon()).map(Numbered::number), Ok(1));
        drop(sender);
        let wait = receiver.recv_until(Q::Memory::soon());
        assert_eq!(wait.err(), Some(RecvTimeoutError::Disconnected));
    });
}

/// Like [`too_late`], for an inbox.
pub fn too_late_for_an_inbox<Q: Checked>() {
    let mut inbox = Kept::new(Inbox::<Q::Item, Q>::over(1, 1));
    let sender = Kept::new(inbox.connect().expect("there is a slot").1);
    play::<Q::Memory, _>(vec![None, Some((sender, inbox))], Arc::default(), |_, ends, token| {
        let Some((mut sender, mut inbox)) = ends else { return };
        let wait = inbox.recv_until(Q::Memory::soon()).map(|_| ());
        assert_eq!(wait, Err(RecvTimeoutError::Timeout));
        assert!(sender.send(Q::Item::new(2, token)).is_ok());
        let wait = inbox.recv_until(Q::Memory::soon()).map(|(_, note)| note.number());
        assert_eq!(wait, Ok(2));
    });
}

/// The receiver disconnects after some messages; the sender gets an error, and doesn't wait
/// forever.
pub fn left_by_receiver<Q: Checked>(capacity: usize, messages: u64) {
    pair::<Q>(
        capacity,
        move |mut sender, token| {
            let most = (sender.capacity() * 2) as u64 + messages + 3;
            let sent = (0..=most).take_while(|&n| sender.send(Q::Item::new(n, token)).is_ok());
            assert!(sent.count() as u64 <= most, "nobody takes as many");
        },
        move |mut receiver| {
            for number in 0..messages {
                assert_eq!(receiver.recv().map(Numbered::number), Ok(number));
            }
        },
    );
}

/// One thread asks, and the other answers; the asking thread disconnects first.
pub fn round_trips<Q: Checked>(rounds: u64) {
    type Both<Q> = Duplex<<Q as RawChannel>::Item, <Q as RawChannel>::Item, Q, Q>;
    let (client, server) = Both::<Q>::over(1);
    let parts = vec![Kept::new(client), Kept::new(server)];
    play::<Q::Memory, _>(parts, Arc::default(), move |thread, mut end, token| {
        if thread == 0 {
            for number in 0..rounds {
                let answer = end.round_trip(Q::Item::new(number, token));
                assert_eq!(answer.map(Numbered::number), Ok(number + 100));
            }
        } else {
            while let Ok(note) = end.receiver.recv() {
                let answer = Q::Item::new(note.number() + 100, token);
                assert!(end.sender.send(answer).is_ok());
            }
        }
    });
}

pub type Receivers<Q> = Kept<Inbox<<Q as RawChannel>::Item, Q>>;

enum Part<Q: RawChannel> {
    Sends(u64, Tx<Q>),
    Collects(Receivers<Q>),
}

/// Runs several threads with senders, and one with the inbox that receives from all of them.
fn meeting<Q: Checked>(
    senders: usize,
    messages: u64,
    collect: impl Fn(Receivers<Q>) + Send + Sync + 'static,
) {
    let mut inbox = Kept::new(Inbox::<Q::Item, Q>::over(senders, 1));
    let mut connect = || Kept::new(inbox.connect().expect("there is a slot").1);
    let mut parts: Vec<_> =
        (0..senders as u64).map(|number| Part::Sends(number, connect())).collect();
    parts.insert(0, Part::<Q>::Collects(inbox));
    play::<Q::Memory, _>(parts, Arc::default(), move |_, part, token| match part {
        Part::Sends(sender, mut channel) => {
            for number in 0..messages {
                if channel.send(Q::Item::new(sender * 100 + number, token)).is_err() {
                    return;
                }
            }
        }
        Part::Collects(inbox) => collect(inbox),
    });
}

/// All messages of all senders arrive, each sender's in order; then the inbox reports the end.
pub fn inbox<Q: Checked>(senders: usize, messages: u64) {
    meeting::<Q>(senders, messages, move |mut inbox| {
        let mut next = vec![0; senders];
        while let Ok((slot, note)) = inbox.recv() {
            assert_eq!(note.number(), slot as u64 * 100 + next[slot]);
            next[slot] += 1;
        }
        assert!(next.iter().all(|&next| next == messages), "some are missing");
    });
}

/// The receiver receives only from the last sender, and then disconnects.
pub fn chosen<Q: Checked>(senders: usize) {
    meeting::<Q>(senders, 1, move |mut inbox| {
        let (slot, note) = inbox.recv_from(&[senders - 1]).expect("it sends");
        assert_eq!((slot, note.number()), (senders - 1, (senders - 1) as u64 * 100));
        assert!(inbox.recv_from(&[senders - 1]).is_err());
    });
}

type Chosen<Q> = Select<<Q as RawChannel>::Wait, <Q as RawChannel>::Memory>;

pub type Ends<'a, 'b, Q> =
    &'a mut [&'b mut dyn Selectable<<Q as RawChannel>::Wait, <Q as RawChannel>::Memory>];

/// A type that waits for several receivers: the library's [`Select`], or a mutant.
pub trait Selects<Q: RawChannel>: Default {
    /// Waits until a receiver is ready, and returns its index.
    fn ready(&mut self, ends: Ends<'_, '_, Q>) -> usize;
}

/// Implements [`Selects`] for a type: the library's, or a mutant.
macro_rules! selects {
    ({$($generics:tt)*} $Select:ty, $Channel:ty) => {
        impl<$($generics)*> $crate::cases::Selects<$Channel> for $Select {
            fn ready(&mut self, ends: $crate::cases::Ends<'_, '_, $Channel>) -> usize {
                <$Select>::ready(self, ends)
            }
        }
    };
}
pub(crate) use selects;
selects! { {Q: RawChannel} Chosen<Q>, Q }

enum Side<Q: RawChannel> {
    /// Sends to these channels in turn.
    Sends(Vec<Tx<Q>>),
    Selects(Vec<Rx<Q>>),
}

/// Receives from any channel that is ready, until all senders are gone; each sender's messages
/// arrive in order.
fn select_all<Q: Checked, S: Selects<Q>>(mut receivers: Vec<Rx<Q>>, messages: u64) {
    let mut select = S::default();
    let mut next = vec![0; receivers.len()];
    let mut open: Vec<_> = (0..receivers.len()).collect();
    while !open.is_empty() {
        let mut ends: Vec<&mut dyn Selectable<Q::Wait, Q::Memory>> = Vec::new();
        for (place, receiver) in receivers.iter_mut().enumerate() {
            if open.contains(&place) {
                ends.push(&mut **receiver);
            }
        }
        let ready = select.ready(&mut ends);
        match receivers[open[ready]].try_recv() {
            Ok(note) => {
                let place = open[ready];
                assert_eq!(note.number(), place as u64 * 100 + next[place]);
                next[place] += 1;
            }
            Err(TryRecvError::Disconnected) => _ = open.remove(ready),
            Err(TryRecvError::Empty) => panic!("it was said to be ready"),
        }
    }
    assert!(next.iter().all(|&next| next == messages), "some are missing");
}

/// One thread receives from several channels. Each channel has a sending thread of its own, or, if
/// `by_one`, one thread sends to all.
pub fn selected<Q: Checked>(channels: u64, by_one: bool, messages: u64) {
    selected_by::<Q, Chosen<Q>>(channels, by_one, messages);
}

/// Like [`selected`], with any way to wait for several receivers.
pub fn selected_by<Q: Checked, S: Selects<Q>>(channels: u64, by_one: bool, messages: u64) {
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for _ in 0..channels {
        let (sender, receiver) = channel::over::<Q>(1);
        senders.push(Kept::new(sender));
        receivers.push(Kept::new(receiver));
    }
    let mut parts = vec![Side::<Q>::Selects(receivers)];
    if by_one {
        parts.push(Side::Sends(senders));
    } else {
        parts.extend(senders.into_iter().map(|sender| Side::Sends(vec![sender])));
    }
    play::<Q::Memory, _>(parts, Arc::default(), move |thread, part, token| match part {
        Side::Sends(mut senders) => {
            let first = if by_one { 0 } else { thread as u64 - 1 };
            for number in 0..messages {
                // In reverse order, so the channel that is polled last gets its message first.
                for (at, sender) in senders.iter_mut().enumerate().rev() {
                    let place = first + at as u64;
                    assert!(sender.send(Q::Item::new(place * 100 + number, token)).is_ok());
                }
            }
        }
        Side::Selects(receivers) => select_all::<Q, S>(receivers, messages),
    });
}

/// One thread waits for two channels. A message is sent to each channel, before or after the
/// deadline. None is lost.
pub fn selected_in_time_or_not<Q: Checked>() {
    let (mine, receiver) = channel::over::<Q>(1);
    let (theirs, other) = channel::over::<Q>(1);
    let receivers = vec![Kept::new(receiver), Kept::new(other)];
    let parts =
        vec![Side::<Q>::Selects(receivers), Side::Sends(vec![Kept::new(mine), Kept::new(theirs)])];
    play::<Q::Memory, _>(parts, Arc::default(), move |_, part, token| match part {
        Side::Sends(mut senders) => {
            assert!(senders[1].send(Q::Item::new(100, token)).is_ok());
            assert!(senders[0].send(Q::Item::new(0, token)).is_ok());
        }
        Side::Selects(mut receivers) => {
            let [one, other] = &mut receivers[..] else { panic!("two") };
            let ends: &mut [&mut dyn Selectable<_, _>] = &mut [&mut **one, &mut **other];
            let mut select = Chosen::<Q>::default();
            let ready = select.ready_until(ends, Q::Memory::soon());
            assert!(ready.is_none_or(|ready| ends[ready].look() != channel::Look::NotYet));
            select_all::<Q, Chosen<Q>>(receivers, 1);
        }
    });
}

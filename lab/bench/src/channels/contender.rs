//! The compared channels, behind one trait. Each waits as its documentation recommends. If a
//! library has no call that waits, the loop of our library's yielding ends repeats the library's
//! tries.

use std::sync::mpsc;

use syncline::channel::patience::Patience;
use syncline::channel::{self, Ring, Single};
use syncline::memory::Native;
use syncline::wait::{Park, Yield};

/// A message of 56 bytes, which fills a line together with the flags.
pub type Line = [u64; 7];
/// The number of the end that asks, and its request.
pub type Request = (usize, u64);

/// A kind of channel.
pub trait Contender {
    const NAME: &'static str;
    /// Whether waiters sleep. Channels with equal `SLEEPS` are compared with each other.
    const SLEEPS: bool;
    type Sender<T: Send + 'static>: Send;
    type Receiver<T: Send + 'static>: Send;
    type Inbox: Send;

    fn channel<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>);
    fn send<T: Send + 'static>(sender: &mut Self::Sender<T>, message: T);
    fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> T;

    /// The server's end for this many clients, and the clients' ends.
    fn inbox(clients: usize, capacity: usize) -> (Vec<Self::Sender<Request>>, Self::Inbox);
    fn next(inbox: &mut Self::Inbox) -> Request;

    /// Sends many messages, in one batch if the library has batches.
    fn send_all(sender: &mut Self::Sender<u64>, messages: std::ops::Range<u64>) {
        messages.for_each(|message| Self::send(sender, message));
    }
}

/// Repeats an attempt until it succeeds.
fn until<T>(patience: &mut Patience, attempt: impl FnMut() -> Option<T>) -> T {
    patience.watch::<Yield, Native, T>(None, attempt).expect("without a deadline it waits for ever")
}

const GONE: &str = "the other end is there until the run is over";

macro_rules! ours {
    ($name:ident, $text:literal, $Kind:ident, $Wait:ident, $sleeps:literal) => {
        pub struct $name;

        impl Contender for $name {
            const NAME: &'static str = $text;
            const SLEEPS: bool = $sleeps;
            type Sender<T: Send + 'static> = channel::Sender<T, $Kind<T, $Wait>>;
            type Receiver<T: Send + 'static> = channel::Receiver<T, $Kind<T, $Wait>>;
            type Inbox = channel::Inbox<Request, $Kind<Request, $Wait>>;

            fn channel<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
                channel::over::<$Kind<T, $Wait>>(capacity)
            }
            #[inline(always)]
            fn send<T: Send + 'static>(sender: &mut Self::Sender<T>, message: T) {
                assert!(sender.send(message).is_ok(), "{GONE}");
            }
            #[inline(always)]
            fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> T {
                receiver.recv().expect(GONE)
            }
            fn inbox(clients: usize, capacity: usize) -> (Vec<Self::Sender<Request>>, Self::Inbox) {
                let mut inbox = Self::Inbox::over(clients, capacity);
                let connect = |_| inbox.connect().expect("there are as many slots").1;
                ((0..clients).map(connect).collect(), inbox)
            }
            #[inline(always)]
            fn next(inbox: &mut Self::Inbox) -> Request {
                inbox.recv().expect(GONE).1
            }
            fn send_all(sender: &mut Self::Sender<u64>, messages: std::ops::Range<u64>) {
                assert!(sender.send_all(messages).is_ok(), "{GONE}");
            }
        }
    };
}

ours!(Parking, "syncline, park", Ring, Park, true);
ours!(Yielding, "syncline, yield", Ring, Yield, false);
// For round trips, with room for one message.
ours!(SingleParking, "syncline, park", Single, Park, true);
ours!(SingleYielding, "syncline, yield", Single, Yield, false);

/// rtrb, which has no call that waits.
pub struct Rtrb;

impl Contender for Rtrb {
    const NAME: &'static str = "rtrb, yield";
    const SLEEPS: bool = false;
    type Sender<T: Send + 'static> = (rtrb::Producer<T>, Patience);
    type Receiver<T: Send + 'static> = (rtrb::Consumer<T>, Patience);
    type Inbox = (usize, Vec<rtrb::Consumer<Request>>, Patience);

    fn channel<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        let (sender, receiver) = rtrb::RingBuffer::new(capacity);
        ((sender, Patience::default()), (receiver, Patience::default()))
    }
    #[inline(always)]
    fn send<T: Send + 'static>((sender, patience): &mut Self::Sender<T>, message: T) {
        let mut message = Some(message);
        until(patience, || match sender.push(message.take()?) {
            Ok(()) => Some(()),
            Err(rtrb::PushError::Full(back)) => {
                message = Some(back);
                None
            }
        });
    }
    #[inline(always)]
    fn receive<T: Send + 'static>((receiver, patience): &mut Self::Receiver<T>) -> T {
        until(patience, || receiver.pop().ok())
    }
    fn inbox(clients: usize, capacity: usize) -> (Vec<Self::Sender<Request>>, Self::Inbox) {
        let channels = (0..clients).map(|_| Self::channel(capacity));
        let (senders, receivers): (_, Vec<_>) = channels.unzip();
        let receivers = receivers.into_iter().map(|(receiver, _)| receiver).collect();
        (senders, (0, receivers, Patience::default()))
    }
    #[inline(always)]
    fn next((last, receivers, patience): &mut Self::Inbox) -> Request {
        until(patience, || {
            (0..receivers.len()).find_map(|_| {
                *last = (*last + 1) % receivers.len();
                receivers[*last].pop().ok()
            })
        })
    }
    fn send_all((sender, patience): &mut Self::Sender<u64>, mut messages: std::ops::Range<u64>) {
        while !messages.is_empty() {
            let room = until(patience, || Some(sender.slots()).filter(|&room| room > 0));
            let count = room.min((messages.end - messages.start) as usize);
            let chunk = sender.write_chunk_uninit(count).expect("there is room for as many");
            chunk.fill_from_iter(&mut messages);
        }
    }
}

macro_rules! peer {
    ($name:ident, $text:literal, $Sender:ty, $Receiver:ty, $new:expr) => {
        pub struct $name;

        impl Contender for $name {
            const NAME: &'static str = $text;
            const SLEEPS: bool = true;
            type Sender<T: Send + 'static> = $Sender;
            type Receiver<T: Send + 'static> = $Receiver;
            type Inbox = Self::Receiver<Request>;

            fn channel<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
                $new(capacity)
            }
            #[inline(always)]
            fn send<T: Send + 'static>(sender: &mut Self::Sender<T>, message: T) {
                assert!(sender.send(message).is_ok(), "{GONE}");
            }
            #[inline(always)]
            fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> T {
                receiver.recv().expect(GONE)
            }
            fn inbox(clients: usize, capacity: usize) -> (Vec<Self::Sender<Request>>, Self::Inbox) {
                let (sender, receiver) = $new(capacity);
                (vec![sender; clients], receiver)
            }
            #[inline(always)]
            fn next(inbox: &mut Self::Inbox) -> Request {
                inbox.recv().expect(GONE)
            }
        }
    };
}

peer!(
    Crossbeam,
    "crossbeam",
    crossbeam_channel::Sender<T>,
    crossbeam_channel::Receiver<T>,
    crossbeam_channel::bounded
);
peer!(Std, "std mpsc", mpsc::SyncSender<T>, mpsc::Receiver<T>, mpsc::sync_channel);
peer!(Flume, "flume", flume::Sender<T>, flume::Receiver<T>, flume::bounded);
peer!(Kanal, "kanal", kanal::Sender<T>, kanal::Receiver<T>, kanal::bounded);

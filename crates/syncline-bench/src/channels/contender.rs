//! The channels that are compared, behind one trait. Each is used as its documentation says one
//! waits with it; where a library has no waiting, the loop around its tries spins a while and
//! then yields, as the library's own `Yield` does.

use std::sync::mpsc;
use std::thread;

use syncline::channel::{self, Ring, Single};
use syncline::wait::{Park, Yield};

/// A message that fills a line: 56 bytes beside the flags.
pub type Line = [u64; 7];
/// Who asks, and what.
pub type Request = (usize, u64);

/// A kind of channel.
pub trait Contender {
    const NAME: &'static str;
    /// Whether waiters sleep, so that it is compared with others that do.
    const SLEEPS: bool;
    type Sender<T: Send + 'static>: Send;
    type Receiver<T: Send + 'static>: Send;
    type Inbox: Send;

    fn channel<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>);
    fn send<T: Send + 'static>(sender: &mut Self::Sender<T>, message: T);
    fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> T;

    /// A server's end for so many clients, and theirs.
    fn inbox(clients: usize, capacity: usize) -> (Vec<Self::Sender<Request>>, Self::Inbox);
    fn next(inbox: &mut Self::Inbox) -> Request;

    /// Sends many, in one go if the library can.
    fn send_all(sender: &mut Self::Sender<u64>, messages: std::ops::Range<u64>) {
        messages.for_each(|message| Self::send(sender, message));
    }
}

/// Looks before a waiter yields; as in the library.
const PATIENCE: u32 = 100;

/// Tries until it works.
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let mut looks = 0_u32;
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        looks += 1;
        if looks < PATIENCE {
            (0..looks.min(16)).for_each(|_| std::hint::spin_loop());
        } else {
            thread::yield_now();
        }
    }
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
// For round trips: room for one message.
ours!(SingleParking, "syncline, park", Single, Park, true);
ours!(SingleYielding, "syncline, yield", Single, Yield, false);

/// rtrb, which never waits.
pub struct Rtrb;

impl Contender for Rtrb {
    const NAME: &'static str = "rtrb, yield";
    const SLEEPS: bool = false;
    type Sender<T: Send + 'static> = rtrb::Producer<T>;
    type Receiver<T: Send + 'static> = rtrb::Consumer<T>;
    type Inbox = (usize, Vec<rtrb::Consumer<Request>>);

    fn channel<T: Send + 'static>(capacity: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        rtrb::RingBuffer::new(capacity)
    }
    #[inline(always)]
    fn send<T: Send + 'static>(sender: &mut Self::Sender<T>, message: T) {
        let mut message = Some(message);
        until(|| match sender.push(message.take()?) {
            Ok(()) => Some(()),
            Err(rtrb::PushError::Full(back)) => {
                message = Some(back);
                None
            }
        });
    }
    #[inline(always)]
    fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> T {
        until(|| receiver.pop().ok())
    }
    fn inbox(clients: usize, capacity: usize) -> (Vec<Self::Sender<Request>>, Self::Inbox) {
        let channels = (0..clients).map(|_| Self::channel(capacity));
        let (senders, receivers) = channels.unzip();
        (senders, (0, receivers))
    }
    #[inline(always)]
    fn next((last, receivers): &mut Self::Inbox) -> Request {
        until(|| {
            (0..receivers.len()).find_map(|_| {
                *last = (*last + 1) % receivers.len();
                receivers[*last].pop().ok()
            })
        })
    }
    fn send_all(sender: &mut Self::Sender<u64>, mut messages: std::ops::Range<u64>) {
        while !messages.is_empty() {
            let room = until(|| Some(sender.slots()).filter(|&room| room > 0));
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

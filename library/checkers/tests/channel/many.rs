//! The cases of channels with many senders and many receivers, and their runners.

use std::sync::{Arc, Mutex};

use syncline_checkers::Engine;

use crate::cases::{Kept, Numbered, Small, play};

pub type Sends = Kept<Box<dyn FnMut(Small) -> bool + Send>>;
pub type Receives = Kept<Box<dyn FnMut() -> Option<Small> + Send>>;

/// The ends of a channel, from the library or a mutant.
pub trait Many: 'static {
    type Memory: Engine;
    /// The ends of a new channel. A sender returns whether the message was accepted. A receiver
    /// waits for a message; it returns `None` if all senders are gone.
    fn ends(capacity: usize, senders: usize, receivers: usize) -> (Vec<Sends>, Vec<Receives>);
    /// The ends of a new channel. The receiver waits with a deadline that may pass.
    fn in_time(capacity: usize) -> (Sends, Receives);
}

macro_rules! many {
    ($Name:ident, $Sender:ty, $Memory:ty) => {
        impl $crate::many::Many for $Name {
            type Memory = $Memory;

            fn ends(
                capacity: usize,
                senders: usize,
                receivers: usize,
            ) -> (Vec<$crate::many::Sends>, Vec<$crate::many::Receives>) {
                let (sender, receiver) = <$Sender>::pair(capacity);
                let senders = (1..senders)
                    .map(|_| sender.clone())
                    .collect::<Vec<_>>()
                    .into_iter()
                    .chain([sender])
                    .map(|sender| {
                        let send = move |note| sender.send(note).is_ok();
                        $crate::cases::Kept::new(Box::new(send) as Box<_>)
                    })
                    .collect();
                let receivers = (1..receivers)
                    .map(|_| receiver.clone())
                    .collect::<Vec<_>>()
                    .into_iter()
                    .chain([receiver])
                    .map(|receiver| {
                        let receive = move || receiver.recv().ok();
                        $crate::cases::Kept::new(Box::new(receive) as Box<_>)
                    })
                    .collect();
                (senders, receivers)
            }

            fn in_time(capacity: usize) -> ($crate::many::Sends, $crate::many::Receives) {
                let (sender, receiver) = <$Sender>::pair(capacity);
                let send = move |note| sender.send(note).is_ok();
                let receive = move || {
                    receiver.recv_until(<$Memory as syncline_checkers::Engine>::soon()).ok()
                };
                (
                    $crate::cases::Kept::new(Box::new(send) as Box<_>),
                    $crate::cases::Kept::new(Box::new(receive) as Box<_>),
                )
            }
        }
    };
}
pub(crate) use many;

enum Part {
    Sends(u64, Sends),
    Receives(Receives),
}

/// All messages of all senders arrive once; each receiver gets a sender's messages in order.
pub fn spread<C: Many>(capacity: usize, senders: usize, receivers: usize, messages: u64) {
    let (sending, receiving) = C::ends(capacity, senders, receivers);
    let mut parts: Vec<_> = receiving.into_iter().map(Part::Receives).collect();
    parts.extend((0..).zip(sending).map(|(number, sender)| Part::Sends(number, sender)));
    let all = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&all);
    play::<C::Memory, _>(parts, Arc::default(), move |_, part, token| match part {
        Part::Sends(sender, mut send) => {
            for number in 0..messages {
                assert!(send(Small::new(sender * 100 + number, token)));
            }
        }
        Part::Receives(mut receive) => {
            let mut ours: Vec<u64> = Vec::new();
            while let Some(note) = receive() {
                let number = note.number();
                let last = ours.iter().rev().find(|&&last| last / 100 == number / 100);
                assert!(last.is_none_or(|&last| last < number), "out of order");
                ours.push(number);
            }
            received.lock().expect("nobody panicked").extend(ours);
        }
    });
    let mut all = all.lock().expect("nobody panicked");
    all.sort_unstable();
    let sent = (0..senders as u64).flat_map(|sender| (0..messages).map(move |n| sender * 100 + n));
    assert!(all.iter().copied().eq(sent), "{all:?}");
}

/// Each receiver disconnects after one message. Then senders get errors, and the remaining messages
/// are dropped.
pub fn left<C: Many>(capacity: usize, senders: usize, receivers: usize) {
    let (sending, receiving) = C::ends(capacity, senders, receivers);
    let mut parts: Vec<_> = receiving.into_iter().map(Part::Receives).collect();
    parts.extend(sending.into_iter().map(|sender| Part::Sends(0, sender)));
    let most = (capacity + receivers) as u64 + 2;
    play::<C::Memory, _>(parts, Arc::default(), move |_, part, token| match part {
        Part::Sends(_, mut send) => {
            let sent = (0..=most).take_while(|&number| send(Small::new(number, token)));
            assert!(sent.count() as u64 <= most, "nobody takes as many");
        }
        Part::Receives(mut receive) => _ = receive().map(Numbered::number),
    });
}

/// A receiver whose deadline may pass loses no message.
pub fn in_time_or_not<C: Many>(messages: u64) {
    let (sender, receiver) = C::in_time(1);
    let parts = vec![Part::Receives(receiver), Part::Sends(0, sender)];
    play::<C::Memory, _>(parts, Arc::default(), move |_, part, token| match part {
        Part::Sends(_, mut send) => {
            // The sender has no deadline, and gets an error if the receiver is gone.
            for number in 0..messages {
                send(Small::new(number, token));
            }
        }
        Part::Receives(mut receive) => {
            let mut last = None;
            for _ in 0..=messages {
                let number = receive().map(Numbered::number);
                assert!(number.is_none() || number > last, "out of order");
                last = number.or(last);
            }
        }
    });
}

macro_rules! loom {
    ($name:ident: $Wait:ident) => {
        mod $name {
            use syncline_checkers::{Executions, Loom};

            struct Channel;
            $crate::many::many! {
                Channel,
                syncline::channel::many::Sender<crate::cases::Small, syncline::wait::$Wait, Loom>,
                Loom
            }
            loom! { @
                one_to_one: explore(4), spread(1, 1, 1, 3);
                one_to_one_with_room: explore(3), spread(2, 1, 1, 5);
                two_to_one: explore(2), spread(1, 2, 1, 1);
                two_to_one_later: explore(2), spread(1, 2, 1, 2);
                one_to_two: explore(2), spread(1, 1, 2, 2);
                one_to_two_with_room: explore(2), spread(2, 1, 2, 2);
                left_by_one: explore(3), left(1, 1, 1);
                left_by_two: explore(2), left(1, 1, 2);
                in_time_or_not: explore_timed(3), in_time_or_not(2);
            }
        }
    };
    (@ $($case:ident: $explore:ident($preemptions:literal), $what:ident($($argument:expr),*);)*) => {
        $(#[test]
        fn $case() {
            let case = || crate::many::$what::<Channel>($($argument),*);
            Executions(6_000).$explore($preemptions, case);
        })*
    };
}

macro_rules! shuttle {
    ($name:ident: $Wait:ident) => {
        mod $name {
            use syncline_checkers::{Shuttle, randomly};

            struct Channel;
            $crate::many::many! {
                Channel,
                syncline::channel::many::Sender<crate::cases::Small, syncline::wait::$Wait, Shuttle>,
                Shuttle
            }
            #[test]
            fn two_to_two() {
                randomly(300, || crate::many::spread::<Channel>(1, 2, 2, 5));
            }
            #[test]
            fn three_to_three_with_room() {
                randomly(300, || crate::many::spread::<Channel>(4, 3, 3, 5));
            }
            #[test]
            fn left_by_two() {
                randomly(300, || crate::many::left::<Channel>(2, 2, 2));
            }
            #[test]
            fn in_time_or_not() {
                randomly(300, || crate::many::in_time_or_not::<Channel>(5));
            }
        }
    };
}

loom! { under_loom_that_spin: Spin }
loom! { under_loom_that_park: Park }
shuttle! { under_shuttle_that_spin: Spin }
shuttle! { under_shuttle_that_park: Park }

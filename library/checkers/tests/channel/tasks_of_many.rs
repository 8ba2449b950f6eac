//! The cases of channels with many senders and receivers, some of them tasks, and their runners.

use std::sync::{Arc, Mutex};

use syncline_checkers::Engine;

use crate::cases::{Numbered, Small, play};
use crate::many::{Receives, Sends};

/// How an end waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// As a thread that blocks.
    Thread,
    Task,
    /// As a task that polls with another waker before it polls with its own.
    Restless,
    /// Polls once and drops the future. If the poll had no result, the end is dropped as well.
    Once,
    /// Like `Once`, but drops the future only after thread 1 has begun to wait too.
    Late,
}

/// The ends of a channel, from the library or a mutant.
pub trait ManyTasks: 'static {
    type Memory: Engine;
    /// A new channel's ends. A sender returns whether the message was accepted.
    fn ends(capacity: usize, senders: &[Way], receivers: &[Way]) -> (Vec<Sends>, Vec<Receives>);
}

macro_rules! many_tasks {
    ($Name:ident, $Sender:ty, $Memory:ty) => {
        impl $crate::tasks_of_many::ManyTasks for $Name {
            type Memory = $Memory;

            fn ends(
                capacity: usize,
                senders: &[$crate::tasks_of_many::Way],
                receivers: &[$crate::tasks_of_many::Way],
            ) -> (Vec<$crate::many::Sends>, Vec<$crate::many::Receives>) {
                use $crate::tasks_of_many::Way::*;
                type Executor = $crate::tasks::Executor<$Memory>;
                let (sender, receiver) = <$Sender>::pair(capacity);
                let senders = senders
                    .iter()
                    .map(|&way| (way, sender.clone(), Executor::new()))
                    .map(|(way, sender, executor)| {
                        let send = move |note| {
                            let sending = sender.send_async(note);
                            match way {
                                Thread | Late => unreachable!("no case has it"),
                                Task => executor.run(sending).is_ok(),
                                Restless => executor.run_restless(sending).is_ok(),
                                Once => executor.try_once(sending).is_some_and(|it| it.is_ok()),
                            }
                        };
                        $crate::cases::Kept::new(Box::new(send) as Box<_>)
                    })
                    .collect();
                let receivers = receivers
                    .iter()
                    .map(|&way| (way, receiver.clone(), Executor::new()))
                    .map(|(way, receiver, executor)| {
                        let receive = move || match way {
                            Thread => receiver.recv().ok(),
                            Task => executor.run(receiver.recv_async()).ok(),
                            Restless => executor.run_restless(receiver.recv_async()).ok(),
                            Once => executor.try_once(receiver.recv_async())?.ok(),
                            Late => executor
                                .try_then(receiver.recv_async(), || {
                                    <$Memory as syncline_checkers::Engine>::wait_for_waiter(1);
                                    <$Memory as syncline_checkers::Engine>::explore();
                                    // From here on, this thread counts as one that has waited.
                                    <$Memory as syncline::memory::Memory>::yield_now();
                                })?
                                .ok(),
                        };
                        $crate::cases::Kept::new(Box::new(receive) as Box<_>)
                    })
                    .collect();
                (senders, receivers)
            }
        }
    };
}
pub(crate) use many_tasks;

enum Part {
    Sends(u64, Way, Sends),
    Receives(Receives),
}

/// Each accepted message arrives once, and each receiver gets a sender's messages in order. Only
/// senders that try once may be refused.
pub fn spread<C: ManyTasks>(senders: &[Way], receivers: &[Way], messages: u64) {
    let (sending, receiving) = C::ends(1, senders, receivers);
    let mut parts: Vec<_> = receiving.into_iter().map(Part::Receives).collect();
    let sending = (0..).zip(sending).zip(senders);
    parts.extend(sending.map(|((number, sender), &way)| Part::Sends(number, way, sender)));
    let notes = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let seen = Arc::clone(&notes);
    play::<C::Memory, _>(parts, Arc::default(), move |_, part, token| match part {
        Part::Sends(sender, way, mut send) => {
            let ours = (0..messages).map(|number| sender * 100 + number);
            let sent: Vec<_> = ours.take_while(|&n| send(Small::new(n, token))).collect();
            assert!(sent.len() as u64 == messages || way == Way::Once);
            seen.lock().expect("nobody panicked").0.extend(sent);
        }
        Part::Receives(mut receive) => {
            let mut ours: Vec<u64> = Vec::new();
            while let Some(note) = receive() {
                let number = note.number();
                let last = ours.iter().rev().find(|&&last| last / 100 == number / 100);
                assert!(last.is_none_or(|&last| last < number), "out of order");
                ours.push(number);
            }
            seen.lock().expect("nobody panicked").1.extend(ours);
        }
    });
    let (sent, received) = &mut *notes.lock().expect("nobody panicked");
    sent.sort_unstable();
    received.sort_unstable();
    assert_eq!(sent, received);
}

/// Two tasks wait to receive. Messages are sent while the future of the first task is dropped.
pub fn passed_on<C: ManyTasks>() {
    let (sending, receiving) = C::ends(1, &[Way::Task], &[Way::Late, Way::Task]);
    let mut parts: Vec<_> = receiving.into_iter().map(Part::Receives).collect();
    parts.extend(sending.into_iter().map(|sender| Part::Sends(0, Way::Task, sender)));
    C::Memory::arrange();
    play::<C::Memory, _>(parts, Arc::default(), |thread, part, token| match part {
        Part::Sends(_, _, mut send) => {
            C::Memory::wait_for_waiter(0);
            // The second message waits until the first was taken.
            assert!((0..2).all(|number| send(Small::new(number, token))));
        }
        Part::Receives(mut receive) if thread == 0 => drop(receive()),
        Part::Receives(mut receive) => {
            let numbers = std::iter::from_fn(&mut **receive).map(Numbered::number);
            assert_eq!(numbers.last(), Some(1));
        }
    });
}

mod under_loom {
    use syncline_checkers::{Executions, Loom};

    use super::Way::*;

    struct Channel;
    many_tasks! {
        Channel,
        syncline::channel::many::Sender<crate::cases::Small, syncline::wait::Park, Loom>,
        Loom
    }

    macro_rules! cases {
        ($($name:ident: $preemptions:literal, $senders:expr, $receivers:expr, $messages:literal;)*) => {
            $(#[test]
            fn $name() {
                let case = || super::spread::<Channel>(&$senders, &$receivers, $messages);
                Executions(6_000).explore($preemptions, case);
            })*
        };
    }

    cases! {
        one_to_one: 3, [Task], [Task], 3;
        one_to_a_thread: 3, [Task], [Thread], 3;
        one_to_a_restless_one: 3, [Task], [Restless], 2;
        a_restless_one_to_one: 3, [Restless], [Task], 3;
        two_to_one: 2, [Task, Task], [Task], 1;
        one_to_two: 2, [Task], [Task, Task], 2;
        one_to_a_task_and_a_thread: 2, [Task], [Task, Thread], 2;
        a_receiver_that_leaves: 2, [Task], [Once, Task], 2;
        a_sender_that_leaves: 2, [Once, Task], [Task], 2;
    }

    #[test]
    fn passed_on() {
        Executions(6_000).explore(3, super::passed_on::<Channel>);
    }
}

mod under_shuttle {
    use syncline_checkers::{Shuttle, randomly};

    use super::Way::*;

    struct Channel;
    many_tasks! {
        Channel,
        syncline::channel::many::Sender<crate::cases::Small, syncline::wait::Park, Shuttle>,
        Shuttle
    }

    #[test]
    fn tasks() {
        randomly(300, || super::spread::<Channel>(&[Task; 2], &[Task; 3], 5));
    }

    #[test]
    fn tasks_and_threads() {
        let receivers = [Task, Thread, Restless];
        randomly(300, move || super::spread::<Channel>(&[Task, Restless], &receivers, 5));
    }

    #[test]
    fn ends_that_leave() {
        let (senders, receivers) = ([Once, Task, Once], [Once, Task, Once]);
        randomly(300, move || super::spread::<Channel>(&senders, &receivers, 5));
    }
}

//! Messages of one cache line: between two threads, and from many clients to one server (SSYNC,
//! section 6.2).

use syncline::channel::{self, Duplex, Exclusive, Inbox, RawChannel, Shared, Single};
use syncline::wait::Spin;

use super::uncontended::Turns;
use super::{Load, Outcome, Tally, outcome, rest, stagger};
use crate::world::{Body, Course, Phase, Placement, Watch, World};

/// The payload of a message, which fills a cache line together with the channel's flags.
pub type Message = [u64; 7];
/// SSYNC's buffer of one message, which is fetched for writing before it is read (section 5.3).
pub type Fetched<W> = Single<Message, Spin, <W as World>::Memory, Exclusive>;
/// SSYNC's buffer of one message, which is read before it is fetched for writing.
pub type Plain<W> = Single<Message, Spin, <W as World>::Memory, Shared>;

/// Whether the receiver answers messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Messages without answers.
    One,
    /// Messages with answers: the sender waits for the answer to each.
    Round,
}

const MESSAGE: Message = [1; 7];
/// The text of a panic that can't happen: each end of a channel lives until its thread has handled
/// all messages.
const CONNECTED: &str = "the other end is there";

/// Average cycles of a message between hardware thread 0 and a partner, without a pause between
/// messages. With [`Way::Round`], the answer is included.
pub fn between_two<W: World, Q: RawChannel<Item = Message>>(
    world: &W,
    way: Way,
    partner: usize,
    turns: &Turns,
) -> f64 {
    let mut cycles = 0;
    let took = &mut cycles;
    let first = world.places(1, Placement::Near)[0];
    let course = Course::to_the_end(turns.seed);
    let turns = *turns;
    let all = turns.warm_up + turns.measured;
    let bodies: [(usize, Body<'_, W>); 2] = match way {
        Way::One => {
            let (mut sender, mut receiver) = channel::over::<Q>(1);
            let send: Body<'_, W> = Box::new(move |_| {
                (0..all).for_each(|_| sender.send(MESSAGE).expect(CONNECTED));
            });
            let receive: Body<'_, W> = Box::new(move |_| {
                *took = timed::<W>(&turns, || {
                    receiver.recv().expect(CONNECTED);
                });
            });
            [(partner, send), (first, receive)]
        }
        Way::Round => {
            let (mut asks, mut answers) = Duplex::<Message, Message, Q, Q>::over(1);
            let answer: Body<'_, W> = Box::new(move |_| {
                for _ in 0..all {
                    let message = answers.receiver.recv().expect(CONNECTED);
                    answers.sender.send(message).expect(CONNECTED);
                }
            });
            let ask: Body<'_, W> = Box::new(move |_| {
                *took = timed::<W>(&turns, || {
                    asks.round_trip(MESSAGE).expect(CONNECTED);
                });
            });
            [(partner, answer), (first, ask)]
        }
    };
    world.run(&course, bodies.into());
    cycles as f64 / f64::from(turns.measured)
}

/// Cycles of all measured messages, which follow those of the warm-up.
fn timed<W: World>(turns: &Turns, mut message: impl FnMut()) -> u64 {
    (0..turns.warm_up).for_each(|_| message());
    let began = W::now();
    (0..turns.measured).for_each(|_| message());
    W::now() - began
}

/// Measures messages to one server on the first hardware thread from clients on the others;
/// `load.threads` includes the server. The result has the messages per second that the server
/// receives. The result's cycles are those in which a client sends a message and, with
/// [`Way::Round`], waits for the answer.
pub fn one_server<W: World, Q: RawChannel<Item = Message>>(
    world: &W,
    way: Way,
    load: &Load,
) -> Outcome {
    let places = world.places(load.threads, load.placement);
    let clients = load.threads.saturating_sub(1);
    let mut inbox = Inbox::<Message, Q>::over(clients.max(1), 1);
    let (mut served, mut tallies) = (Tally::default(), vec![Tally::default(); clients]);
    let mut answers = Vec::new();
    let mut threads: Vec<(usize, Body<'_, W>)> = Vec::new();
    let pause = load.pause(world, &places);
    let spread = world.transfer(&places) * load.threads as u64;
    for ((number, &place), tally) in places.iter().enumerate().skip(1).zip(&mut tallies) {
        let (_, mut sender) = inbox.connect().expect("there is a slot for each client");
        let (answer, mut answered) = channel::over::<Q>(1);
        answers.push(answer);
        let client: Body<'_, W> = Box::new(move |watch| {
            let mut chance = load.chance(number);
            stagger::<W>(&mut chance, spread);
            let mut counted = Tally::default();
            while watch.phase() != Phase::Over {
                let began = if load.timed { W::now() } else { 0 };
                let sent = sender.send(MESSAGE).is_ok();
                if !sent || way == Way::Round && answered.recv().is_err() {
                    break;
                }
                let took = if load.timed { W::now() - began } else { 0 };
                if watch.phase() == Phase::Measured {
                    counted.note(true, took);
                }
                rest::<W>(&mut chance, pause);
            }
            *tally = counted;
        });
        threads.push((place, client));
    }
    let server: Body<'_, W> = Box::new(|watch| {
        // The server runs until the last client has gone.
        while let Ok((client, message)) = inbox.recv() {
            if way == Way::Round {
                // A client that has gone needs no answer.
                let _ = answers[client].send(message);
            }
            if watch.phase() == Phase::Measured {
                served.note(true, 0);
            }
        }
    });
    threads.insert(0, (places[0], server));
    let seconds = world.run(&load.course_of_all(), threads);
    let Outcome { cycles, fairness, .. } = outcome(&tallies, seconds, world.clock_cost());
    Outcome { cycles, fairness, ..outcome(&[served], seconds, 0) }
}

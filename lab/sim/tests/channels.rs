//! Messages on the simulated machines arrive, and cost as many transfers of a line as SSYNC says
//! (section 6.2): two for one way, four for a round trip. Ids such as S12 are those of the claims
//! in `docs/study.md`.

use syncline::channel::{self, Duplex, Exclusive, Inbox, RawChannel, Ring, Shared, Single};
use syncline::wait::{Park, Spin, Yield};
use syncline_sim::engine::{Body, Engine};
use syncline_sim::machine::{Access, State};
use syncline_sim::{Machine, Simulated};

/// A message that fills a line.
type Message = [u64; 7];
type Fetching = Single<Message, Spin, Simulated, Exclusive>;
type Sharing = Single<Message, Spin, Simulated, Shared>;
type Lines<W> = Ring<Message, W, Simulated>;

const ROUNDS: u64 = 1000;

fn cycles_one_way<Q: RawChannel<Item = Message>>(machine: &Machine, places: [usize; 2]) -> f64 {
    let (mut sender, mut receiver) = channel::over::<Q>(64);
    let send: Body<'_> = Box::new(move || {
        for round in 0..ROUNDS {
            sender.send([round; 7]).unwrap();
        }
    });
    let receive: Body<'_> = Box::new(move || {
        for round in 0..ROUNDS {
            assert_eq!(receiver.recv(), Ok([round; 7]));
        }
    });
    let outcome = Engine::new(machine, 1).run(vec![(places[0], send), (places[1], receive)]);
    outcome.cycles as f64 / ROUNDS as f64
}

fn cycles_round_trip<Q: RawChannel<Item = Message>>(machine: &Machine, places: [usize; 2]) -> f64 {
    let (mut client, mut server) = Duplex::<Message, Message, Q, Q>::over(64);
    let ask: Body<'_> = Box::new(move || {
        for round in 0..ROUNDS {
            assert_eq!(client.round_trip([round; 7]), Ok([round + 1; 7]));
        }
    });
    let answer: Body<'_> = Box::new(move || {
        for [number, ..] in server.receiver.iter() {
            server.sender.send([number + 1; 7]).unwrap();
        }
    });
    let outcome = Engine::new(machine, 1).run(vec![(places[0], ask), (places[1], answer)]);
    outcome.cycles as f64 / ROUNDS as f64
}

/// One hardware thread at each class of distance from hardware thread 0, with the cycles of a load
/// of a line that the other thread has written.
fn others(machine: &Machine) -> Vec<(usize, f64)> {
    let node = |thread| machine.node_of(machine.cache_of(thread));
    let mut others: Vec<_> = (1..machine.threads())
        .filter(|&thread| machine.cache_of(thread) != machine.cache_of(0))
        .map(|thread| (machine.class(node(0), node(thread)), thread))
        .collect();
    others.sort_unstable();
    others.dedup_by_key(|(class, _)| *class);
    let transfer = |class| f64::from(machine.cycles(Access::Load, State::Modified, class));
    others.into_iter().map(|(class, thread)| (thread, transfer(class))).collect()
}

/// Claim S12. The Niagara and the Tilera are left out: on the Niagara, and between neighbours on
/// the Tilera, a transfer takes few cycles, so a processor's work in its own cache matters too.
#[test]
fn a_message_costs_two_transfers_and_a_round_trip_four() {
    for name in ["opteron", "xeon", "opteron-2384", "xeon-x5660"] {
        let machine = Machine::named(name).unwrap();
        for (other, transfer) in others(&machine) {
            let one_way = cycles_one_way::<Fetching>(&machine, [0, other]) / transfer;
            let round_trip = cycles_round_trip::<Fetching>(&machine, [0, other]) / transfer;
            let what = format!("{name} 0 and {other}: {one_way} and {round_trip}");
            assert!((1.6..2.4).contains(&one_way) && (3.2..4.8).contains(&round_trip), "{what}");
        }
    }
}

/// Claim S20, also on a machine that the claim is not about: a thread that will read a line and
/// then write to it should fetch the line for writing.
#[test]
fn fetching_a_line_for_writing_saves_a_broadcast() {
    for name in ["opteron", "xeon"] {
        let machine = Machine::named(name).unwrap();
        for (other, _) in others(&machine) {
            let [fetching, sharing] = [
                cycles_one_way::<Fetching>(&machine, [0, other]),
                cycles_one_way::<Sharing>(&machine, [0, other]),
            ];
            assert!(sharing > 1.8 * fetching, "{name} 0 and {other}: {sharing} and {fetching}");
        }
    }
}

/// The receiver of a ring writes nothing to the lines of messages, so sender and receiver work at
/// the same time.
#[test]
fn a_message_of_a_ring_costs_less_than_two_transfers_across_sockets() {
    let machine = Machine::named("xeon").unwrap();
    for (other, transfer) in others(&machine) {
        let one_way = cycles_one_way::<Lines<Spin>>(&machine, [0, other]) / transfer;
        assert!(one_way < 2.0, "0 and {other}: {one_way}");
    }
}

/// Clients on the other processors send numbers to a server on the first one, which checks their
/// order.
fn meet<Q: RawChannel<Item = Message>>(machine: &Machine, places: &[usize]) {
    let clients = places.len() - 1;
    let mut inbox = Inbox::<Message, Q>::over(clients, 4);
    let mut threads: Vec<(usize, Body<'_>)> = Vec::new();
    for &place in &places[1..] {
        let (slot, mut sender) = inbox.connect().unwrap();
        let send: Body<'_> = Box::new(move || {
            for number in 0..30 {
                sender.send([number + 100 * slot as u64; 7]).unwrap();
            }
        });
        threads.push((place, send));
    }
    let receive: Body<'_> = Box::new(move || {
        let mut next = vec![0; clients];
        while let Ok((slot, message)) = inbox.recv() {
            assert_eq!(message, [next[slot] + 100 * slot as u64; 7]);
            next[slot] += 1;
        }
        assert_eq!(next, vec![30; clients]);
    });
    threads.push((places[0], receive));
    Engine::new(machine, 1).run(threads);
}

#[test]
fn messages_arrive_on_every_machine() {
    for name in Machine::names() {
        let machine = Machine::named(name).unwrap();
        let places: Vec<usize> = (0..machine.threads().min(20)).collect();
        meet::<Fetching>(&machine, &places);
        meet::<Sharing>(&machine, &places);
        meet::<Lines<Spin>>(&machine, &places);
        meet::<Lines<Yield>>(&machine, &places);
        meet::<Lines<Park>>(&machine, &places);
    }
}

#[test]
fn more_threads_than_processors() {
    let machine = Machine::named("xeon").unwrap();
    let places: Vec<usize> = (0..12).map(|thread| thread % 2).collect();
    meet::<Lines<Yield>>(&machine, &places);
    meet::<Lines<Park>>(&machine, &places);
    meet::<Single<Message, Park, Simulated>>(&machine, &places);
}

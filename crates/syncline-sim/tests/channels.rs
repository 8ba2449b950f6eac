//! What messages cost on the simulated machines, in transfers of a line: SSYNC, section 6.2.

use std::cell::Cell;

use syncline::channel::{self, Duplex, Exclusive, Inbox, RawChannel, Ring, Shared, Single};
use syncline::wait::{Park, Spin, Yield};
use syncline_sim::engine::{Body, Engine};
use syncline_sim::machine::{Access, State};
use syncline_sim::{Machine, Simulated};

/// A message that fills a line.
type Message = [u64; 7];
type Fetching = Single<Message, Spin, Simulated, Exclusive>;
type Sharing = Single<Message, Spin, Simulated, Shared>;
type Lines = Ring<Message, Spin, Simulated>;

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

#[test]
fn explore() {
    for name in Machine::names() {
        let machine = Machine::named(name).unwrap();
        for other in 1..machine.threads() {
            let class = machine.class(machine.node_of(machine.cache_of(0)), machine.node_of(machine.cache_of(other)));
            if machine.cache_of(other) == machine.cache_of(0) { continue; }
            if other > 1 && (1..other).any(|o| machine.cache_of(o) != machine.cache_of(0) && machine.class(machine.node_of(machine.cache_of(0)), machine.node_of(machine.cache_of(o))) == class) { continue; }
            let p = [0, other];
            let l = f64::from(machine.cycles(Access::Load, State::Modified, class));
            let s = f64::from(machine.cycles(Access::Store, State::Modified, class));
            let ss = f64::from(machine.cycles(Access::Store, State::Shared, class));
            println!("{name} {other} class {class}: load {l} store {s} shared {ss} | one way fetch {:.2} share {:.2} ring {:.2} | round {:.2} {:.2} {:.2}",
              cycles_one_way::<Fetching>(&machine, p) / l, cycles_one_way::<Sharing>(&machine, p) / l, cycles_one_way::<Lines>(&machine, p) / l,
              cycles_round_trip::<Fetching>(&machine, p) / l, cycles_round_trip::<Sharing>(&machine, p) / l, cycles_round_trip::<Lines>(&machine, p) / l);
        }
    }
}

//! The cost of a message on the simulated machines, as a multiple of the cost of transferring a
//! line. The costs of these machines are known exactly, and nothing else runs on them.

use syncline::channel::{self, Duplex, RawChannel, Ring, Single};
use syncline::wait::Spin;
use syncline_sim::engine::{Body, Engine};
use syncline_sim::machine::{Access, State};
use syncline_sim::{Machine, Simulated};

use super::contender::Line;

/// SSYNC's four machines.
const MACHINES: [&str; 4] = ["opteron", "xeon", "niagara", "tilera"];

/// The costs of messages between two threads at some distance.
pub struct Cost {
    pub machine: &'static str,
    /// The class of the threads' distance: 0 is the least.
    pub distance: usize,
    /// Transfers of a line per message (`one_way`), and per round trip (`round_trip`).
    pub one_way: f64,
    pub round_trip: f64,
    /// Transfers of a line per message of a ring.
    pub ring: f64,
}

/// The costs between each machine's first processor and the nearest and the farthest other one.
pub fn costs(messages: u64) -> Vec<Cost> {
    let mut costs = Vec::new();
    for name in MACHINES {
        let machine = Machine::named(name).expect("it comes along");
        let class = |thread| {
            let node = |thread| machine.node_of(machine.cache_of(thread));
            machine.class(node(0), node(thread))
        };
        let others = (1..machine.threads()).filter(|&t| machine.cache_of(t) != machine.cache_of(0));
        let near = others.clone().min_by_key(|&thread| class(thread));
        let far = others.max_by_key(|&thread| class(thread));
        let mut pairs: Vec<usize> = near.into_iter().chain(far).collect();
        pairs.dedup_by_key(|&mut thread| class(thread));
        for other in pairs {
            // The transfer is that of a line that the other thread has written, as a message's line
            // is.
            let transfer = machine.cycles(Access::Load, State::Modified, class(other));
            let places = [0, other];
            let cost = |cycles: f64| cycles / f64::from(transfer);
            type Fast = Single<Line, Spin, Simulated>;
            costs.push(Cost {
                machine: name,
                distance: class(other),
                one_way: cost(one_way::<Fast>(&machine, places, messages)),
                round_trip: cost(round_trip::<Fast>(&machine, places, messages)),
                ring: cost(one_way::<Ring<Line, Spin, Simulated>>(&machine, places, messages)),
            });
        }
    }
    costs
}

/// Average cycles of one message, if many follow each other.
fn one_way<Q: RawChannel<Item = Line>>(
    machine: &Machine,
    places: [usize; 2],
    messages: u64,
) -> f64 {
    let (mut sender, mut receiver) = channel::over::<Q>(64);
    let send: Body<'_> = Box::new(move || {
        (0..messages).for_each(|number| sender.send([number; 7]).expect("it is received"));
    });
    let receive: Body<'_> = Box::new(move || {
        (0..messages).for_each(|number| assert_eq!(receiver.recv(), Ok([number; 7])));
    });
    run(machine, vec![(places[0], send), (places[1], receive)], messages)
}

/// Average cycles of a round trip.
fn round_trip<Q: RawChannel<Item = Line>>(
    machine: &Machine,
    places: [usize; 2],
    messages: u64,
) -> f64 {
    let (mut client, mut server) = Duplex::<Line, Line, Q, Q>::over(1);
    let ask: Body<'_> = Box::new(move || {
        for number in 0..messages {
            assert_eq!(client.round_trip([number; 7]), Ok([number; 7]));
        }
    });
    let answer: Body<'_> = Box::new(move || {
        for message in server.receiver.iter() {
            server.sender.send(message).expect("the client waits");
        }
    });
    run(machine, vec![(places[0], ask), (places[1], answer)], messages)
}

fn run(machine: &Machine, threads: Vec<(usize, Body<'_>)>, messages: u64) -> f64 {
    Engine::new(machine, 1).run(threads).cycles as f64 / messages as f64
}

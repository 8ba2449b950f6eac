//! The tests of [`messages`](super::messages) with messages in hardware, which simulated machines
//! may have.

use std::cell::Cell;

use syncline_sim::Machine;
use syncline_sim::engine::{self, Body, Engine};

use super::messages::Way;

/// The only word of a client's last message, with which it reports that it is done.
const GONE: u64 = u64::MAX;

/// Average cycles of a message of `words` words between hardware thread 0 and a partner. With
/// [`Way::Round`], the answer is included.
pub fn between_two(machine: &Machine, way: Way, words: usize, partner: usize, count: u64) -> f64 {
    let cycles = Cell::new(0);
    let other: Body<'_> = Box::new(|| {
        for _ in 0..count {
            if way == Way::Round {
                engine::receive();
            }
            engine::send(0, &vec![0; words]);
        }
    });
    let first: Body<'_> = Box::new(|| {
        let began = engine::now();
        for _ in 0..count {
            if way == Way::Round {
                engine::send(partner, &vec![0; words]);
            }
            engine::receive();
        }
        cycles.set(engine::now() - began);
    });
    Engine::new(machine, 1).run(vec![(0, first), (partner, other)]);
    cycles.get() as f64 / count as f64
}

/// Messages per second that one server on hardware thread 0 receives from `clients` clients. A
/// message has `words` words, at least one.
pub fn one_server(machine: &Machine, way: Way, words: usize, clients: usize, seconds: f64) -> f64 {
    let until = machine.in_cycles(seconds);
    let served = Cell::new(0u64);
    let served = &served;
    let server: Body<'_> = Box::new(move || {
        let mut left = clients;
        while left > 0 {
            let message = engine::receive();
            if message[0] == GONE {
                left -= 1;
                continue;
            }
            if way == Way::Round {
                engine::send(message[0] as usize, &vec![0; words]);
            }
            if engine::now() < until {
                served.set(served.get() + 1);
            }
        }
    });
    let client = |place: usize| -> Body<'_> {
        Box::new(move || {
            let mut message = vec![0; words];
            message[0] = place as u64;
            while engine::now() < until {
                engine::send(0, &message);
                if way == Way::Round {
                    engine::receive();
                }
            }
            engine::send(0, &[GONE]);
        })
    };
    let mut threads = vec![(0, server)];
    threads.extend((1..=clients).map(|place| (place, client(place))));
    Engine::new(machine, 1).run(threads);
    served.get() as f64 / seconds
}

//! SSYNC's hash table on servers that receive messages in hardware. On the Tilera, SSYNC's message
//! library uses such messages as well (footnote 4 of section 4.1).

use std::cell::Cell;

use syncline::lock::Ttas;
use syncline::wait::Spin;
use syncline_sim::engine::{self, Body, Engine};
use syncline_sim::{Machine, Simulated};

use super::Load;
use super::table::{Crew, Operation, Shape, apply};

/// The number of words of a message: as many as those of a message in software, which fills a cache
/// line.
const WORDS: usize = 8;
/// The word that a client sends in place of an operation's number after its last operation.
const GONE: u64 = u64::MAX;

/// Operations per second of clients that ask servers. `places` are the hardware threads of both;
/// `load` gives the duration and the seed.
pub fn served(machine: &Machine, shape: Shape, places: &[usize], load: &Load) -> f64 {
    let crew = Crew::of(places);
    let (from, measured) = (machine.in_cycles(load.warm_up), machine.in_cycles(load.measured));
    let until = from + measured;
    let done = Cell::new(0u64);
    let (done, servers) = (&done, &crew.servers);
    let part = shape.part(servers.len());
    let mut threads: Vec<(usize, Body<'_>)> = Vec::new();
    for &place in servers {
        let (table, clients) = (part.table::<Ttas<Spin, Simulated>>(), crew.clients.len());
        let server: Body<'_> = Box::new(move || {
            let mut left = clients;
            while left > 0 {
                let message = engine::receive();
                let Some(operation) = Operation::of(message[1]) else {
                    left -= 1;
                    continue;
                };
                let found = apply(&table, operation, message[2] % part.range());
                engine::send(message[0] as usize, &[u64::from(found); WORDS]);
            }
        });
        threads.push((place, server));
    }
    for (number, &place) in crew.clients.iter().enumerate() {
        let client: Body<'_> = Box::new(move || {
            let mut chance = load.chance(number);
            while engine::now() < until {
                let (operation, key) = shape.next(&mut chance);
                engine::execute(shape.instructions());
                let (server, key) = (key as usize % servers.len(), key / servers.len() as u64);
                let mut message = [0; WORDS];
                message[..3].copy_from_slice(&[place as u64, operation as u64, key]);
                engine::send(servers[server], &message);
                engine::receive();
                if (from..until).contains(&engine::now()) {
                    done.set(done.get() + 1);
                }
            }
            for &server in servers {
                engine::send(server, &[place as u64, GONE]);
            }
        });
        threads.push((place, client));
    }
    Engine::new(machine, load.seed).run(threads);
    done.get() as f64 / load.measured
}

//! The paper's table over messages. Each of the benchmark's threads is a client, and there is one
//! server for every two clients (as in SSYNC, which has one server among three threads).

use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use syncline::table::{ServedTable, TableClient};
use syncline::wait::Park;

use super::load::{Step, Value};
use super::peers::{Contender, Running};

/// The number of threads that ask one server.
const CLIENTS: usize = 2;
/// Only one step in this many is run, because with more threads than processors a message costs a
/// context switch.
const SHARE: usize = 10;

type Client<V> = TableClient<V, Park>;

struct Served<V: Send> {
    clients: Mutex<Vec<Client<V>>>,
    servers: Vec<JoinHandle<()>>,
}

impl<V: Value> Served<V> {
    fn new(buckets: usize, keys: usize) -> Self {
        let threads = thread::available_parallelism().map_or(2, |n| n.get());
        let table = ServedTable::new(buckets, keys, threads.div_ceil(CLIENTS));
        let (servers, clients) = table.serve::<Park>(threads);
        let servers = servers.into_iter().map(|server| thread::spawn(|| drop(server.run())));
        Self { clients: Mutex::new(clients), servers: servers.collect() }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Client<V>) -> R) -> R {
        let mut client = self.clients.lock().expect("no panics").pop().expect("one for each");
        let result = act(&mut client);
        self.clients.lock().expect("no panics").push(client);
        result
    }
}

impl<V: Send> Drop for Served<V> {
    fn drop(&mut self) {
        self.clients.get_mut().expect("no panics").clear();
        for server in self.servers.drain(..) {
            server.join().expect("a server ends");
        }
    }
}

impl<V: Value> Running<V> for Served<V> {
    fn run(&self, stream: &[Step]) {
        self.with(|client| {
            for step in &stream[..stream.len() / SHARE] {
                step.ask(client);
            }
        });
    }

    fn fill(&self, keys: &mut dyn Iterator<Item = u64>) {
        self.with(|client| {
            for key in keys {
                client.put(key, V::of(key)).expect("it is served");
            }
        });
    }

    fn share(&self) -> usize {
        SHARE
    }
}

/// The paper's table over messages, with this many buckets.
pub fn served_table<V: Value, const BUCKETS: usize>() -> Contender<V> {
    let make =
        |keys: usize| -> Box<dyn Running<V>> { Box::new(Served::new(BUCKETS, keys / BUCKETS)) };
    Contender { name: "served table", ours: true, make }
}

//! The case of the served table. It runs over any such table, its servers and its clients, in any
//! checker's memory.

use std::sync::{Arc, Mutex};

use syncline::table::{ServedTable, TableClient, TableServer};
use syncline::wait::Wait;
use syncline_checkers::Engine;

/// A client of a served table, or of a mutant of it.
pub trait Asks: Send + 'static {
    type Memory: Engine;
    type Table;
    type Server: Send + 'static;
    /// Makes a table of `buckets` buckets, each with room for a line of keys.
    fn table(buckets: usize, servers: usize) -> Self::Table;
    fn put_before(table: &mut Self::Table, key: u64, value: u64) -> Option<u64>;
    fn serve(table: Self::Table, clients: usize) -> (Vec<Self::Server>, Vec<Self>)
    where
        Self: Sized;
    /// Serves, and returns how many keys are left.
    fn run(server: Self::Server) -> usize;
    fn put(&mut self, key: u64, value: u64) -> Option<u64>;
    fn get(&mut self, key: u64) -> Option<u64>;
    fn remove(&mut self, key: u64) -> Option<u64>;
}

/// Implements [`Asks`] for a client's type. The functions call those of the same name of the
/// client, its table and its servers.
macro_rules! asks {
    ([$($generics:tt)*] $Table:ty, $Server:ty, $Client:ty, $Memory:ty) => {
        impl<$($generics)*> $crate::served::Asks for $Client {
            type Memory = $Memory;
            type Table = $Table;
            type Server = $Server;
            fn table(buckets: usize, servers: usize) -> $Table {
                <$Table>::new(buckets, 1, servers)
            }
            fn put_before(table: &mut $Table, key: u64, value: u64) -> Option<u64> {
                table.put(key, value)
            }
            fn serve(table: $Table, clients: usize) -> (Vec<$Server>, Vec<Self>) {
                table.serve(clients)
            }
            fn run(server: $Server) -> usize {
                server.run().len()
            }
            fn put(&mut self, key: u64, value: u64) -> Option<u64> {
                self.put(key, value).expect("it is served")
            }
            fn get(&mut self, key: u64) -> Option<u64> {
                self.get(key).expect("it is served")
            }
            fn remove(&mut self, key: u64) -> Option<u64> {
                self.remove(key).expect("it is served")
            }
        }
    };
}
pub(crate) use asks;

asks! {
    [W: Wait, M: Engine] ServedTable<u64, M>, TableServer<u64, W, M>, TableClient<u64, W, M>, M
}

/// The role of a thread of a served table.
enum Part<C: Asks> {
    Serves(C::Server),
    Asks(C),
}

/// The number of keys that the table has from the beginning: more than a bucket's first line holds.
const EARLY: u64 = 9;
/// The key that all clients use.
const COMMON: u64 = 1000;

/// Each client inserts, looks up and removes a key of its own. All put values under a common key.
pub fn served<C: Asks>(servers: usize, clients: usize) {
    let mut table = C::table(servers, servers);
    for key in 0..EARLY {
        assert_eq!(C::put_before(&mut table, key, key), None);
        assert_eq!(C::put_before(&mut table, key, key + 10), Some(key));
    }
    let (serving, asking) = C::serve(table, clients);
    let serving = serving.into_iter().map(Part::Serves);
    let parts = serving.chain(asking.into_iter().map(Part::Asks));
    let parts: Vec<_> = parts.map(|part: Part<C>| Mutex::new(Some(part))).collect();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let returned = Arc::clone(&seen);
    let left = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&left);
    C::Memory::run(servers + clients, move |thread| {
        match parts[thread].lock().expect("no panics").take().expect("it is there") {
            Part::Serves(server) => *counted.lock().expect("no panics") += C::run(server),
            Part::Asks(mut client) => {
                // The last key is beyond the first line of its bucket, or belongs to another
                // server.
                for early in [0, EARLY - 1] {
                    assert_eq!(client.get(early), Some(early + 10));
                }
                let own = 100 + thread as u64;
                let old = client.put(COMMON, own);
                seen.lock().expect("no panics").extend(old);
                assert_eq!(client.put(own, own), None);
                assert_eq!(client.remove(own), Some(own));
                assert_eq!(client.get(own), None);
            }
        }
    });
    // One value is left under the common key; each of the others came back once.
    assert_eq!(*left.lock().expect("no panics"), EARLY as usize + 1);
    let mut returned = std::mem::take(&mut *returned.lock().expect("no panics"));
    returned.sort_unstable();
    returned.dedup();
    assert_eq!(returned.len(), clients - 1);
}

//! SSYNC's hash table over message passing: each server owns a part of the keys, and other
//! threads ask the server.
//!
//! A part never leaves its server's cache, and there is no lock: an operation is a message to the
//! server and one back, four transfers of a line, however many threads want the same bucket. So
//! this table is faster than a table with locks if many threads want few buckets, and slower if the
//! locks would nearly always be free. SSYNC has one server for every three threads.
//!
//! A server is a [delegation server](crate::delegation::Server) of buckets laid out as those of
//! [`LockTable`](super::LockTable), and an operation is a section. Values of up to four words
//! travel in the messages; a larger one stays with its client, and costs the transfers of its
//! lines.
//!
//! Source: David, Guerraoui and Trigonakis, "Everything You Always Wanted to Know About
//! Synchronization but Were Afraid to Ask" (2013), sections 4.3 (ssht) and 6.3.

use core::fmt;

use alloc::vec::Vec;

use super::keys::{arc, spread};
use super::shelf::Shelf;
use crate::channel::Disconnected;
use crate::delegation::{Client, Server};
use crate::memory::{Memory, Native};
use crate::wait::{Park, Wait};

/// A hash table with 64-bit keys, in parts that servers will own.
///
/// ```
/// use syncline::table::ServedTable;
/// use syncline::wait::Park;
///
/// let mut table: ServedTable<&str> = ServedTable::new(512, 12, 1);
/// table.put(7, "seven");
/// let (servers, mut clients) = table.serve::<Park>(2);
/// std::thread::scope(|scope| {
///     for server in servers {
///         scope.spawn(|| server.run());
///     }
///     for client in &mut clients {
///         assert_eq!(client.get(7), Ok(Some("seven")));
///     }
///     assert_eq!(clients[0].remove(7), Ok(Some("seven")));
///     drop(clients); // which ends the servers
/// });
/// ```
pub struct ServedTable<V, M: Memory = Native> {
    parts: Vec<TablePart<V, M>>,
}

/// A part of a [`ServedTable`].
pub struct TablePart<V, M: Memory = Native> {
    shelves: Vec<Shelf<V, M>>,
    /// How many parts the table has.
    parts: usize,
}

/// The server of a part. The thread that runs the server owns the part. A server that is dropped
/// without having run drops its part.
pub struct TableServer<V, W: Wait = Park, M: Memory = Native> {
    server: Server<TablePart<V, M>, W, M>,
}

/// Asks the servers of a table. Dropping it disconnects.
///
/// Each operation takes effect at one moment while it runs (it is linearizable). A thread that gets
/// a value also sees everything that happened before the [`put`](Self::put) of the value.
pub struct TableClient<V, W: Wait = Park, M: Memory = Native> {
    servers: Vec<Client<TablePart<V, M>, W, M>>,
}

/// The servers of a table, and its clients.
type Crew<V, W, M> = (Vec<TableServer<V, W, M>>, Vec<TableClient<V, W, M>>);

impl<V: Send, M: Memory> ServedTable<V, M> {
    /// An empty table with at least `buckets` buckets, distributed evenly over `servers` servers.
    /// Each bucket has room for at least `keys_per_bucket` keys before it has to allocate.
    ///
    /// # Panics
    ///
    /// If there are no buckets, or no servers, or if they take more memory than can be addressed.
    pub fn new(buckets: usize, keys_per_bucket: usize, servers: usize) -> Self {
        assert!(buckets > 0, "a table needs at least one bucket");
        assert!(servers > 0, "a served table needs at least one server");
        let part = |_| {
            let shelves = (0..buckets.div_ceil(servers)).map(|_| Shelf::new(keys_per_bucket));
            TablePart { shelves: shelves.collect(), parts: servers }
        };
        Self { parts: (0..servers).map(part).collect() }
    }

    /// Inserts a value before the servers run, and returns the one that was there for the key.
    pub fn put(&mut self, key: u64, value: V) -> Option<V> {
        let (part, _) = arc(spread(key), self.parts.len());
        self.parts[part].put(key, value)
    }

    /// The servers, and `clients` clients, each of which can ask all servers.
    ///
    /// # Panics
    ///
    /// If there are no clients.
    pub fn serve<W: Wait>(self, clients: usize) -> Crew<V, W, M> {
        assert!(clients > 0, "a served table needs at least one client");
        let mut asking: Vec<_> =
            (0..clients).map(|_| TableClient { servers: Vec::new() }).collect();
        let serving = |part| {
            let mut server = Server::over(part, clients);
            for client in &mut asking {
                client.servers.push(server.connect().expect("there is a slot for each client"));
            }
            TableServer { server }
        };
        (self.parts.into_iter().map(serving).collect(), asking)
    }
}

impl<V: Send, W: Wait, M: Memory> TableServer<V, W, M> {
    /// Serves until all clients are gone, and returns the part.
    pub fn run(self) -> TablePart<V, M> {
        self.server.run()
    }
}

impl<V: Send, W: Wait, M: Memory> TableClient<V, W, M> {
    /// Inserts a value, and returns the one that was there for the key.
    ///
    /// # Errors
    ///
    /// If the key's server is gone.
    #[inline]
    pub fn put(&mut self, key: u64, value: V) -> Result<Option<V>, Disconnected> {
        self.server(key).with(move |part| part.put(key, value))
    }

    /// A copy of the key's value, or `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// If the key's server is gone.
    ///
    /// # Panics
    ///
    /// Panics if `clone` does; the server continues. The server runs `clone`, which must not use
    /// the table.
    #[inline]
    pub fn get(&mut self, key: u64) -> Result<Option<V>, Disconnected>
    where
        V: Clone,
    {
        self.server(key).with(move |part| part.shelf(key).get(key, V::clone))
    }

    /// Removes the key, and returns its value.
    ///
    /// # Errors
    ///
    /// If the key's server is gone.
    #[inline]
    pub fn remove(&mut self, key: u64) -> Result<Option<V>, Disconnected> {
        self.server(key).with(move |part| part.shelf(key).remove(key))
    }

    /// The server that has the key.
    #[inline]
    fn server(&mut self, key: u64) -> &mut Client<TablePart<V, M>, W, M> {
        let (server, _) = arc(spread(key), self.servers.len());
        &mut self.servers[server]
    }
}

impl<V, M: Memory> TablePart<V, M> {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.shelves.iter().map(Shelf::len).sum()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn shelf(&mut self, key: u64) -> &mut Shelf<V, M> {
        let (_, rest) = arc(spread(key), self.parts);
        let (shelf, _) = arc(rest, self.shelves.len());
        &mut self.shelves[shelf]
    }

    #[inline]
    fn put(&mut self, key: u64, value: V) -> Option<V> {
        let shelf = self.shelf(key);
        shelf.put(key, value).unwrap_or_else(|value| {
            shelf.grow();
            let put = shelf.put(key, value);
            put.unwrap_or_else(|_| unreachable!("there is room for a line of keys more"))
        })
    }
}

impl<V, M: Memory> fmt::Debug for ServedTable<V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedTable").field("servers", &self.parts.len()).finish_non_exhaustive()
    }
}

impl<V, M: Memory> fmt::Debug for TablePart<V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TablePart").field("buckets", &self.shelves.len()).finish_non_exhaustive()
    }
}

impl<V, W: Wait, M: Memory> fmt::Debug for TableServer<V, W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableServer").finish_non_exhaustive()
    }
}

impl<V, W: Wait, M: Memory> fmt::Debug for TableClient<V, W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut client = f.debug_struct("TableClient");
        client.field("servers", &self.servers.len()).finish_non_exhaustive()
    }
}

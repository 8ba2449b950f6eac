//! SSYNC's table over message passing: it does what a map does, with several servers and clients.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use syncline::channel::Disconnected;
use syncline::memory::Native;
use syncline::table::{ServedTable, TableClient, TableServer};
use syncline::wait::{Park, Wait, Yield};

/// The next number of a sequence that looks random.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Runs the servers, and a thread for each client. Returns how many keys are left. Threads are
/// joined one by one: a sanitizer doesn't see the order that a scope's end makes.
fn with_servers<V: Send + 'static, W: Wait>(
    table: ServedTable<V>,
    clients: usize,
    work: impl Fn(u64, &mut TableClient<V, W>) + Send + Sync + 'static,
) -> usize {
    let (servers, clients) = table.serve::<W>(clients);
    let serve = |server: TableServer<V, W>| thread::spawn(move || server.run().len());
    let serving: Vec<_> = servers.into_iter().map(serve).collect();
    let work = Arc::new(work);
    let asking: Vec<_> = (0..)
        .zip(clients)
        .map(|(number, mut client)| {
            let work = Arc::clone(&work);
            thread::spawn(move || work(number, &mut client))
        })
        .collect();
    asking.into_iter().for_each(|client| client.join().expect("clients don't panic"));
    serving.into_iter().map(|server| server.join().expect("servers don't panic")).sum()
}

/// A value of `N` equal words.
type Value<const N: usize> = [u64; N];

fn does_what_a_map_does<const N: usize, W: Wait>(buckets: usize, room: usize, servers: usize) {
    const CLIENTS: u64 = 3;
    let mut table = ServedTable::<Value<N>>::new(buckets, room, servers);
    (0..50).for_each(|key| assert_eq!(table.put(key * CLIENTS, [key; N]), None));
    assert_eq!(table.put(0, [0; N]), Some([0; N]));
    let left = with_servers::<_, W>(table, CLIENTS as usize, move |number, client| {
        // Each client has keys of its own, so that its model is right.
        let mut model: HashMap<u64, Value<N>> = HashMap::new();
        if number == 0 {
            model.extend((0..50).map(|key| (key * CLIENTS, [key; N])));
        }
        let mut state = number + 7;
        for step in 0..2000 {
            let key = random(&mut state) % 60 * CLIENTS + number;
            match random(&mut state) % 3 {
                0 => assert_eq!(client.put(key, [step; N]), Ok(model.insert(key, [step; N]))),
                1 => assert_eq!(client.get(key), Ok(model.get(&key).copied())),
                _ => assert_eq!(client.remove(key), Ok(model.remove(&key))),
            }
        }
        for key in model.into_keys().filter(|key| key % 2 == 0) {
            assert!(client.remove(key).is_ok_and(|value| value.is_some()));
        }
    });
    assert!(left > 0 && left <= 90, "{left} keys are left");
}

#[test]
fn small_values_and_large_ones() {
    for (buckets, room, servers) in [(1, 0, 1), (12, 12, 2), (5, 48, 3)] {
        does_what_a_map_does::<1, Park>(buckets, room, servers);
        does_what_a_map_does::<4, Park>(buckets, room, servers);
        does_what_a_map_does::<8, Park>(buckets, room, servers);
        does_what_a_map_does::<4, Yield>(buckets, room, servers);
    }
}

#[test]
fn all_clients_see_one_table() {
    const EACH: u64 = 500;
    let table = ServedTable::<u64>::new(4, 4, 2);
    let left = with_servers::<_, Park>(table, 4, |number, client| {
        for key in 0..EACH {
            let old = client.put(key, number).expect("it is served");
            assert!(old.is_none_or(|old| old < 4));
            assert!(client.get(key).is_ok_and(|value| value.is_some()));
        }
    });
    assert_eq!(left, EACH as usize);
}

#[test]
fn clients_of_a_server_that_is_gone_are_told_so() {
    let (mut servers, mut clients) = ServedTable::<u64>::new(8, 8, 2).serve::<Park>(1);
    drop(servers.pop());
    let serving = thread::spawn(move || servers.remove(0).run().len());
    let results: Vec<_> = (0..20).map(|key| clients[0].put(key, key)).collect();
    assert!(results.contains(&Ok(None)) && results.contains(&Err(Disconnected)));
    drop(clients);
    let left = serving.join().expect("it ends");
    assert_eq!(left, results.iter().filter(|result| result.is_ok()).count());
}

/// A value that can't be copied.
#[derive(Debug)]
struct Stubborn;

impl Clone for Stubborn {
    fn clone(&self) -> Self {
        panic!("this value can't be copied")
    }
}

#[test]
fn a_value_that_panics_stops_no_server() {
    let (mut servers, mut clients) = ServedTable::<Stubborn>::new(1, 1, 1).serve::<Park>(1);
    let server = servers.remove(0);
    let serving = thread::spawn(move || server.run().len());
    assert!(matches!(clients[0].put(1, Stubborn), Ok(None)));
    assert!(catch_unwind(AssertUnwindSafe(|| clients[0].get(1))).is_err());
    assert!(matches!(clients[0].remove(1), Ok(Some(Stubborn))));
    drop(clients);
    assert_eq!(serving.join().expect("it ends"), 0);
}

#[test]
fn values_are_dropped_once() {
    let token = Arc::new(());
    let mut table = ServedTable::<Arc<()>>::new(3, 2, 2);
    (0..30).for_each(|key| drop(table.put(key, Arc::clone(&token))));
    let (servers, mut clients) = table.serve::<Park>(2);
    let serving: Vec<_> = servers.into_iter().map(|s| thread::spawn(move || s.run())).collect();
    for key in 0..10 {
        assert!(clients[0].remove(key).is_ok_and(|value| value.is_some()));
        assert!(clients[1].put(key + 10, Arc::clone(&token)).is_ok_and(|value| value.is_some()));
    }
    drop(clients);
    let parts: Vec<_> = serving.into_iter().map(|s| s.join().expect("it ends")).collect();
    assert_eq!(Arc::strong_count(&token), 21);
    drop(parts);
    assert_eq!(Arc::strong_count(&token), 1);
}

fn panic_of<R>(act: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(act()))).expect_err("a panic");
    panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).unwrap_or_default()
}

#[test]
fn a_table_needs_buckets_servers_and_clients() {
    let table = |buckets, servers| ServedTable::<u64, Native>::new(buckets, 1, servers);
    assert_eq!(panic_of(|| table(0, 1)), "a table needs at least one bucket");
    assert_eq!(panic_of(|| table(1, 0)), "a served table needs at least one server");
    assert_eq!(
        panic_of(|| table(1, 1).serve::<Park>(0)),
        "a served table needs at least one client"
    );
}

//! Values that belong to a server thread: delegation servers, and served tables.

use std::thread;

use syncline::channel::Disconnected;
use syncline::delegation::{Client, Server};
use syncline::memory::Native;
use syncline::table::ServedTable;
use syncline::wait::{Park, Spin, Wait, Yield};

use crate::{ROUNDS, THREADS, fail, fails};

fn serves<W: Wait>() {
    let mut server = Server::<Box<u64>, W, Native>::over(Box::new(0), THREADS as usize);
    let clients: Vec<_> = (0..THREADS).map(|_| server.connect().expect("a slot")).collect();
    let count = thread::scope(|scope| {
        for mut client in clients {
            scope.spawn(move || calls(&mut client));
        }
        scope.spawn(|| server.run()).join().expect("it serves")
    });
    assert_eq!(*count, 2 * THREADS * ROUNDS);
}

fn calls<W: Wait>(client: &mut Client<Box<u64>, W>) {
    for round in 0..ROUNDS {
        let mut seen = Box::new(0);
        let small = client.with(|count| {
            **count += 1;
            *seen = **count;
        });
        assert!(small.is_ok() && *seen > 0);
        let large = [round; 20];
        let copy = client.with(|count| {
            **count += 1;
            (Box::new(large), large)
        });
        assert!(copy.is_ok_and(|(boxed, copy)| *boxed == copy && copy == large));
    }
    fails(|| client.with(|_| fail()));
}

#[test]
fn servers_that_spin() {
    serves::<Spin>();
}

#[test]
fn servers_that_yield() {
    serves::<Yield>();
}

#[test]
fn servers_that_park() {
    serves::<Park>();
}

#[test]
fn a_server_that_goes_leaves_no_section_behind() {
    let mut server = Server::new(Box::new(0), 2);
    let (mut one, mut other) = (server.connect().expect("a slot"), server.connect().expect("two"));
    let mine = Box::new(1);
    thread::scope(|scope| {
        let calling = scope.spawn(move || one.with(move |_| drop(mine)));
        drop(server);
        assert_eq!(calling.join().expect("it ends"), Err(Disconnected));
    });
    let large = [(); 20].map(|()| Box::new(0));
    assert_eq!(other.with(move |_| drop(large)), Err(Disconnected));
}

#[test]
fn a_served_table_is_used_by_several_clients() {
    let mut table = ServedTable::<Box<u64>>::new(2, 2, 2);
    (0..4).for_each(|key| drop(table.put(key, Box::new(key))));
    let (servers, clients) = table.serve::<Park>(THREADS as usize);
    let left: usize = thread::scope(|scope| {
        let serving: Vec<_> =
            servers.into_iter().map(|server| scope.spawn(|| server.run().len())).collect();
        for (number, mut client) in (0..THREADS).zip(clients) {
            scope.spawn(move || {
                for key in number..number + 2 * ROUNDS {
                    let old = client.put(key, Box::new(key)).expect("it is served");
                    assert!(old.is_none_or(|old| *old == key));
                    let found = client.get(key).expect("it is served");
                    assert!(found.is_none_or(|found| *found == key));
                }
                drop(client.remove(number));
            });
        }
        serving.into_iter().map(|server| server.join().expect("it serves")).sum()
    });
    assert!(left > 0);
}

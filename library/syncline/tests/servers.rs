//! Delegation servers: sections run once and in order, whatever their size, and nothing hangs or
//! leaks when a server or a client is dropped. These tests need nothing but `syncline`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use syncline::channel::{Disconnected, NoSlot};
use syncline::delegation::{Client, Server};
use syncline::memory::Native;
use syncline::wait::{Park, Wait, Yield};

const CLIENTS: usize = 4;
const CALLS: u64 = 500;

fn counts<W: Wait>() {
    let mut server = Server::<Vec<u64>, W, Native>::over(vec![0; CLIENTS], CLIENTS);
    let clients: Vec<_> = (0..CLIENTS).map(|_| server.connect().expect("a slot")).collect();
    assert_eq!(server.connect().err(), Some(NoSlot(CLIENTS)));
    let counts = thread::scope(|scope| {
        let call = |(number, mut client): (usize, Client<Vec<u64>, W, Native>)| {
            scope.spawn(move || {
                let mut mine = Vec::new();
                for call in 0..CALLS {
                    // Each section borrows from this stack. The second one's result is larger than
                    // a message.
                    let seen = match call % 2 {
                        0 => client.with(|counts| {
                            mine.push(call);
                            counts[number] += 1;
                            counts[number]
                        }),
                        _ => {
                            let large = [call; 40];
                            let copy = client.with(|counts| {
                                mine.push(large[39]);
                                counts[number] += 1;
                                [counts[number]; 40]
                            });
                            copy.map(|copy| copy[39])
                        }
                    };
                    assert_eq!(seen, Ok(call + 1));
                }
                assert!(mine.into_iter().eq(0..CALLS));
            })
        };
        let calling: Vec<_> = clients.into_iter().enumerate().map(call).collect();
        let counts = scope.spawn(|| server.run()).join().expect("it serves");
        // One by one: a sanitizer doesn't see the order that a scope's end makes.
        calling.into_iter().for_each(|client| client.join().expect("it ends"));
        counts
    });
    assert_eq!(counts, [CALLS; CLIENTS]);
}

#[test]
fn sections_run_once_under_a_server_that_parks() {
    counts::<Park>();
}

#[test]
fn sections_run_once_under_a_server_that_yields() {
    counts::<Yield>();
}

#[test]
fn a_panic_comes_back_and_the_server_goes_on() {
    let mut server = Server::new(0, 1);
    let mut client = server.connect().expect("a slot");
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.run());
        let mut fails = |code: u8| {
            let section = |count: &mut i32| {
                *count += 1;
                resume_unwind(Box::new(code))
            };
            let failed = catch_unwind(AssertUnwindSafe(|| client.with::<()>(section)));
            failed.expect_err("it panics").downcast_ref::<u8>().copied()
        };
        assert_eq!(fails(7), Some(7));
        assert_eq!(client.with(|count| *count), Ok(1));
        drop(client);
        assert_eq!(serving.join().expect("it serves"), 1);
    });
}

#[test]
fn who_calls_a_server_that_is_gone_is_told_so() {
    let token = Arc::new(());
    let mut server = Server::new((), 2);
    let (mut one, mut other) = (server.connect().expect("a slot"), server.connect().expect("two"));
    thread::scope(|scope| {
        let mine = Arc::clone(&token);
        // The call comes before the server is dropped, or after.
        let calling = scope.spawn(move || one.with(move |()| drop(mine)));
        drop(server);
        assert_eq!(calling.join().expect("it ends"), Err(Disconnected));
    });
    let large = [(); 20].map(|()| Arc::clone(&token));
    assert_eq!(other.with(move |()| drop(large)), Err(Disconnected));
    assert_eq!(other.with(|()| ()), Err(Disconnected));
    assert_eq!(Arc::strong_count(&token), 1, "a section was not dropped");
}

#[test]
fn a_slot_is_free_again_when_its_client_is_gone() {
    let mut server = Server::new(5, 1);
    for _ in 0..3 {
        let client = server.connect().expect("a slot");
        assert!(server.connect().is_err());
        drop(client);
    }
    assert_eq!(server.run(), 5, "nobody is left to be served");
}

#[test]
#[should_panic(expected = "needs a slot")]
fn a_server_without_slots_is_refused() {
    drop(Server::new((), 0));
}

//! Tilera's hardware messages arrive completely and in order, and have the costs that the machine's
//! description gives.

use std::cell::{Cell, RefCell};

use syncline_sim::Machine;
use syncline_sim::engine::{self, Body, Engine};

/// Cycles from the beginning of sending a message of `words` words until hardware thread `to` has
/// received it.
fn one_way(machine: &Machine, to: usize, words: usize) -> u64 {
    let (sent, there) = (Cell::new(0), Cell::new(0));
    let message = vec![7; words];
    let sender: Body<'_> = Box::new(|| {
        engine::delay(500);
        sent.set(engine::now());
        engine::send(to, &message);
    });
    let receiver: Body<'_> = Box::new(|| {
        assert_eq!(*engine::receive(), *message);
        there.set(engine::now());
    });
    Engine::new(machine, 1).run(vec![(0, sender), (to, receiver)]);
    there.get() - sent.get()
}

#[test]
fn a_message_costs_sending_hops_and_receiving() {
    let tilera = Machine::named("tilera").unwrap();
    // Sending the first word takes 30.2 + 2.2 cycles, each hop takes one, and receiving takes 9.8
    // plus 2.2 for each of 8 words.
    assert_eq!(one_way(&tilera, 1, 8), 33 + 27);
    assert_eq!(one_way(&tilera, 35, 8), 42 + 27);
    assert!(one_way(&tilera, 1, 1) < one_way(&tilera, 1, 8));
}

/// The number of messages per second that a server receives from 35 clients. Each message has
/// `words` words. If `round_trip`, the server answers.
fn served(words: usize, round_trip: bool) -> f64 {
    const EACH: usize = 200;
    let tilera = Machine::named("tilera").unwrap();
    let clients = tilera.threads() - 1;
    let server: Body<'_> = Box::new(move || {
        for _ in 0..EACH * clients {
            let message = engine::receive();
            if round_trip {
                engine::send(message[0] as usize, &message);
            }
        }
    });
    let mut threads = vec![(0, server)];
    for place in 1..tilera.threads() {
        let client: Body<'_> = Box::new(move || {
            let message = vec![place as u64; words];
            for _ in 0..EACH {
                engine::send(0, &message);
                if round_trip {
                    assert_eq!(engine::receive()[0], place as u64);
                }
            }
        });
        threads.push((place, client));
    }
    let outcome = Engine::new(&tilera, 1).run(threads);
    (EACH * clients) as f64 / (outcome.cycles as f64 / tilera.description.hertz)
}

#[test]
fn a_server_and_35_clients() {
    // The costs in the description are derived from the numbers of claim S14, so this test only
    // checks that the engine agrees with the description.
    for (words, round_trip, expected) in [(8, true, 16e6), (1, true, 27e6), (1, false, 100e6)] {
        let rate = served(words, round_trip);
        assert!((rate / expected - 1.0).abs() < 0.1, "{words} words: {rate:.3e}, not {expected:e}");
    }
}

#[test]
fn messages_of_one_sender_arrive_in_order_and_a_full_inbox_holds_senders_back() {
    let tilera = Machine::named("tilera").unwrap();
    let room = tilera.description.messages.unwrap().room as u64;
    let (sent, latest) = (Cell::new(0), RefCell::new([0; 3]));
    let mut threads: Vec<(usize, Body<'_>)> = Vec::new();
    for (number, place) in [1, 20, 35].into_iter().enumerate() {
        let sent = &sent;
        let body = move || {
            for count in 1..=room {
                engine::send(0, &[number as u64, count]);
                sent.set(sent.get() + 1);
            }
        };
        threads.push((place, Box::new(body)));
    }
    let receiver: Body<'_> = Box::new(|| {
        engine::delay(1_000_000);
        // Nothing has been received yet, so the sent messages fill the inbox. Each message has two
        // words.
        assert_eq!(sent.get(), room / 2);
        for _ in 0..3 * room {
            let message = engine::receive();
            let mut latest = latest.borrow_mut();
            let before = &mut latest[message[0] as usize];
            assert_eq!(message[1], *before + 1);
            *before += 1;
        }
    });
    threads.push((0, receiver));
    Engine::new(&tilera, 1).run(threads);
    assert_eq!(latest.into_inner(), [room; 3]);
}

#[test]
#[should_panic(expected = "no thread is left to wake them")]
fn waiting_for_a_message_that_never_comes_panics() {
    let tilera = Machine::named("tilera").unwrap();
    Engine::new(&tilera, 1).run(vec![(0, Box::new(|| drop(engine::receive())))]);
}

#[test]
#[should_panic(expected = "has messages in hardware")]
fn messages_on_a_machine_without_them_are_refused() {
    let xeon = Machine::named("xeon").unwrap();
    Engine::new(&xeon, 1).run(vec![(0, Box::new(|| engine::send(1, &[1])))]);
}

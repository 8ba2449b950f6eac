//! Tests of messages between a server and its callers. Each request is answered once, to the caller
//! that sent it. A request that waits does not delay others. The server and a caller notice when
//! the other one is gone.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use syncline_fabric::server::{Answers, Card, Gone, Link, Peer, Service, serve};

/// A service that answers a request with the request's own bytes. The request "wait" is answered
/// only when the switch is on. The service counts the callers that have left.
#[derive(Clone, Default)]
struct Echo {
    switch: Arc<AtomicBool>,
    left: Arc<AtomicU32>,
    told: Arc<AtomicU32>,
    waiting: Vec<(Peer, u64)>,
}

impl Service for Echo {
    fn asked(&mut self, from: Peer, number: u64, bytes: &[u8], answers: &mut Answers) {
        match bytes {
            b"wait" => self.waiting.push((from, number)),
            b"told" => _ = self.told.fetch_add(1, SeqCst),
            _ => answers.give(from, number, bytes),
        }
    }

    fn left(&mut self, peer: Peer) {
        self.waiting.retain(|(waits, _)| *waits != peer);
        self.left.fetch_add(1, SeqCst);
    }

    fn go_on(&mut self, answers: &mut Answers) -> bool {
        if self.switch.load(SeqCst) {
            self.waiting.drain(..).for_each(|(peer, number)| answers.give(peer, number, b"now"));
        }
        !self.waiting.is_empty()
    }
}

fn started() -> (Echo, Card) {
    let echo = Echo::default();
    let its = echo.clone();
    (echo, serve(move || its).expect("a server"))
}

fn rest(_: u32) {
    thread::yield_now();
}

fn until(what: &str, happens: impl Fn() -> bool) {
    let start = Instant::now();
    while !happens() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn each_thread_gets_its_own_answers() {
    let (_, card) = started();
    let link = Link::connect(&card).expect("a connection");
    thread::scope(|scope| {
        for thread in 0..4u64 {
            let link = &link;
            scope.spawn(move || {
                for turn in 0..500u64 {
                    let asked = [thread.to_le_bytes(), turn.to_le_bytes()].concat();
                    assert_eq!(link.call(&asked, rest), Ok(asked));
                }
            });
        }
    });
}

#[test]
fn a_waiting_request_does_not_delay_others() {
    let (echo, card) = started();
    let links = [(); 3].map(|()| Link::connect(&card).expect("a connection"));
    let waits = links[0].ask(b"wait").expect("it is there");
    // While the first request waits, other requests are answered for 30 ms.
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(30) {
        assert_eq!(links[1].call(b"other", rest).as_deref(), Ok(&b"other"[..]));
        assert_eq!(links[0].call(b"same", rest).as_deref(), Ok(&b"same"[..]));
    }
    assert_eq!(links[0].answer(waits), Ok(None));
    let [first, second, third] = links;
    let gone = second.ask(b"wait").expect("it is there");
    drop(second);
    until("nobody left", || echo.left.load(SeqCst) == 1);
    let _ = gone;
    echo.switch.store(true, SeqCst);
    until("no answer", || first.answer(waits).expect("it is there").is_some());
    assert_eq!(first.answer(waits), Ok(None), "the answer came twice");
    assert_eq!(third.tell(b"told"), Ok(()));
    until("not told", || echo.told.load(SeqCst) == 1);
}

#[test]
fn long_messages_are_echoed() {
    let (_, card) = started();
    let link = Link::connect(&card).expect("a connection");
    let long: Vec<u8> = (0..5_000_000u32).map(|at| (at * 7 % 253) as u8).collect();
    assert!(link.call(&long, rest).expect("it is there") == long);
}

#[test]
fn a_connection_without_the_token_is_refused() {
    let (echo, card) = started();
    let mut bytes = card.to_bytes();
    bytes[0] ^= 1;
    assert!(Link::connect(&Card::from_bytes(&bytes)).is_err());
    assert_eq!(echo.left.load(SeqCst), 0, "it was let in");
    let port = u16::from_le_bytes([bytes[16], bytes[17]]);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it is there");
    assert!(matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_)), "it was answered");
    assert!(Link::connect(&card).is_ok());
}

/// The server that ends is this test program again, in another process.
#[test]
fn a_call_fails_when_the_server_has_ended() {
    const CARD: &str = "SYNCLINE_TEST_CARD";
    if let Ok(file) = std::env::var(CARD) {
        let (_, card) = started();
        std::fs::write(format!("{file}.new"), card.to_bytes()).expect("a file");
        std::fs::rename(format!("{file}.new"), file).expect("a file");
        thread::sleep(Duration::from_secs(60));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("card");
    let mut command = std::process::Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "a_call_fails_when_the_server_has_ended"]).env(CARD, &file);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("a process");
    until("no card", || file.exists());
    let bytes = std::fs::read(&file).expect("a card").try_into().expect("as long as a card");
    let link = Link::connect(&Card::from_bytes(&bytes)).expect("a connection");
    let waits = link.ask(b"wait").expect("it is there");
    assert_eq!(link.answer(waits), Ok(None));
    child.kill().expect("it is killed");
    until("it does not hear", || link.answer(waits) == Err(Gone));
    assert_eq!(link.tell(b"told"), Err(Gone));
    child.wait().expect("it has ended");
}

//! memcached with four threads and four clients that run at the same time: clients read back what
//! they stored.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use syncline_conformance::{Case, eventually};

use crate::{assert_locks, installed, serve_both};

const CLIENTS: u64 = 4;
const KEYS: u64 = 2000;

#[test]
fn memcached() {
    let program = installed("/usr/bin/memcached", "memcached");
    let server = |folder: &Path| {
        let case = Case::new(&program).args(["-u", "root", "-t", "4", "-A", "-s"]);
        case.arg(folder.join("socket"))
    };
    let recording = serve_both(server, |folder| {
        let answers: Vec<u64> = thread::scope(|scope| {
            let client = |number| move || client(&folder.join("socket"), number);
            let running: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(client(n))).collect();
            running.into_iter().map(|c| c.join().expect("a client")).collect()
        });
        connect(&folder.join("socket")).get_mut().write_all(b"shutdown\r\n").expect("a shutdown");
        answers
    });
    assert_locks(&recording, "memcached", CLIENTS * KEYS);
}

fn connect(socket: &Path) -> BufReader<UnixStream> {
    BufReader::new(eventually("memcached", || UnixStream::connect(socket).ok()))
}

/// Stores values, reads them back, increments them, and deletes some. Returns the sum of the values
/// that it has read back.
fn client(socket: &Path, number: u64) -> u64 {
    let mut server = connect(socket);
    let mut ask = |question: String| {
        server.get_mut().write_all(question.as_bytes()).expect("a question");
        let mut answer = String::new();
        server.read_line(&mut answer).expect("an answer");
        if answer.starts_with("VALUE") {
            answer.clear();
            server.read_line(&mut answer).expect("a value");
            let mut end = String::new();
            server.read_line(&mut end).expect("an end");
            assert_eq!(end, "END\r\n");
        }
        answer.trim_end().to_owned()
    };
    let mut sum = 0;
    for key in 0..KEYS {
        let value = (key * 7919 + number).to_string();
        let length = value.len();
        assert_eq!(ask(format!("set k{number}-{key} 0 0 {length}\r\n{value}\r\n")), "STORED");
    }
    for key in 0..KEYS {
        let expected = key * 7919 + number;
        let value = ask(format!("get k{number}-{key}\r\n"));
        assert_eq!(value, expected.to_string());
        sum += expected;
        assert_eq!(ask(format!("incr k{number}-{key} 5\r\n")), (expected + 5).to_string());
        if key % 3 == 0 {
            assert_eq!(ask(format!("delete k{number}-{key}\r\n")), "DELETED");
            assert_eq!(ask(format!("get k{number}-{key}\r\n")), "END");
        }
    }
    sum
}

//! memcached, pbzip2 and x264 of Debian with other locks: their answers and output bytes stay the
//! same, with one thread for each of two processors and with 32.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use syncline_conformance::{Case, Program, scratch};

/// The default lock, a queue lock that fits into the object, a queue lock behind a pointer, and a
/// lock like the C library's.
const LOCKS: [&str; 4] = ["gate+rw_readers", "mcs-park", "hmcs-park", "futex+rw_compact"];
/// The numbers of threads: 1 and 32 for each of two processors.
const THREADS: [usize; 2] = [2, 64];
const CLIENTS: u32 = 8;
const KEYS: u32 = 300;

/// A program that `./x setup` installs.
pub fn installed(path: &str) -> Program {
    assert!(Path::new(path).exists(), "{path} is missing: run ./x setup");
    Program::installed(path)
}

/// A case that runs a script with the folder and the number of threads as parameters.
pub fn script(text: &str, folder: &Path, threads: usize) -> Case {
    let shell = Case::new(&installed("/bin/sh")).args(["-ec", text, "sh"]);
    shell.arg(folder).arg(threads.to_string()).limit(120)
}

/// The output of a case with these locks, or with the program's own if `locks` is `None`.
pub fn behaviour(case: &Case, locks: Option<&str>) -> String {
    let outcome = locks.map_or_else(|| case.plain(), |locks| case.replaced(locks));
    outcome.behaviour()
}

/// Checks that a program prints the same with each of [`LOCKS`] as with its own locks. `run` gets
/// the number of threads and the locks.
fn assert_same_output(run: fn(usize, Option<&str>) -> String) {
    for threads in THREADS {
        let plain = run(threads, None);
        assert!(plain.len() > 3, "{plain}");
        let plain = &plain;
        // The locks run at the same time, because servers and their clients mostly sleep.
        thread::scope(|scope| {
            for locks in LOCKS {
                scope.spawn(move || {
                    assert_eq!(run(threads, Some(locks)), *plain, "{locks}, {threads} threads");
                });
            }
        });
    }
}

#[test]
fn pbzip2() {
    assert_same_output(pbzip2_bytes);
}

/// The checksum of the file that pbzip2 packs. The run fails if unpacking does not give the
/// original.
pub fn pbzip2_bytes(threads: usize, locks: Option<&str>) -> String {
    installed("/usr/bin/pbzip2");
    let folder = scratch();
    let text: Vec<u8> = (0..300_000u32)
        .flat_map(|n| format!("{:x} and ", n.wrapping_mul(2_654_435_761) % 5000).into_bytes())
        .collect();
    fs::write(folder.path().join("text"), text).expect("a file");
    let steps = "
        pbzip2 -p$2 -b1 -c \"$1/text\" | sha256sum
        pbzip2 -p$2 -b1 -c \"$1/text\" | pbzip2 -d -p$2 -c | cmp - \"$1/text\"";
    behaviour(&script(steps, folder.path(), threads), locks)
}

#[test]
fn x264() {
    assert_same_output(x264_bytes);
}

/// The checksum of the video that x264 encodes.
pub fn x264_bytes(threads: usize, locks: Option<&str>) -> String {
    installed("/usr/bin/x264");
    let folder = scratch();
    write_video(&folder.path().join("video.y4m"));
    let step = "x264 --quiet --threads $2 --muxer raw -o - \"$1/video.y4m\" | sha256sum";
    behaviour(&script(step, folder.path(), threads), locks)
}

/// Twelve frames of a moving pattern, 320 by 240.
fn write_video(path: &Path) {
    const WIDTH: usize = 320;
    const HEIGHT: usize = 240;
    let mut video = format!("YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C420jpeg\n").into_bytes();
    for frame in 0..12 {
        video.extend_from_slice(b"FRAME\n");
        let pixels = (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y)));
        video.extend(pixels.map(|(x, y)| ((x + 3 * frame) ^ (y + frame)) as u8));
        video.resize(video.len() + WIDTH * HEIGHT / 2, 128);
    }
    fs::write(path, video).expect("a video");
}

#[test]
fn memcached() {
    assert_same_output(memcached_answers);
}

/// Runs eight clients, which check that they read what they stored. Returns the value of a number
/// that all clients increment.
pub fn memcached_answers(threads: usize, locks: Option<&str>) -> String {
    let program = installed("/usr/bin/memcached");
    let folder = scratch();
    let socket = folder.path().join("socket");
    let case = Case::new(&program).args(["-u", "root", "-A", "-t", &threads.to_string()]);
    let case = case.arg("-s").arg(&socket).limit(120);
    thread::scope(|scope| {
        let server = scope.spawn(|| behaviour(&case, locks));
        let mut control = connect(&socket);
        assert_eq!(ask(&mut control, "set all 0 0 1\r\n0\r\n"), "STORED");
        let socket = &socket;
        thread::scope(|clients| {
            (0..CLIENTS).for_each(|number| drop(clients.spawn(move || talk(socket, number))));
        });
        let sum = (CLIENTS * KEYS).to_string();
        let counted = ask(&mut control, "get all\r\n");
        assert_eq!(counted, sum);
        control.get_mut().write_all(b"shutdown\r\n").expect("a shutdown");
        server.join().expect("the server ends well");
        counted
    })
}

fn connect(socket: &Path) -> BufReader<UnixStream> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return BufReader::new(stream),
            Err(error) => assert!(Instant::now() < deadline, "no server: {error}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a request, and returns the answer or the value in it.
fn ask(server: &mut BufReader<UnixStream>, question: &str) -> String {
    server.get_mut().write_all(question.as_bytes()).expect("a question");
    let mut lines = server.lines().map(|line| line.expect("an answer"));
    let mut answer = lines.next().expect("an answer");
    if answer.starts_with("VALUE") {
        answer = lines.next().expect("a value");
        assert_eq!(lines.next().as_deref(), Some("END"));
    }
    answer.trim_end().to_owned()
}

/// A client: stores values under its own keys and reads them back, and increments a number that all
/// clients share.
fn talk(socket: &Path, number: u32) {
    let mut server = connect(socket);
    let mut ask = |question: String| ask(&mut server, &question);
    for key in 0..KEYS {
        let value = (key * 7919 + number).to_string();
        let length = value.len();
        assert_eq!(ask(format!("set k{number}-{key} 0 0 {length}\r\n{value}\r\n")), "STORED");
        assert_eq!(ask(format!("get k{number}-{key}\r\n")), value);
        ask("incr all 1\r\n".to_owned());
    }
    for key in (0..KEYS).step_by(3) {
        assert_eq!(ask(format!("delete k{number}-{key}\r\n")), "DELETED");
        assert_eq!(ask(format!("get k{number}-{key}\r\n")), "END");
    }
}

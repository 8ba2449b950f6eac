//! The cost of recording a server that is already running: how long its threads are stopped, how
//! fast the server is while it is recorded, and whether its speed recovers afterwards.
//!
//! Four memcached servers run at the same time: one to which Syncline never attached, one that was
//! started under `syncline record`, one to which Syncline is attached, and one from which it has
//! detached. Clients put the same load on each in turn. The comparison uses answers per second
//! within one round. The command itself measures how long threads are stopped, on a program with a
//! thousand waiting threads.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;

use crate::lab::{Lab, built, find_program};
use crate::size::Size;
use crate::statistics::{median, spread};

/// The fields of the last line.
pub const FIELDS: &str = "
  stop_ms         milliseconds of the longest stop of one thread, in a process of 1,000 threads;
                  no other thread was stopped
  attached_ratio  memcached's answers per second while attached, over those when started under
                  `record`
  after_ratio     likewise after detaching, over those when never attached
";

const CLIENTS: usize = 4;

#[derive(Serialize)]
struct Line {
    stop_ms: f64,
    attached_ratio: f64,
    after_ratio: f64,
}

/// Runs the benchmark.
///
/// # Errors
/// If a program is missing, or an answer is wrong.
pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let folder =
        built(&["syncline", "libsyncline_recorder.so"], "-p syncline-cli -p syncline-recorder")?;
    let bench = Bench { lab: &lab, syncline: folder.join("syncline") };
    let stop_ms = bench.stops(size.pick(1, 5, 50))?;
    let rounds = size.pick(1, 15, 100);
    let length = Duration::from_millis(size.pick(30, 250, 500));
    let [plain, started, attached, after] = bench.serve(rounds, length)?;
    let ratios =
        |of: &[f64], to: &[f64]| -> Vec<f64> { of.iter().zip(to).map(|(a, b)| a / b).collect() };
    let rows = [
        ("started under record / plain", ratios(&started, &plain)),
        ("attached / started under record", ratios(&attached, &started)),
        ("attached / plain", ratios(&attached, &plain)),
        ("after detaching / plain", ratios(&after, &plain)),
    ];
    println!(
        "memcached, {CLIENTS} clients, {rounds} rounds: answers in a second, median and 95 %\n"
    );
    for (name, ratios) in &rows {
        let spread = spread(ratios);
        println!("  {name:<34} {:.3}   {:.3} to {:.3}", median(ratios), spread.low, spread.high);
    }
    println!(
        "\nplain: {:.0} answers in a second; a thread of 1,000 stopped for {stop_ms:.1} ms at most\n",
        median(&plain)
    );
    let round = |value: f64| (value * 1e4).round() / 1e4;
    Ok(serde_json::to_string(&Line {
        stop_ms: round(stop_ms),
        attached_ratio: round(median(&rows[1].1)),
        after_ratio: round(median(&rows[3].1)),
    })?)
}

struct Bench<'a> {
    lab: &'a Lab,
    syncline: PathBuf,
}

/// A child process that is ended when this value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: the child has not been waited for, so no other process can have its number.
        unsafe { libc::kill(self.0.id() as libc::pid_t, libc::SIGTERM) };
        let _ = self.0.wait();
    }
}

impl Bench<'_> {
    /// The longest stop of a thread in this many recordings, in milliseconds.
    fn stops(&self, times: usize) -> anyhow::Result<f64> {
        let program = self.lab.compile("waiting", include_str!("../programs/waiting.c"))?;
        let mut child = Command::new(program);
        let child = child.arg("1000").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut child = Running(child);
        let output = child.0.stdout.take().context("a pipe")?;
        BufReader::new(output).read_line(&mut String::new())?;
        let mut longest = 0f64;
        for _ in 0..times {
            let mut record = self.record(child.0.id(), "stops");
            let output = record.args(["--for", "0.1s"]).output()?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            ensure!(output.status.success(), "{said}");
            for part in said.split("stopped for ").skip(1) {
                let number = part.split(' ').next().unwrap_or_default();
                longest = longest.max(number.parse().context("a time")?);
            }
        }
        Ok(longest)
    }

    fn record(&self, pid: u32, name: &str) -> Command {
        let mut command = Command::new(&self.syncline);
        command.args(["record", "-p", &pid.to_string(), "-o"]).arg(self.lab.path(name));
        command
    }

    /// Answers per second of the four servers, for each round.
    fn serve(&self, rounds: usize, length: Duration) -> anyhow::Result<[Vec<f64>; 4]> {
        let memcached = find_program(&["memcached"], "memcached")?;
        let start = |name: &str, recorded: bool| -> anyhow::Result<(Running, PathBuf)> {
            let socket = self.lab.path(name);
            let mut command = if recorded {
                let mut command = Command::new(&self.syncline);
                command.arg("record").arg("-o").arg(self.lab.path("started")).arg(&memcached);
                command
            } else {
                Command::new(&memcached)
            };
            command.args(["-u", "root", "-t", "2", "-m", "64", "-s"]).arg(&socket);
            let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
            let child = Running(child);
            let until = Instant::now() + Duration::from_secs(10);
            while UnixStream::connect(&socket).is_err() {
                ensure!(Instant::now() < until, "memcached does not answer");
                thread::sleep(Duration::from_millis(5));
            }
            Ok((child, socket))
        };
        let plain = start("plain", false)?;
        let started = start("recorded", true)?;
        let attached = start("attached", false)?;
        let after = start("after", false)?;
        let output = self.record(after.0.0.id(), "left").args(["--for", "0.5s"]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = self.lab.path("said");
        let mut command = self.record(attached.0.0.id(), "kept");
        let _recording = Running(command.stderr(fs::File::create(&said)?).spawn()?);
        let until = Instant::now() + Duration::from_secs(20);
        while !fs::read_to_string(&said)?.contains("attached") {
            ensure!(Instant::now() < until, "{}", fs::read_to_string(&said)?);
            thread::sleep(Duration::from_millis(5));
        }
        let sockets = [&plain.1, &started.1, &attached.1, &after.1];
        let mut results: [Vec<f64>; 4] = Default::default();
        // The first round is not counted; every other round runs in reverse order.
        for round in 0..=rounds {
            for place in 0..sockets.len() {
                let side = if round % 2 == 0 { place } else { sockets.len() - 1 - place };
                let speed = load(sockets[side], length)?;
                if round > 0 {
                    results[side].push(speed);
                }
            }
        }
        Ok(results)
    }
}

/// Puts load on a server for this long. Returns answers per second.
fn load(socket: &Path, length: Duration) -> anyhow::Result<f64> {
    let answered = AtomicU64::new(0);
    let began = Instant::now();
    thread::scope(|scope| {
        let client = |number: usize| {
            let answered = &answered;
            move || -> anyhow::Result<()> {
                let mut server = BufReader::new(UnixStream::connect(socket)?);
                let mut answer = String::new();
                let mut ask = |question: &str, expected: &str| -> anyhow::Result<()> {
                    server.get_mut().write_all(question.as_bytes())?;
                    answer.clear();
                    server.read_line(&mut answer)?;
                    ensure!(answer.trim_end() == expected, "{question} gave {answer}");
                    Ok(())
                };
                while began.elapsed() < length {
                    for n in 0..16 {
                        ask(&format!("set k{number}-{n} 0 0 1\r\n1\r\n"), "STORED")?;
                        ask(&format!("incr k{number}-{n} 1\r\n"), "2")?;
                        answered.fetch_add(2, Relaxed);
                    }
                }
                Ok(())
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(client(n))).collect();
        clients.into_iter().try_for_each(|client| {
            client.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a client panicked")))
        })
    })?;
    Ok(answered.load(Relaxed) as f64 / began.elapsed().as_secs_f64())
}

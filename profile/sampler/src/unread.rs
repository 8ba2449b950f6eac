//! Requests that wait in a server's sockets while all its threads sleep.
//!
//! If a request has arrived on a connection, and no thread of the recorded program runs, is ready to
//! run, or waits for input from that connection, then the request waits until some thread wakes up
//! for another reason: input on another connection, a time-out, the end of a sleep. That happens
//! if each thread of a pool serves one connection until its end, if one thread does pieces of work
//! that sleep, or if a thread waits for a set of connections that lacks the newest.
//!
//! The kernel's tables of TCP sockets say what is unread, and the arguments of a thread's system
//! call say what the thread waits for. Only connections that a server has accepted count, and those
//! that it has yet to accept. A client may leave received data unread until it needs the data.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::libc::SYS_futex;

use crate::asleep::{State, Thread, state};
use crate::awaited::input_of;
use crate::gathered::{Gathered, Slept};
use crate::sockets::{Descriptors, Socket, Tables};
use crate::times::{self, Times, processor_time};

/// How many times the sampler tries to find a moment in which no thread runs, and the pause between
/// two tries.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(1);
/// These looks take at most one part in this many of a processor's time.
const SHARE: u32 = 50;

/// Looks for unread requests from time to time.
pub struct Unread {
    tables: Tables,
    looked: Instant,
    next: Instant,
}

/// A thread as it was when it was last looked at.
pub struct LookedAt {
    /// Its numbers.
    pub thread: Thread,
    /// Its times.
    pub times: Times,
    /// Where it slept; `None` if it did not.
    pub slept: Option<Slept>,
}

impl Unread {
    /// No look yet.
    pub fn new() -> Unread {
        Unread { tables: Tables::default(), looked: Instant::now(), next: Instant::now() }
    }

    /// Looks for unread requests. `threads` are all threads of the program. What is found is taken to
    /// have lasted since the last look.
    pub fn look(&mut self, threads: &[LookedAt], gathered: &mut Gathered) {
        let began = Instant::now();
        if began < self.next {
            return;
        }
        let used_before = processor_time();
        let since = (began - self.looked).as_nanos() as u64;
        self.looked = began;
        if let Some(moment) = Moment::of(threads, &mut self.tables) {
            for &pid in moment.owned.keys() {
                let unread = moment.unread(pid);
                let could_read = moment.could_read(pid, &unread);
                if !could_read.is_empty() {
                    let clients = unread.iter().map(|socket| socket.clients()).sum();
                    gathered.leave_unread(pid, clients, since);
                    for (thread, slept) in could_read.into_iter().filter_map(Sleeper::place) {
                        gathered.sleep_beside(thread, slept, since);
                    }
                }
            }
        }
        self.next = began + (processor_time() - used_before) * SHARE;
    }
}

/// A time in which no thread ran.
struct Moment<'a> {
    sleepers: Vec<Sleeper<'a>>,
    /// The sockets of each process.
    owned: BTreeMap<u32, HashSet<u64>>,
    /// The sockets with requests that no thread waits for.
    unread: Vec<Socket>,
}

/// A thread that sleeps.
struct Sleeper<'a> {
    looked_at: &'a LookedAt,
    /// How often it had got a processor when it was seen asleep.
    slices: u64,
    /// The system call in which it sleeps.
    state: State,
    /// The sockets whose input it waits for.
    awaited: Vec<Socket>,
}

impl<'a> Moment<'a> {
    /// `None` if threads run all the time, if it is not known what some thread waits for, or if there
    /// are no requests.
    fn of(threads: &'a [LookedAt], tables: &mut Tables) -> Option<Self> {
        // This is cheap if a thread runs, as is usual in a program that is busy.
        if threads.iter().any(|looked_at| Sleeper::of(looked_at).is_none()) {
            return None;
        }
        let processes: BTreeSet<u32> = threads.iter().map(|looked_at| looked_at.thread.0).collect();
        let descriptors: BTreeMap<u32, Descriptors> =
            processes.iter().map(|&pid| (pid, Descriptors::of(pid))).collect();
        if descriptors.values().all(|of_process| of_process.sockets.is_empty()) {
            return None;
        }
        let before = requests(&tables.sockets(&processes));
        if before.is_empty() {
            return None;
        }
        // If a thread waited for one of these requests, the kernel has made it ready to run by now.
        let mut asleep = || {
            let sleepers: Vec<Sleeper> = threads.iter().map(Sleeper::of).collect::<Option<_>>()?;
            let sockets = tables.sockets(&processes);
            sleepers.iter().all(Sleeper::sleeps_on).then_some((sleepers, sockets))
        };
        let again = |tries| {
            if tries > 0 {
                sleep(PAUSE);
            }
            asleep()
        };
        let (mut sleepers, sockets) = (0..TRIES).find_map(again)?;
        let sockets_by_inode: HashMap<u64, &Socket> =
            sockets.iter().map(|socket| (socket.inode, socket)).collect();
        for Sleeper { looked_at, state, awaited, .. } in &mut sleepers {
            let pid = looked_at.thread.0;
            let own = &descriptors[&pid];
            let input = input_of(pid, state, own)?;
            let inodes = input.iter().filter_map(|descriptor| own.sockets.get(descriptor));
            awaited.extend(inodes.filter_map(|inode| sockets_by_inode.get(inode).copied()));
        }
        let is_awaited = |socket: &Socket| {
            sleepers.iter().flat_map(|sleeper| &sleeper.awaited).any(|a| a.inode == socket.inode)
        };
        let mut unread = requests(&sockets);
        unread.retain(|socket| before.contains(socket) && !is_awaited(socket));
        let own = |descriptors: Descriptors| descriptors.sockets.into_values().collect();
        let owned = descriptors.into_iter().map(|(pid, of)| (pid, own(of))).collect();
        Some(Moment { sleepers, owned, unread })
    }

    /// The sockets of a process that have unread requests.
    fn unread(&self, pid: u32) -> Vec<Socket> {
        let own = &self.owned[&pid];
        self.unread.iter().filter(|socket| own.contains(&socket.inode)).copied().collect()
    }

    /// The threads of a process that could read these requests: those that wait for other input at
    /// the same ports. If no process has such threads: those that wait for something else, but
    /// neither for a futex, as a thread without work does, nor for an answer from these ports.
    fn could_read(&self, pid: u32, unread: &[Socket]) -> Vec<&Sleeper<'a>> {
        if unread.is_empty() {
            return Vec::new();
        }
        let ports: HashSet<u16> = unread.iter().map(|socket| socket.port).collect();
        let serves = |one: &Sleeper| one.awaited.iter().any(|s| ports.contains(&s.port));
        let is_client = |one: &Sleeper| one.awaited.iter().any(|s| ports.contains(&s.peer));
        let other = |one: &Sleeper| i64::from(one.state.call) != SYS_futex && !is_client(one);
        let served = self.sleepers.iter().any(serves);
        let could_read = |one: &Sleeper| if served { serves(one) } else { other(one) };
        let own = self.sleepers.iter().filter(|one| one.looked_at.thread.0 == pid);
        own.filter(|one| could_read(one)).collect()
    }
}

impl<'a> Sleeper<'a> {
    /// A thread; `None` if it does not sleep, or if the kernel does not count how often it runs.
    fn of(looked_at: &'a LookedAt) -> Option<Self> {
        let slices = times::of_thread(looked_at.thread)?.slices;
        let state = state(looked_at.thread).filter(|_| slices > 0)?;
        Some(Sleeper { looked_at, slices, state, awaited: Vec::new() })
    }

    /// Whether the thread has not run meanwhile and sleeps in the same call.
    fn sleeps_on(&self) -> bool {
        let thread = self.looked_at.thread;
        state(thread) == Some(self.state)
            && times::of_thread(thread).is_some_and(|now| now.slices == self.slices)
    }

    /// The thread and where it sleeps; `None` if it has run since it was looked at.
    fn place(&self) -> Option<(Thread, Slept)> {
        let LookedAt { thread, times, slept } = *self.looked_at;
        slept.filter(|_| times.slices == self.slices).map(|slept| (thread, slept))
    }
}

/// The sockets of servers that have something unread.
fn requests(sockets: &[Socket]) -> Vec<Socket> {
    let listening = sockets.iter().filter(|socket| socket.listens);
    let ports: HashSet<u16> = listening.map(|socket| socket.port).collect();
    let is_unread = |socket: &&Socket| socket.unread > 0 && ports.contains(&socket.port);
    sockets.iter().filter(is_unread).copied().collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::id;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// A server's only thread reads from its first connection, and a request is on the second.
    #[test]
    fn a_request_that_no_thread_waits_for_is_unread() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let connect = || TcpStream::connect(("127.0.0.1", port)).expect("it connects");
        let (mut first, mut second) = (connect(), connect());
        let (sender, receiver) = mpsc::channel();
        let server = thread::spawn(move || {
            let mut connections = [(); 2].map(|()| listener.accept().expect("a connection").0);
            // SAFETY: the call has no arguments.
            sender.send(unsafe { nix::libc::gettid() } as u32).expect("it listens");
            for connection in &mut connections {
                connection.read_exact(&mut [0]).expect("a request");
            }
        });
        let thread = (id(), receiver.recv().expect("its number"));
        let unread = || {
            let began = Instant::now();
            loop {
                let times = times::of_thread(thread).expect("it lives");
                let slept = Some(Slept { frame: 1, call: 0, python_futex: 0, inner: false });
                let threads = [LookedAt { thread, times, slept }];
                if let Some(moment) = Moment::of(&threads, &mut Tables::default()) {
                    let unread = moment.unread(id());
                    let ports: Vec<u16> = unread.iter().map(|socket| socket.port).collect();
                    return (ports, moment.could_read(id(), &unread).len());
                }
                assert!(began.elapsed() < Duration::from_secs(20), "it does not sleep");
            }
        };
        // Both ends are of this process, so the thread could be a client; its port says otherwise.
        second.write_all(&[1]).expect("there is room");
        assert_eq!(unread(), (vec![port], 1));
        first.write_all(&[1]).expect("there is room");
        server.join().expect("it ends");
    }

    /// Two processes share a socket with a request at port 80.
    #[test]
    fn threads_that_serve_the_port_could_read_or_else_those_that_sleep_otherwise() {
        let looked_at: Vec<LookedAt> = [(1, 10), (1, 11), (1, 12), (1, 13), (2, 20)]
            .map(|thread| LookedAt { thread, times: Times { cpu: 0, slices: 1 }, slept: None })
            .into();
        let socket = |port, peer| Socket { inode: 7, listens: false, port, peer, unread: 1 };
        // `poll`, `nanosleep`, `futex`, `read`, `nanosleep`.
        let served = (7, Some(socket(80, 9)));
        let waits = [served, (35, None), (202, None), (0, Some(socket(9, 80))), (35, None)];
        let could_read = |without: usize, pid: u32| -> Vec<u32> {
            let sleeper = |(looked_at, (call, awaited)): (_, (u32, Option<Socket>))| {
                let state = State { call, arguments: [0; 6], sp: 0, ip: 0 };
                Sleeper { looked_at, slices: 1, state, awaited: awaited.into_iter().collect() }
            };
            let sleepers = looked_at.iter().zip(waits).skip(without).map(sleeper);
            let owned = [1, 2].map(|pid| (pid, HashSet::from([7]))).into();
            let moment =
                Moment { sleepers: sleepers.collect(), owned, unread: vec![socket(80, 9)] };
            let unread = moment.unread(pid);
            moment.could_read(pid, &unread).iter().map(|one| one.looked_at.thread.1).collect()
        };
        assert_eq!(could_read(0, 1), [10], "it polls another connection");
        assert!(could_read(0, 2).is_empty(), "threads of the other process serve the port");
        assert_eq!(could_read(1, 1), [11], "one waits in a futex, one for an answer");
        assert_eq!(could_read(1, 2), [20]);
    }

    #[test]
    fn only_what_servers_receive_are_requests() {
        let socket = |listens, port, unread| Socket { inode: 1, listens, port, peer: 9, unread };
        let server = socket(false, 80, 5);
        let all = [socket(true, 80, 0), server, socket(false, 4000, 5), socket(false, 80, 0)];
        assert_eq!(requests(&all), [server]);
        let waiting = socket(true, 80, 2);
        assert_eq!(requests(&[waiting]), [waiting], "two clients wait to be accepted");
    }
}

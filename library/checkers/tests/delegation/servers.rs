//! The cases of the server, which is not a lock of the catalogue. They run over any server and its
//! clients, in any checker's memory.
//!
//! The checkers watch plain data of each client, which the client and its sections use in turn.
//! Every other section fits into a message; the rest are too large, and stay with the client.

use std::sync::{Arc, Mutex};

use syncline::channel::Disconnected;
use syncline::delegation::{Client, Server};
use syncline::wait::Wait;
use syncline_checkers::Engine;

use crate::cases::Slate;

/// A server that owns a number, or a mutant of it.
pub trait Serving: Sized + Send + 'static {
    type Memory: Engine;
    type Client: Asking + Send + 'static;
    fn new(slots: usize) -> Self;
    fn connect(&mut self) -> Self::Client;
    fn run(self) -> u32;
}

/// The client of a server, or of a mutant of it.
pub trait Asking {
    fn with<R: Send>(
        &mut self,
        section: impl FnOnce(&mut u32) -> R + Send,
    ) -> Result<R, Disconnected>;
}

/// Implements [`Serving`] and [`Asking`], with functions of these names.
macro_rules! serving {
    ([$($generics:tt)*] $Server:ty, $Client:ty, $Memory:ty) => {
        impl<$($generics)*> $crate::servers::Serving for $Server {
            type Memory = $Memory;
            type Client = $Client;
            fn new(slots: usize) -> Self {
                Self::over(0, slots)
            }
            fn connect(&mut self) -> $Client {
                self.connect().expect("there is a slot")
            }
            fn run(self) -> u32 {
                self.run()
            }
        }
        impl<$($generics)*> $crate::servers::Asking for $Client {
            fn with<R: Send>(
                &mut self,
                section: impl FnOnce(&mut u32) -> R + Send,
            ) -> Result<R, syncline::channel::Disconnected> {
                self.with(section)
            }
        }
    };
}
pub(crate) use serving;

serving! { [W: Wait, M: Engine] Server<u32, W, M>, Client<u32, W, M>, M }

/// The threads' roles: the first thread has the server, and each other thread has a client.
struct Crew<S: Serving> {
    server: Mutex<Option<S>>,
    clients: Vec<Mutex<Option<S::Client>>>,
}

fn taken<T>(from: &Mutex<Option<T>>) -> T {
    from.lock().expect("no panics").take().expect("it is there")
}

impl<S: Serving> Crew<S> {
    fn play(
        clients: usize,
        serve: impl Fn(S) + Send + Sync + 'static,
        ask: impl Fn(S::Client) + Send + Sync + 'static,
    ) {
        let mut server = S::new(clients);
        let asking = (0..clients).map(|_| Mutex::new(Some(server.connect()))).collect();
        let crew = Self { server: Mutex::new(Some(server)), clients: asking };
        S::Memory::run(clients + 1, move |thread| match thread {
            0 => serve(taken(&crew.server)),
            _ => ask(taken(&crew.clients[thread - 1])),
        });
    }
}

/// Each client sends sections: a small one, a large one, and so on.
pub fn served<S: Serving>(clients: usize, rounds: u32) {
    let all = clients as u32 * rounds;
    let serve = move |server: S| assert_eq!(server.run(), all, "a section has not run once");
    Crew::play(clients, serve, move |mut client: S::Client| {
        let slate = Slate::<S::Memory>::new();
        for round in 0..rounds {
            slate.add_one_to(3 * round);
            let section = |count: &mut u32| {
                slate.add_one_to(3 * round + 1);
                *count += 1;
                *count
            };
            let count = if round % 2 == 0 {
                client.with(section)
            } else {
                let load = [u64::from(round); 9];
                let answer = client.with(move |count| (section(count), load));
                answer.map(|(count, back)| {
                    assert_eq!(back, load);
                    count
                })
            };
            assert!((round + 1..=all).contains(&count.expect("the server is there")));
            slate.add_one_to(3 * round + 2);
        }
    });
}

/// The server is dropped without having served: no client waits for it, and a refused section is
/// dropped when its client gets the error.
pub fn refused<S: Serving>(clients: usize) {
    Crew::play(
        clients,
        |server: S| drop(server),
        |mut client: S::Client| {
            for _ in 0..2 {
                let token = Arc::new(());
                let share = Arc::clone(&token);
                assert_eq!(client.with(move |_| drop(share)), Err(Disconnected));
                assert_eq!(Arc::strong_count(&token), 1, "a refused section is still there");
            }
        },
    );
}

//! Delegation servers for C: a thread runs the functions that its clients send, each with one
//! argument. Only the functions know the server's data.

use std::ffi::{c_int, c_void};

use syncline::delegation::{Client, Server};

use crate::boundary::{Refusal, at, boundary};
use crate::channels::{End, MOST};

/// `syncline_server_t`; the server is taken out when it begins to run.
type ServerOfC = End<Option<Server<()>>>;
/// `syncline_client_t`.
type ClientOfC = End<Client<()>>;

/// A function to run, with its argument.
struct Section {
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

// SAFETY: the interface's contract says that the function may run in another thread.
unsafe impl Send for Section {}

impl Section {
    fn run(self) {
        // SAFETY: C's caller gives a function that takes this argument.
        unsafe { (self.function)(self.argument) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_server_create(clients: usize, server: *mut *mut ServerOfC) -> c_int {
    boundary(|| {
        if server.is_null() || !(1..=MOST).contains(&clients) {
            return Err(Refusal::Invalid);
        }
        // SAFETY: C's caller gives room for it.
        unsafe { server.write(End::new(Box::new(Some(Server::new((), clients))), 0)) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_server_connect(
    server: *const ServerOfC,
    client: *mut *mut ClientOfC,
) -> c_int {
    boundary(|| {
        if client.is_null() {
            return Err(Refusal::Invalid);
        }
        // SAFETY: C's caller gives a server.
        unsafe { at(server) }?.with(|server, _| {
            let server = server.as_mut().ok_or(Refusal::Invalid)?;
            let made = server.connect().map_err(|_| Refusal::NotNow)?;
            // SAFETY: C's caller gives room for it.
            unsafe { client.write(End::new(Box::new(made), 0)) };
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_server_run(server: *const ServerOfC) -> c_int {
    boundary(|| {
        // SAFETY: C's caller gives a server.
        unsafe { at(server) }?.with(|server, _| {
            server.take().ok_or(Refusal::Invalid)?.run();
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_server_destroy(server: *mut ServerOfC) -> c_int {
    // SAFETY: C's caller gives a server, and does not use it afterwards.
    boundary(|| unsafe { End::destroy(server) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_client_call(
    client: *const ClientOfC,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    boundary(|| {
        let section = Section { function: function.ok_or(Refusal::Invalid)?, argument };
        // SAFETY: C's caller gives a client.
        unsafe { at(client) }?.with(|client, _| {
            client.with(move |()| section.run()).map_err(|_| Refusal::Disconnected)
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_client_destroy(client: *mut ClientOfC) -> c_int {
    // SAFETY: C's caller gives a client, and does not use it afterwards.
    boundary(|| unsafe { End::destroy(client) })
}

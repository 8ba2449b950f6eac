//! The C interface of the library: what `include/syncline.h` and the headers that it includes
//! declare.
//!
//! The C type of a lock is a lock of the catalogue plus what C can store nowhere else: the thread
//! that holds it, and the holder's queue node ([`exclusive`], [`shared`]). So `lock` and `unlock`
//! take only the lock, and a thread that releases a lock that it doesn't hold gets an error. The
//! functions of locks are generated from the catalogue: those of the types in [`typed`], those of
//! locks chosen by name in [`named`]. The headers of locks can't disagree with the library, since a
//! test compares them with it ([`header`]).
//!
//! All calls that can fail pass through [`boundary`](boundary::boundary), which turns an outcome
//! into an error number, and aborts the program on a panic.

mod boundary;
mod calls;
mod channels;
mod cond;
mod deadline;
mod delegation;
mod exclusive;
mod form;
#[cfg(test)]
mod header;
#[cfg(test)]
mod in_use;
mod inboxes;
mod named;
mod owner;
mod running;
mod servers;
mod shared;
mod shares;
mod texts;
mod transactions;
mod typed;

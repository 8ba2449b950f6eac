//! The C interface of the locks: what `include/syncline.h` declares.
//!
//! A C type is a lock of the catalogue plus what C can store nowhere else: the thread that holds
//! it, and the holder's queue node ([`exclusive`], [`shared`]). So `lock` and `unlock` take only
//! the lock, and a thread that releases a lock that it doesn't hold gets an error. Every function
//! is generated from the catalogue: those of the types in [`typed`], those of locks chosen by name
//! in [`named`]. Headers and library can't disagree, since a test writes the headers from the
//! library ([`header`]).
//!
//! All calls pass through [`boundary`](boundary::boundary), which turns an outcome into an error
//! number, and aborts the program on a panic.

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

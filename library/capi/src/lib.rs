//! The C interface of the locks: what `include/syncline.h` declares.
//!
//! A C type is a lock of the catalogue and what C leaves no other place for: which thread holds
//! it, and the holder's queue node ([`exclusive`], [`shared`]). So `lock` and `unlock` take the
//! lock alone, and a thread that releases a lock that it doesn't hold gets an error. Every function
//! is made from the catalogue: those of the types in [`typed`], those of locks chosen by name in
//! [`named`]. Headers and library can't disagree, since a test writes the one from the other
//! ([`header`]).
//!
//! All calls pass through [`boundary`](boundary::boundary), which turns an outcome into an error
//! number, and a panic into the end of the program.

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

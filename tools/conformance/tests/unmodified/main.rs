//! `syncline cluster --unmodified`: ordinary programs on several ranks print what they print alone,
//! and end with the same status.
//!
//! ```text
//!   functions   each kind of function, under every fault handler and option
//!   hosts       the same on several hosts, which share no memory
//!   programs    programs that other people wrote, and those of workloads/dsm
//!   races       data races that --check finds
//!   refused     what can't work ends the program, with a message
//! ```

mod functions;
mod hosts;
mod programs;
mod races;
mod refused;

//! Each lock in cases that are too large for loom, with a fixed number of random executions under
//! each of shuttle's schedulers.

use syncline::wait::{Park, Spin};

use crate::{Drawn, randomly};

const EXECUTIONS: usize = 600;

macro_rules! lock {
    ($name:ident, $Lock:ident, $kind:ident $($feature:ident)*) => {
        mod $name {
            #[test]
            fn spin() {
                type Lock = syncline::lock::$Lock<super::Spin, super::Drawn>;
                capability! { $kind }
                $(capability! { $feature $kind })*
            }
            #[test]
            fn park() {
                type Lock = syncline::lock::$Lock<super::Park, super::Drawn>;
                capability! { $kind }
                $(capability! { $feature $kind })*
            }
        }
    };
}

macro_rules! cases {
    ($($case:ident($($argument:expr),*);)*) => {
        $(super::randomly(super::EXECUTIONS, || {
            syncline_checkers::cases::$case::<Lock>($($argument),*);
        });)*
    };
}

macro_rules! capability {
    (exclusive) => {
        cases! { exclusion(4, 3); exclusion(6, 2); again(4, 3); overtaken(9); }
    };
    (try exclusive) => {
        cases! { tries(5, 3); }
    };
    (timed exclusive) => {
        cases! { timed(5, 3); leaver(6); leavers(6); first_leaves(6); woken_in_vain(); impatient(8); }
    };
    (fifo exclusive) => {
        cases! { fifo(6); }
    };
    (shared) => {
        capability! { exclusive }
        cases! { sharing(1, 3, 2); sharing(3, 3, 2); preference(); overtaken_shared(9); }
    };
    (try shared) => {
        capability! { try exclusive }
        cases! { tries_shared(3); }
    };
    (timed shared) => {
        capability! { timed exclusive }
        cases! { timed_shared(3); }
    };
    (fifo shared) => {
        capability! { fifo exclusive }
    };
    (queues exclusive) => {};
    (queues shared) => {{
        cases! { after_a_writer(); }
        type Queue = Lock;
        {
            type Lock = syncline::lock::RwGate<Queue>;
            capability! { shared }
            capability! { try shared }
            cases! { after_a_writer(); }
        }
    }};
    (parks exclusive) => {};
    (parks shared) => {
        cases! { after_a_writer(); }
    };
    (spins $kind:ident) => {};
    (waits $kind:ident) => {};
    (near $kind:ident) => {};
}

locks!(lock);

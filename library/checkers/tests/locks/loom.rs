//! Each lock under loom, in every test run; the bounds on preemptions are next to the cases.
//!
//! [`Yield`](syncline::wait::Yield) is not tested: a checker can't distinguish it from [`Spin`].
//! Both access words in the same way, and time, in which they differ, is not modelled.

use syncline::wait::{Park, Spin};

use crate::Loom;

macro_rules! lock {
    ($name:ident, $Lock:ident, $kind:ident $($feature:ident)*) => {
        mod $name {
            mod spin {
                type Lock = syncline::lock::$Lock<super::super::Spin, super::super::Loom>;
                capability! { $kind }
                $(capability! { $feature $kind })*
            }
            mod park {
                type Lock = syncline::lock::$Lock<super::super::Park, super::super::Loom>;
                capability! { $kind }
                $(capability! { $feature $kind })*
            }
        }
    };
}

macro_rules! tests {
    ($($name:ident: $explore:ident($preemptions:literal), $case:ident($($argument:expr),*);)*) => {
        $(#[test]
        fn $name() {
            let case = || syncline_checkers::cases::$case::<Lock>($($argument),*);
            crate::UP_TO.$explore($preemptions, case);
        })*
    };
}

macro_rules! capability {
    (exclusive) => {
        tests! {
            two_threads_twice: explore(4), exclusion(2, 2);
            three_threads: explore(3), exclusion(3, 1);
            three_threads_twice: explore(2), exclusion(3, 2);
            four_threads: explore(2), exclusion(4, 1);
            same_node: explore(3), again(2, 2);
            overtaken: explore(3), overtaken(3);
            last_of_two_frees: explore(4), last_frees(2);
            last_of_three_frees: explore(3), last_frees(3);
        }
    };
    (try exclusive) => {
        tests! {
            tries: explore(3), tries(3, 1);
            tries_twice: explore(3), tries(2, 2);
        }
    };
    (timed exclusive) => {
        tests! {
            timed: explore_timed(3), timed(3, 1);
            timed_twice: explore_timed(3), timed(2, 2);
            leaver: explore_timed(3), leaver(4);
            leavers: explore_timed(3), leavers(3);
            first_leaves: explore_timed(3), first_leaves(3);
            woken_in_vain: explore_timed(3), woken_in_vain();
            impatient: explore_timed(3), impatient(4);
        }
    };
    (fifo exclusive) => {
        tests! {
            fifo: explore(3), fifo(4);
        }
    };
    (shared) => {
        capability! { exclusive }
        tests! {
            one_writer: explore(3), sharing(1, 2, 1);
            two_writers: explore(3), sharing(2, 1, 1);
            one_writer_twice: explore(3), sharing(1, 1, 2);
            four_threads_shared: explore(2), sharing(2, 2, 1);
            returning: explore(3), returning(3);
            four_threads_returning: explore(2), returning(4);
            together: explore(0), together();
            preference: explore(3), preference();
            overtaken_shared: explore(3), overtaken_shared(3);
            writer_frees_after_a_reader: explore(4), last_writer_frees(2);
            writer_frees_after_readers: explore(3), last_writer_frees(3);
            reader_frees_after_a_writer: explore(4), last_reader_frees(2);
            reader_frees_after_writers: explore(3), last_reader_frees(3);
            last_writer_frees: explore(3), last_of_all_frees(3);
        }
    };
    (try shared) => {
        capability! { try exclusive }
        tests! {
            tries_shared: explore(3), tries_shared(1);
            tries_among_readers: explore(3), tries_among_readers();
        }
    };
    (timed shared) => {
        capability! { timed exclusive }
        tests! {
            timed_shared: explore_timed(3), timed_shared(1);
            giving_up: explore_timed(3), giving_up(3);
            four_threads_giving_up: explore_timed(2), giving_up(4);
        }
    };
    (fifo shared) => {
        capability! { fifo exclusive }
    };
    (queues exclusive) => {};
    (queues shared) => {
        capability! { preference }
        mod gated {
            type Lock = syncline::lock::RwGate<super::Lock>;
            capability! { shared }
            capability! { try shared }
            capability! { preference }
        }
    };
    (preference) => {
        tests! {
            after_a_writer: explore(3), after_a_writer();
        }
    };
    (near $kind:ident) => {
        tests! {
            near: explore(3), near(4);
        }
    };
    (parks exclusive) => {};
    (parks shared) => {
        capability! { preference }
    };
    (spins $kind:ident) => {};
    (waits $kind:ident) => {};
}

locks!(lock);

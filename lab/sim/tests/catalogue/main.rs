//! Every lock of the catalogue on simulated machines: it excludes and makes progress, even if
//! threads share processors in time slices, and serves waiters in the order that it promises. Locks
//! that are deliberately broken must fail here.

mod broken;
mod cases;
mod scene;
mod shared;

use syncline::wait::{Park, Spin, Yield};
use syncline_sim::Simulated;

macro_rules! lock {
    ($name:ident, $Lock:ident, $kind:ident $($feature:ident)*) => {
        mod $name {
            #[test]
            fn spin() {
                type Lock = syncline::lock::$Lock<super::Spin, super::Simulated>;
                capability! { $kind }
                $(capability! { $feature $kind })*
            }
            #[test]
            fn yielding() {
                type Lock = syncline::lock::$Lock<super::Yield, super::Simulated>;
                capability! { $kind }
                $(capability! { $feature $kind })*
            }
            #[test]
            fn park() {
                type Lock = syncline::lock::$Lock<super::Park, super::Simulated>;
                capability! { $kind }
                $(capability! { $feature $kind })*
            }
        }
    };
}

macro_rules! capability {
    (exclusive) => {
        crate::cases::exclusion::<Lock>();
        crate::cases::crowded::<Lock>();
    };
    (try exclusive) => {
        crate::cases::tries::<Lock>();
    };
    (timed exclusive) => {
        crate::cases::timed::<Lock>();
    };
    (fifo exclusive) => {
        crate::cases::fifo::<Lock>();
    };
    (near exclusive) => {
        crate::cases::near::<Lock>();
    };
    (parks $kind:ident) => {};
    (spins $kind:ident) => {};
    (waits $kind:ident) => {};
    (shared) => {
        capability! { exclusive }
        crate::shared::sharing::<Lock>();
        crate::shared::together::<Lock>();
    };
    (try shared) => {
        capability! { try exclusive }
        crate::shared::tries::<Lock>();
    };
    (timed shared) => {
        capability! { timed exclusive }
        crate::shared::timed::<Lock>();
    };
    (fifo shared) => {
        capability! { fifo exclusive }
    };
    (queues exclusive) => {};
    (queues shared) => {{
        type Queue = Lock;
        {
            type Lock = syncline::lock::RwGate<Queue>;
            capability! { shared }
            capability! { try shared }
        }
    }};
}

syncline::for_each_lock!(lock);

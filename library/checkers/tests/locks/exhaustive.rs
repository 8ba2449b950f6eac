//! Three threads without a bound on preemptions. A case takes from less than a second to hours, but
//! is stopped after as many seconds as `LOOM_MAX_DURATION` says:
//! `cargo test --release --test locks -- --ignored --nocapture exhaustive::mcs`.

use syncline::wait::{Park, Spin};
use syncline_checkers::{Bounds, Loom, model};

macro_rules! lock {
    ($name:ident, $Lock:ident, $kind:ident $($feature:ident)*) => {
        mod $name {
            mod spin {
                type Lock = syncline::lock::$Lock<super::super::Spin, super::super::Loom>;
                cases! { $kind, stringify!($name), "spin" }
            }
            mod park {
                type Lock = syncline::lock::$Lock<super::super::Park, super::super::Loom>;
                cases! { $kind, stringify!($name), "park" }
            }
        }
    };
}

macro_rules! cases {
    (exclusive, $name:expr, $policy:literal) => {
        #[test]
        #[ignore = "takes up to hours"]
        fn writers() {
            crate::exhaustive::explore($name, $policy, "writers", || {
                syncline_checkers::cases::exclusion::<Lock>(3, 1);
            });
        }
    };
    (shared, $name:expr, $policy:literal) => {
        cases! { exclusive, $name, $policy }
        #[test]
        #[ignore = "takes up to hours"]
        fn readers() {
            crate::exhaustive::explore($name, $policy, "a writer and readers", || {
                syncline_checkers::cases::sharing::<Lock>(1, 2, 1);
            });
        }
    };
}

/// Prints a line for the table in the crate's README.
fn explore(lock: &str, policy: &str, who: &str, case: impl Fn() + Send + Sync + 'static) {
    let explored = model(Bounds::default(), case);
    let all = if explored.complete { "all" } else { "cut short" };
    println!(
        "| {lock} | {policy} | {who} | {}, {all} | {:.1} s |",
        explored.executions,
        explored.time.as_secs_f64()
    );
}

syncline::for_each_lock!(lock);

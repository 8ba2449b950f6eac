//! Three threads without a bound on preemptions. Takes from seconds to hours a lock, or as many
//! seconds as `LOOM_MAX_DURATION` says:
//! `cargo test --release --test locks -- --ignored --nocapture exhaustive::mcs::spin`.

use syncline::wait::{Park, Spin};
use syncline_checkers::{Bounds, Loom, model};

macro_rules! lock {
    ($name:ident, $Lock:ident, $($feature:ident)*) => {
        mod $name {
            #[test]
            #[ignore = "takes up to hours"]
            fn spin() {
                super::explore(stringify!($name), "spin", || {
                    type Lock = syncline::lock::$Lock<super::Spin, super::Loom>;
                    crate::cases::exclusion::<Lock>(3, 1);
                });
            }
            #[test]
            #[ignore = "takes up to hours"]
            fn park() {
                super::explore(stringify!($name), "park", || {
                    type Lock = syncline::lock::$Lock<super::Park, super::Loom>;
                    crate::cases::exclusion::<Lock>(3, 1);
                });
            }
        }
    };
}

/// Prints a line for the table in the crate's README.
fn explore(lock: &str, policy: &str, case: impl Fn() + Send + Sync + 'static) {
    let explored = model(Bounds::default(), case);
    let all = if explored.complete { "all" } else { "cut short" };
    println!(
        "| {lock} | {policy} | {}, {all} | {:.1} s |",
        explored.executions,
        explored.time.as_secs_f64()
    );
}

syncline::for_each_lock!(lock);

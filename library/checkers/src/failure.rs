//! Runs cases that are expected to fail: they check the checkers themselves.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use crate::loom::{Bounds, model};
use crate::shuttle::randomly;

std::thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function, and suppresses the message if it panics.
fn quietly<R>(what: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                others(info);
            }
        }));
    });
    QUIET.set(true);
    let result = what();
    QUIET.set(false);
    result
}

/// Returns why a case fails under loom, within bounds; `None` if it does not. If `timed`, deadlines
/// may pass.
pub fn failure(timed: bool, case: impl Fn() + Send + Sync + 'static) -> Option<String> {
    failure_of(timed, Arc::new(case))
}

/// Does the work of [`failure`]. Not generic, so it is compiled once and not for each mutant.
fn failure_of(timed: bool, case: Arc<dyn Fn() + Send + Sync>) -> Option<String> {
    let bounds = Bounds { preemptions: Some(3), executions: Some(20_000), timed };
    failure_in(move || {
        model(bounds, move || case());
    })
}

/// Returns why a case fails under the randomized checker; `None` if it does not. For cases with
/// more steps than loom can handle.
pub fn random_failure(case: impl Fn() + Send + Sync + 'static) -> Option<String> {
    failure_in(move || randomly(RANDOM_EXECUTIONS, case))
}

/// The number of executions under each scheduler within which a failure must show.
const RANDOM_EXECUTIONS: usize = 3_000;

fn failure_in(check: impl FnOnce()) -> Option<String> {
    let failed: Box<dyn Any + Send> = quietly(|| catch_unwind(AssertUnwindSafe(check))).err()?;
    let text = failed.downcast_ref::<String>().map(String::as_str);
    let text = text.or(failed.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    Some(text.lines().next().unwrap_or_default().to_owned())
}

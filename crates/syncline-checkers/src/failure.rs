//! A case that is expected to fail, for the checkers' own checks.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::{Bounds, model};

std::thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Lets the failures that are wanted go unprinted.
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

/// Why a case fails, if it does.
pub fn failure(timed: bool, case: impl Fn() + Copy + Send + Sync + 'static) -> Option<String> {
    let bounds = Bounds { preemptions: Some(3), executions: Some(20_000), timed };
    let failed: Box<dyn Any + Send> =
        quietly(|| catch_unwind(AssertUnwindSafe(|| model(bounds, case)))).err()?;
    let text = failed.downcast_ref::<String>().map(String::as_str);
    let text = text.or(failed.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    Some(text.lines().next().unwrap_or_default().to_owned())
}

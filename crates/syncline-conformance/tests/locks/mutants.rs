//! The checkers are checked: each mutant of `broken/` must be rejected by the case that its list
//! names.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use syncline_conformance::memory::{Bounds, model};

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

/// Requires that one of the cases fails.
macro_rules! reject {
    (exclusion, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, exclusion(2, 2), exclusion(3, 1))
    };
    (three, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, exclusion(3, 1))
    };
    (twice, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, exclusion(3, 2))
    };
    (again, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, again(2, 2), again(3, 2))
    };
    (overtaken, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, overtaken(3))
    };
    (tries, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, tries(2, 2), tries(3, 1))
    };
    (fifo, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, fifo(4))
    };
    (near, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, near(4))
    };
    (timed, $Lock:ty) => {
        $crate::mutants::reject!(@true, $Lock, timed(2, 2), timed(3, 1), leaver(4), leavers(3), woken_in_vain())
    };
    (sharing, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock,
            together(), sharing(1, 1, 2), sharing(1, 2, 1), sharing(2, 1, 1), returning(3))
    };
    (tries_shared, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, tries_shared(1), tries_among_readers())
    };
    (timed_shared, $Lock:ty) => {
        $crate::mutants::reject!(@true, $Lock, timed_shared(1), giving_up(3))
    };
    (preference, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, preference())
    };
    (@$timed:literal, $Lock:ty, $($case:ident($($argument:expr),*)),*) => {
        let mut why = None;
        $(if why.is_none() {
            let case = || $crate::cases::$case::<$Lock>($($argument),*);
            why = $crate::mutants::failure($timed, case);
        })*
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

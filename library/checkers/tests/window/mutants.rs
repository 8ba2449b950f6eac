//! The checkers are checked: each mutant of `broken/window/` must be rejected by the case that its
//! list names.

pub use syncline_checkers::failure;

/// Requires that one of the cases fails.
macro_rules! reject {
    (sharing, $Lock:ty) => {
        $crate::mutants::reject!(@ syncline_checkers::cases::sharing::<$Lock>, (1, 1, 2), (1, 2, 1))
    };
    (whole, $Global:ty) => {
        $crate::cases::is_whole! { $Global, Loom }
        $crate::mutants::reject!(@ $crate::cases::whole::<$Global>, (1, 1, 2), (1, 2, 1))
    };
    (@ $case:expr, $(($($argument:expr),*)),*) => {
        let mut why = None;
        $(if why.is_none() {
            why = $crate::mutants::failure(false, || $case($($argument),*));
        })*
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

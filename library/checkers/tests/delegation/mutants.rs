//! The checkers are checked: each mutant of `broken/delegation/` must be rejected by the case that
//! its list names.

pub use syncline_checkers::failure;

/// Requires that one of the cases fails.
macro_rules! reject {
    (attached, $Lock:ty) => {
        $crate::mutants::reject!(@cases $Lock, attached(2, 2), attached(3, 1))
    };
    (detached, $Lock:ty) => {
        $crate::mutants::reject!(@cases $Lock, detached(2, 2), detached(3, 1))
    };
    (served, $Server:ty, $Client:ty) => {
        $crate::servers::serving! { [] $Server, $Client, Loom }
        $crate::mutants::reject!(@servers $Server, served(1, 2), served(2, 1))
    };
    (refused, $Server:ty, $Client:ty) => {
        $crate::servers::serving! { [] $Server, $Client, Loom }
        $crate::mutants::reject!(@servers $Server, refused(1), refused(2))
    };
    (@$cases:ident $Lock:ty, $($case:ident($($argument:expr),*)),*) => {
        let mut why = None;
        $(if why.is_none() {
            let case = || $crate::$cases::$case::<$Lock>($($argument),*);
            why = $crate::mutants::failure(false, case);
        })*
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

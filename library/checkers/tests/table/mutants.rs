//! The checkers are checked: each mutant of `broken/table/` must be rejected by the case that its
//! list names.

pub use syncline_checkers::{failure, random_failure};

/// Requires that one of the cases fails.
macro_rules! reject {
    (own_keys, $Table:ty) => {
        $crate::cases::buckets! { [] $Table, Loom }
        $crate::mutants::reject!(@own_keys, $Table)
    };
    (one_key, $Table:ty) => {
        $crate::cases::buckets! { [] $Table, Loom }
        $crate::mutants::reject!(@one_key, $Table)
    };
    (whole, $Version:ty) => {
        $crate::cases::versioned! { [] $Version, Seen, Loom }
        $crate::mutants::reject!(@whole, $Version)
    };
    (served, $Table:ty, $Server:ty, $Client:ty) => {
        $crate::served::asks! { [] $Table, $Server, $Client, Loom }
        let why = [(1, 1), (2, 1), (1, 2)].into_iter().find_map(|(servers, clients)| {
            let case = move || $crate::served::served::<$Client>(servers, clients);
            $crate::mutants::failure(false, case)
        });
        println!("{}", why.expect("the mutant survived"));
    };
    (drawn, $Table:ty) => {
        $crate::growing::grows! { [] $Table, syncline_checkers::Shuttle }
        let why = $crate::mutants::random_failure($crate::growing::recorded::<$Table>);
        println!("{}", why.expect("the mutant survived"));
    };
    (@grows $case:ident, $Table:ty) => {
        $crate::growing::grows! { [] $Table, Loom }
        let why = $crate::mutants::failure(false, $crate::growing::$case::<$Table>);
        println!("{}", why.expect("the mutant survived"));
    };
    (@$case:ident, $Type:ty) => {
        let why = [2, 3].into_iter().find_map(|threads| match threads {
            2 => $crate::mutants::failure(false, || $crate::cases::$case::<$Type>(2)),
            _ => $crate::mutants::failure(false, || $crate::cases::$case::<$Type>(3)),
        });
        println!("{}", why.expect("the mutant survived"));
    };
    ($case:ident, $Table:ty) => {
        $crate::mutants::reject!(@grows $case, $Table)
    };
}
pub(crate) use reject;

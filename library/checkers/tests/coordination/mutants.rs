//! The checkers are checked: each mutant of `broken/coordination` must be rejected by the case that
//! its list names.

/// Requires that a case fails.
macro_rules! reject {
    (rounds, $Barrier:ident<$M:ident>) => {
        syncline_checkers::meeting!($Barrier);
        $crate::mutants::reject!(@syncline_checkers::cases::barrier::rounds::<$M, $Barrier<$M>>(2, 1));
    };
    // With shuttle: under loom, the next thread always comes before a waiter sleeps.
    (drawn, $Barrier:ident<$M:ident>) => {
        type Drawn = $Barrier<syncline_checkers::Shuttle>;
        syncline_checkers::meeting!($Barrier);
        let case =
            || syncline_checkers::cases::barrier::rounds::<syncline_checkers::Shuttle, Drawn>(4, 2);
        let why = syncline_checkers::random_failure(case);
        println!("{}", why.expect("the mutant survived"));
    };
    (several, $Barrier:ident<$M:ident>) => {
        syncline_checkers::meeting!($Barrier);
        $crate::mutants::reject!(@syncline_checkers::cases::barrier::several::<$M, $Barrier<$M>>(2, 2));
    };
    (once, $Once:ident<$M:ident>) => {
        syncline_checkers::happens!($Once);
        $crate::mutants::reject!(@syncline_checkers::cases::once::once::<$M, $Once<$M>>(3));
    };
    (waited, $Once:ident<$M:ident>) => {
        syncline_checkers::happens!($Once);
        $crate::mutants::reject!(@syncline_checkers::cases::once::waited::<$M, $Once<$M>>(3));
    };
    (panicked, $Once:ident<$M:ident>) => {
        syncline_checkers::happens!($Once);
        $crate::mutants::reject!(@syncline_checkers::cases::once::panicked::<$M, $Once<$M>>(3, 0));
    };
    (upgraded, $Lock:ty) => {
        $crate::mutants::reject!(@syncline_checkers::cases::upgraded::<$Lock>(1, 1));
    };
    (upgraded_in_time, $Lock:ty) => {
        let case = || syncline_checkers::cases::upgraded_in_time::<$Lock>(2);
        let why = syncline_checkers::failure(true, case);
        println!("{}", why.expect("the mutant survived"));
    };
    (tries_upgradable, $Lock:ty) => {
        $crate::mutants::reject!(@syncline_checkers::cases::tries_upgradable::<$Lock>(2));
    };
    (tries, $Lock:ty) => {
        $crate::mutants::reject!(@syncline_checkers::cases::tries_among_readers::<$Lock>());
    };
    (exclusion, $Lock:ty) => {
        $crate::mutants::reject!(@syncline_checkers::cases::exclusion::<$Lock>(2, 2));
    };
    (@$($case:tt)*) => {
        let why = syncline_checkers::failure(false, || $($case)*);
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

//! Broken condition variables.

/// Requires that a case fails with a broken condition variable.
macro_rules! reject {
    ($case:ident, $Lock:ident, $Condvar:ident) => {
        syncline_checkers::condition!($Condvar);
        type Broken = $Condvar<syncline_checkers::Loom>;
        type Lock = syncline::lock::$Lock<syncline::wait::Park, syncline_checkers::Loom>;
        let case = || syncline_checkers::cases::condvar::$case::<Broken, Lock>(2);
        let why = $crate::mutants::failure(false, case);
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

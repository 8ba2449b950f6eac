//! Broken condition variables.

/// Requires that a case fails with a broken condition variable.
macro_rules! reject {
    (passed_on, $Lock:ident, $Condvar:ident) => {
        $crate::condvar::reject!(@true, passed_on(), $Lock, $Condvar);
    };
    ($case:ident, $Lock:ident, $Condvar:ident) => {
        $crate::condvar::reject!(@false, $case(2), $Lock, $Condvar);
    };
    (@$timed:literal, $case:ident($($takers:expr)?), $Lock:ident, $Condvar:ident) => {
        syncline_checkers::condition!($Condvar);
        type Broken = $Condvar<syncline_checkers::Loom>;
        type Lock = syncline::lock::$Lock<syncline::wait::Park, syncline_checkers::Loom>;
        let case = || syncline_checkers::cases::condvar::$case::<Broken, Lock>($($takers)?);
        let why = $crate::mutants::failure($timed, case);
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

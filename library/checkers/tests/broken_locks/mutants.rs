//! The checkers are checked: each mutant of `broken/` must be rejected by the case that its list
//! names.

pub use syncline_checkers::failure;

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
    (frees, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, last_frees(2), last_frees(3))
    };
    (frees_shared, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock,
            last_writer_frees(2), last_reader_frees(2), last_writer_frees(3), last_reader_frees(3),
            last_of_all_frees(3))
    };
    (timed, $Lock:ty) => {
        $crate::mutants::reject!(@true, $Lock, timed(2, 2), timed(3, 1), leaver(4), leavers(3), first_leaves(3), woken_in_vain())
    };
    (impatient, $Lock:ty) => {
        $crate::mutants::reject!(@true, $Lock, impatient(4), impatient(6))
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
    (overtaken_shared, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, overtaken_shared(3))
    };
    (downgraded, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, downgraded(2, 0), downgraded(1, 1), downgraded(2, 1))
    };
    (preference, $Lock:ty) => {
        $crate::mutants::reject!(@false, $Lock, preference(), after_a_writer())
    };
    (@$timed:literal, $Lock:ty, $($case:ident($($argument:expr),*)),*) => {
        let mut why = None;
        $(if why.is_none() {
            let case = || syncline_checkers::cases::$case::<$Lock>($($argument),*);
            why = $crate::mutants::failure($timed, case);
        })*
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

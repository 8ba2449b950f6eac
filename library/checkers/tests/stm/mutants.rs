//! The checkers are checked: each mutant of `broken/stm/` must be rejected by the case that its
//! list names.

pub use syncline_checkers::{failure, random_failure};

/// Returns why a case fails under loom; `None` if it does not.
pub fn loom_failure(case: impl Fn() + Send + Sync + 'static) -> Option<String> {
    failure(false, case)
}

/// Requires that one of the cases fails.
macro_rules! reject {
    (counted, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, counted(2, 1), counted(2, 2), counted(3, 1))
    };
    (opaque, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, opaque(2), blind(2), opaque(3))
    };
    (ahead, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, ahead(2), ahead(3))
    };
    (crossed, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, crossed(1), crossed(2))
    };
    (skewed, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, skewed())
    };
    (published, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, published())
    };
    (awaited, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, awaited(2), awaited(3))
    };
    (recorded, $Engine:ty) => {{
        use $crate::history::Time::OwnThread;
        $crate::mutants::reject!(
            @$Engine, recorded(2, 1, OwnThread), recorded(2, 2, OwnThread), recorded(3, 1, OwnThread)
        );
    }};
    (in_place, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, in_place(2, 0), in_place(3, 0))
    };
    (in_place_again, $Engine:ty) => {
        $crate::mutants::reject!(@$Engine, in_place(2, 2), in_place(3, 2))
    };
    (begun_counted, $Engine:ty) => {
        $crate::mutants::reject!(@begun $Engine, counted(2, 1), counted(2, 2), counted(3, 1))
    };
    (begun_opaque, $Engine:ty) => {
        $crate::mutants::reject!(@begun $Engine, opaque(2), blind(2), opaque(3), blind(3))
    };
    (begun_awaited, $Engine:ty) => {
        $crate::mutants::reject!(@begun $Engine, awaited(2), awaited(3))
    };
    (@begun $Engine:ty, $($case:ident($($argument:expr),*)),*) => {
        $crate::mutants::reject!(
            @setup loom_failure, $crate::cases::Begun<$Engine>, $($case($($argument),*)),*
        )
    };
    (served_counted, $Engine:ty) => {
        $crate::mutants::reject!(@served $Engine, counted(2, 2), counted(3, 2))
    };
    (served_skewed, $Engine:ty) => {
        $crate::mutants::reject!(@served $Engine, skewed(), counted(2, 2), counted(3, 2))
    };
    (served_opaque, $Engine:ty) => {
        $crate::mutants::reject!(@served $Engine, opaque(2), opaque(3), recorded(3, 2, Real))
    };
    (served_awaited, $Engine:ty) => {
        $crate::mutants::reject!(@served $Engine, awaited(2))
    };
    (@served $Engine:ty, $($case:ident($($argument:expr),*)),*) => {
        use $crate::history::Time::Real;
        use syncline_checkers::Shuttle;
        /// With one lock server.
        struct WithServer;
        $crate::cases::with_servers! { [] WithServer, $Engine, 1 }
        $crate::mutants::reject!(@setup random_failure, WithServer, $($case($($argument),*)),*)
    };
    (@$Engine:ty, $($case:ident($($argument:expr),*)),*) => {
        $crate::mutants::reject!(
            @setup loom_failure, $crate::cases::Alone<$Engine>, $($case($($argument),*)),*
        )
    };
    (@setup $failure:ident, $Setup:ty, $($case:ident($($argument:expr),*)),*) => {
        let mut why = None;
        $(if why.is_none() {
            let case = || $crate::cases::$case::<$Setup>($($argument),*);
            why = $crate::mutants::$failure(case);
        })*
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

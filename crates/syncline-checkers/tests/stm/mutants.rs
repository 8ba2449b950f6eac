//! The checkers are checked: each mutant of `broken/stm/` must be rejected by the case that its
//! list names.

pub use syncline_checkers::failure;

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
    (@$Engine:ty, $($case:ident($($argument:expr),*)),*) => {
        let mut why = None;
        $(if why.is_none() {
            let case = || $crate::cases::$case::<$crate::cases::Alone<$Engine>>($($argument),*);
            why = $crate::mutants::failure(false, case);
        })*
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

//! The checkers are checked: each mutant of `broken/channel/` must be rejected by the case that
//! its list names.

pub use syncline_checkers::failure;

/// Requires that the case fails.
macro_rules! reject {
    (stream, $Channel:ty) => {
        $crate::mutants::reject!(@$Channel, stream(1, 5))
    };
    (batch, $Channel:ty) => {
        $crate::mutants::reject!(@$Channel, batch(3, 3))
    };
    (batch_to_a_waiter, $Channel:ty) => {
        $crate::mutants::reject!(@$Channel, batch_to_a_waiter(1, 5))
    };
    (left_by_receiver, $Channel:ty) => {
        $crate::mutants::reject!(@$Channel, left_by_receiver(1, 0))
    };
    (round_trips, $Channel:ty) => {
        $crate::mutants::reject!(@$Channel, round_trips(1))
    };
    (inbox, $Channel:ty) => {
        $crate::mutants::reject!(@$Channel, inbox(2, 1))
    };
    (selected, $Channel:ty) => {
        $crate::mutants::reject!(@$Channel, selected(2, true, 1))
    };
    (selected_by, $Select:ty) => {
        type Channel = syncline::channel::Ring<crate::cases::Small, syncline::wait::Park, Loom>;
        $crate::cases::selects! { {} $Select, Channel }
        let mut why = None;
        for (by_one, messages) in [(true, 1), (true, 2), (false, 1), (false, 2)] {
            let case = move || {
                $crate::cases::selected_by::<Channel, $Select>(2, by_one, messages);
            };
            why = why.or_else(|| $crate::mutants::failure(false, case));
        }
        println!("{}", why.expect("the mutant survived"));
    };
    (tasks, $Channel:ty) => {
        $crate::mutants::reject!(@tasks $Channel, stream(Thread, Task, 3))
    };
    (restless, $Channel:ty) => {
        $crate::mutants::reject!(@tasks $Channel, stream(Thread, Restless, 3))
    };
    (changing, $Channel:ty) => {
        $crate::mutants::reject!(@tasks $Channel, stream(Thread, Changing, 3))
    };
    (@tasks $Channel:ty, $case:ident($($argument:expr),*)) => {
        use $crate::tasks::As::*;
        let case = || $crate::tasks::$case::<$Channel>($($argument),*);
        println!("{}", $crate::mutants::failure(false, case).expect("the mutant survived"));
    };
    (task_to_task, $Channel:ty) => {
        $crate::mutants::reject!(@tasks_of_many $Channel, [Task], [Task], 3)
    };
    (task_to_restless, $Channel:ty) => {
        $crate::mutants::reject!(@tasks_of_many $Channel, [Task], [Restless], 2)
    };
    (task_to_tasks, $Channel:ty) => {
        $crate::mutants::reject!(@tasks_of_many $Channel, [Task], [Task, Task], 2)
    };
    (receiver_leaves, $Channel:ty) => {
        $crate::mutants::reject!(@tasks_of_many $Channel, [Task], [Once, Task], 2)
    };
    (passed_on, $Channel:ty) => {
        $crate::mutants::reject!(@tasks_of_many $Channel, passed_on::<Channel>())
    };
    (@tasks_of_many $Sender:ty, $senders:expr, $receivers:expr, $messages:literal) => {
        use $crate::tasks_of_many::Way::*;
        $crate::mutants::reject!(
            @tasks_of_many $Sender, spread::<Channel>(&$senders, &$receivers, $messages)
        )
    };
    (@tasks_of_many $Sender:ty, $case:ident::<$Channel:ident>($($argument:expr),*)) => {
        struct $Channel;
        $crate::tasks_of_many::many_tasks! { $Channel, $Sender, syncline_checkers::Loom }
        let case = || $crate::tasks_of_many::$case::<$Channel>($($argument),*);
        println!("{}", $crate::mutants::failure(false, case).expect("the mutant survived"));
    };
    (to_one, $Channel:ty) => {
        $crate::mutants::reject!(@many $Channel, spread(1, 1, 1, 3), spread(1, 2, 1, 1))
    };
    (to_two, $Channel:ty) => {
        $crate::mutants::reject!(@many $Channel, spread(1, 1, 2, 2), spread(2, 1, 2, 2))
    };
    (left, $Channel:ty) => {
        $crate::mutants::reject!(@many $Channel, left(1, 1, 1), left(1, 1, 2))
    };
    (@many $Sender:ty, $($case:ident($($argument:expr),*)),*) => {
        struct Channel;
        $crate::many::many! { Channel, $Sender, syncline_checkers::Loom }
        let mut why = None;
        $(if why.is_none() {
            let case = || $crate::many::$case::<Channel>($($argument),*);
            why = $crate::mutants::failure(false, case);
        })*
        println!("{}", why.expect("the mutant survived"));
    };
    (too_late, $Channel:ty) => {
        $crate::mutants::reject!(@true, $Channel, too_late())
    };
    (@$Channel:ty, $case:ident($($argument:expr),*)) => {
        $crate::mutants::reject!(@false, $Channel, $case($($argument),*))
    };
    (@$timed:literal, $Channel:ty, $case:ident($($argument:expr),*)) => {
        let case = || $crate::cases::$case::<$Channel>($($argument),*);
        let why = $crate::mutants::failure($timed, case);
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;

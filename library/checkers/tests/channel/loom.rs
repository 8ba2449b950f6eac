//! Each channel under loom; the bounds are next to the cases.

use syncline_checkers::Executions;

const UP_TO: Executions = Executions(6_000);

macro_rules! cases {
    ($($name:ident: $explore:ident($preemptions:literal), $case:ident($($argument:expr),*);)*) => {
        $(#[test]
        fn $name() {
            let case = || crate::cases::$case::<Channel>($($argument),*);
            crate::loom::UP_TO.$explore($preemptions, case);
        })*
    };
}

macro_rules! channel {
    ($name:ident: $Channel:ident<$Note:ident>, $Wait:ident) => {
        mod $name {
            type Channel = syncline::channel::$Channel<
                crate::cases::$Note,
                syncline::wait::$Wait,
                syncline_checkers::Loom,
            >;
            cases! {
                streams_of_three: explore(4), stream(1, 3);
                streams_of_five: explore(3), stream(1, 5);
                batches: explore(3), batch(1, 5);
                batches_of_two_units: explore(3), batch(3, 7);
                batches_to_a_waiter: explore(3), batch_to_a_waiter(1, 5);
                tries: explore(4), tries(1, 3);
                left_by_receiver: explore(4), left_by_receiver(1, 0);
                left_by_receiver_later: explore(3), left_by_receiver(1, 2);
                round_trips: explore(3), round_trips(2);
                an_inbox_of_one: explore(4), inbox(1, 3);
                an_inbox_of_two: explore(2), inbox(2, 1);
                a_fuller_inbox_of_two: explore(2), inbox(2, 2);
                chosen: explore(2), chosen(2);
                in_time_or_not: explore_timed(3), in_time_or_not(2);
                selected_of_one_sender: explore(3), selected(2, true, 1);
                selected_of_two: explore(2), selected(2, false, 1);
                selected_of_two_later: explore(2), selected(2, false, 2);
                selected_in_time_or_not: explore_timed(3), selected_in_time_or_not();
            }
        }
    };
}

channel! { rings_that_spin: Ring<Small>, Spin }
channel! { rings_that_park: Ring<Small>, Park }
channel! { rings_of_large_messages_that_spin: Ring<Large>, Spin }
channel! { rings_of_large_messages_that_park: Ring<Large>, Park }
channel! { singles_that_spin: Single<Small>, Spin }
channel! { singles_that_park: Single<Small>, Park }

mod singles_in_time {
    type Channel = syncline::channel::Single<
        crate::cases::Small,
        syncline::wait::Park,
        syncline_checkers::Loom,
    >;
    cases! {
        too_late: explore_timed(3), too_late();
        too_late_for_an_inbox: explore_timed(3), too_late_for_an_inbox();
    }
}

mod rings_in_time {
    type Channel =
        syncline::channel::Ring<crate::cases::Small, syncline::wait::Park, syncline_checkers::Loom>;
    cases! {
        too_late: explore_timed(3), too_late();
        too_late_for_an_inbox: explore_timed(3), too_late_for_an_inbox();
    }
}

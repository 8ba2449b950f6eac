//! Each channel under shuttle, with more messages and senders than loom can handle.

macro_rules! cases {
    ($($name:ident: $case:ident($($argument:expr),*);)*) => {
        $(#[test]
        fn $name() {
            let case = || crate::cases::$case::<Channel>($($argument),*);
            syncline_checkers::randomly(300, case);
        })*
    };
}

macro_rules! channel {
    ($name:ident: $Channel:ident<$Note:ident>, $Wait:ident) => {
        mod $name {
            type Channel = syncline::channel::$Channel<
                crate::cases::$Note,
                syncline::wait::$Wait,
                syncline_checkers::Shuttle,
            >;
            cases! {
                streams: stream(3, 30);
                batches: batch(5, 30);
                tries: tries(2, 20);
                left_by_receiver: left_by_receiver(3, 7);
                round_trips: round_trips(10);
                inboxes: inbox(4, 5);
                chosen: chosen(4);
                in_time_or_not: in_time_or_not(10);
                selected_of_one_sender: selected(3, true, 5);
                selected: selected(4, false, 5);
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

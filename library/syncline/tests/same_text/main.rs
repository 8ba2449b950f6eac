//! Programs as users of the standard library and of parking_lot write them. Each is compiled and
//! run twice: with their types, and with ours, for which only the `use` line changes.
//!
//! What can't be written the same way is listed, with the reasons, in `docs/familiar.md`. One
//! difference is so common that these texts name it: `held!(mutex.lock())` is `mutex.lock().unwrap()`
//! with the standard library's types, and `mutex.lock()` with ours and parking_lot's.

/// A text with the standard library's types, and with ours.
macro_rules! as_with_std {
    ($($name:ident: $file:literal;)*) => {
        $(mod $name {
            mod theirs {
                use ::std::sync as peer;
                #[allow(unused_macros, reason = "not every text locks")]
                macro_rules! held {
                    ($outcome:expr) => {
                        $outcome.unwrap()
                    };
                }
                include!($file);
            }
            mod ours {
                use ::syncline as peer;
                #[allow(unused_macros, reason = "not every text locks")]
                macro_rules! held {
                    ($outcome:expr) => {
                        $outcome
                    };
                }
                include!($file);
            }
        })*
    };
}

/// A text with parking_lot's types, and with ours.
macro_rules! as_with_parking_lot {
    ($($name:ident: $file:literal;)*) => {
        $(mod $name {
            mod theirs {
                use ::parking_lot as peer;
                include!($file);
            }
            mod ours {
                use ::syncline as peer;
                include!($file);
            }
        })*
    };
}

as_with_std! {
    std_mutex: "std_mutex.rs";
    std_rwlock: "std_rwlock.rs";
    std_once: "std_once.rs";
    std_barrier: "std_barrier.rs";
}

as_with_parking_lot! {
    parking_lot_mutex: "parking_lot_mutex.rs";
    parking_lot_rwlock: "parking_lot_rwlock.rs";
    parking_lot_condvar: "parking_lot_condvar.rs";
    parking_lot_once: "parking_lot_once.rs";
    parking_lot_arcs: "parking_lot_arcs.rs";
}

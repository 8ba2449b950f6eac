//! Writes `locks.hpp`.

use super::comment::{description, of_delegating, wrapped};
use super::types::{Delegating, Type};

pub(super) fn locks(exclusive: &[Type], shared: &[Type], delegating: &[Delegating]) -> String {
    let introduction = "The locks as classes; syncline.hpp says what they can do. This file is \
                        made from the catalogue of locks, and included by syncline.hpp only.";
    let mut lines = wrapped(introduction, "//");
    for lock in exclusive.iter().chain(shared) {
        lines.push(String::new());
        lines.extend(wrapped(&description(lock), "///"));
        let kind = match (lock.entry.can_try, lock.entry.timed) {
            (_, true) => "TIMED_",
            (true, false) => "TRY_",
            (false, false) => "",
        };
        let access = if lock.entry.shared { "RWLOCK" } else { "LOCK" };
        lines.push(format!("SYNCLINE_{kind}{access}({})", lock.entry.name));
    }
    for lock in delegating {
        lines.push(String::new());
        lines.extend(wrapped(&of_delegating(lock), "///"));
        lines.push(format!("SYNCLINE_DELEGATION({})", lock.name));
    }
    lines.push(String::new());
    lines.join("\n")
}

//! Messages about rules that no longer match as they did when the policy was written, or that can't
//! be checked.

use std::fmt;

use syncline_code::locate::{Missing, Wider};

/// A remark on a rule that does not match as it did when it was written, or that can't be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The line of the rule, from 1; for [`Plan::of_places`](crate::Plan::of_places), the number of
    /// the list.
    pub line: usize,
    /// The name in the rule.
    pub name: String,
    /// Why there is a remark.
    pub why: Why,
}

/// The reason of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The name matches nothing, so the rule has no effect.
    Without(Missing),
    /// The name matches nothing, and the rule's offsets are used instead.
    Offsets(Missing),
    /// The rule matches the whole function instead of one line or call in it.
    Wider(Wider),
    /// The name is in a file that the program does not load at its start, so it can't be checked.
    Unchecked,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = |missing| match missing {
            Missing::NoSuchName => "is no longer in the program",
            Missing::NoSymbols => "can't be looked up, since the program has no symbols",
            Missing::Changed => "is an address of another build of the program",
        };
        let name = &self.name;
        match self.why {
            Why::Without(why) => {
                write!(f, "`{name}` {}: the rule has no effect", missing(why))
            }
            Why::Offsets(why) => {
                write!(f, "`{name}` {}: the rule's offsets are used", missing(why))
            }
            Why::Wider(why) => {
                let why = match why {
                    Wider::NoLines => "the program has no line numbers",
                    Wider::Moved => "no lock is used on that line",
                    Wider::Changed => "the program was built again",
                };
                write!(f, "`{name}`: {why}, so the rule matches the whole function")
            }
            Why::Unchecked => {
                write!(
                    f,
                    "`{name}` is in a file that the program loads later, and can't be checked"
                )
            }
        }
    }
}

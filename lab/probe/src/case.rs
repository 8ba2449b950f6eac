//! The measured cases: six operations on a line in five states, the 30 cases of ccbench (SSYNC,
//! section 4.2), and how a line is brought into each state.
//!
//! No instruction puts a line into a state. A line gets there by the accesses of threads, one after
//! the other; [`steps`] returns these sequences. The thread that measures is role 0, role 1 is the
//! holder, and roles from 2 on are further sharers.

pub use syncline_sim::machine::{Access, State};

/// The operations, in the order of the tables.
pub const ACCESSES: [Access; 6] = [
    Access::Load,
    Access::Store,
    Access::CompareAndSwap,
    Access::FetchAndIncrement,
    Access::TestAndSet,
    Access::Swap,
];

/// The states, in the order of the tables.
pub const STATES: [State; 5] =
    [State::Modified, State::Owned, State::Exclusive, State::Shared, State::Invalid];

/// The short name of an operation, as in the paper and in machine descriptions.
pub fn access_name(access: Access) -> &'static str {
    match access {
        Access::Load => "load",
        Access::Store => "store",
        Access::CompareAndSwap => "cas",
        Access::FetchAndIncrement => "fai",
        Access::TestAndSet => "tas",
        Access::Swap => "swap",
    }
}

/// The name of a state, as in machine descriptions.
pub fn state_name(state: State) -> &'static str {
    match state {
        State::Modified => "modified",
        State::Owned => "owned",
        State::Exclusive => "exclusive",
        State::Shared => "shared",
        State::Invalid => "invalid",
    }
}

/// What a thread does to a line to bring the line into a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Writes the line: no other cache has it then.
    Store,
    /// Reads the line.
    Load,
    /// Evicts the line from all caches.
    Evict,
}

/// A step of a preparation: the thread's role, and its access.
pub type Step = (usize, Touch);

/// The steps after which a line is in a state. An owned or shared line has the roles from 1 to
/// `holders` as its holders; the others have role 1, or none if invalid. Each sequence begins with
/// a store of the holder, which makes the line's value known and its former state irrelevant.
///
/// With a single holder, the second reader of Owned and Shared is the measuring thread itself. Then
/// only writes can be measured, since a read finds the line in its own cache.
pub fn steps(state: State, holders: usize) -> Vec<Step> {
    let mut steps = vec![(1, Touch::Store)];
    let readers = |first: usize| {
        let others = (first..=holders).map(|role| (role, Touch::Load));
        others.chain((holders < 2).then_some((0, Touch::Load)))
    };
    match state {
        State::Modified => {}
        State::Owned => steps.extend(readers(2)),
        State::Exclusive => steps.extend([(1, Touch::Evict), (1, Touch::Load)]),
        State::Shared => {
            steps.push((1, Touch::Evict));
            steps.extend(readers(1));
        }
        State::Invalid => steps.push((1, Touch::Evict)),
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use Touch::{Evict, Load, Store};

    #[test]
    fn a_line_is_written_first_and_then_brought_into_its_state() {
        assert_eq!(steps(State::Modified, 1), [(1, Store)]);
        assert_eq!(steps(State::Owned, 2), [(1, Store), (2, Load)]);
        assert_eq!(steps(State::Exclusive, 1), [(1, Store), (1, Evict), (1, Load)]);
        assert_eq!(steps(State::Shared, 2), [(1, Store), (1, Evict), (1, Load), (2, Load)]);
        assert_eq!(steps(State::Invalid, 1), [(1, Store), (1, Evict)]);
    }

    #[test]
    fn without_a_third_thread_the_one_who_measures_reads_too() {
        assert_eq!(steps(State::Owned, 1), [(1, Store), (0, Load)]);
        assert_eq!(steps(State::Shared, 1), [(1, Store), (1, Evict), (1, Load), (0, Load)]);
    }

    #[test]
    fn there_are_thirty_cases() {
        assert_eq!(ACCESSES.len() * STATES.len(), 30);
    }
}

//! The cases that are measured, and how a line gets into each state. There are six operations on a
//! line in one of five states: the 30 cases of ccbench (SSYNC, section 4.2).
//!
//! No instruction puts a line into a state. A line gets into it by accesses of threads, one after
//! another; [`steps`] returns these sequences. The thread that measures has role 0, the holder of
//! the line has role 1, and further sharers have the roles from 2 on.

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

/// An access by which a thread helps to bring a line into a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Writes the line. Afterwards no other cache has the line.
    Store,
    /// Reads the line.
    Load,
    /// Evicts the line from all caches.
    Evict,
}

/// A step of the preparation: the role of a thread, and its access.
pub type Step = (usize, Touch);

/// The steps that bring a line into a state. If the state is Owned or Shared, the roles from 1 to
/// `holders` have the line afterwards. In the other states only role 1 has it, or no role if the
/// state is Invalid. Each sequence begins with a store of the holder, after which the line's value
/// is known and its previous state does not matter.
///
/// If there is only one holder, the measuring thread itself is the second reader for Owned and
/// Shared. Then only writes can be measured, since a read would find the line in the thread's own
/// cache.
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
    fn without_a_third_thread_the_measuring_thread_reads_too() {
        assert_eq!(steps(State::Owned, 1), [(1, Store), (0, Load)]);
        assert_eq!(steps(State::Shared, 1), [(1, Store), (1, Evict), (1, Load), (0, Load)]);
    }

    #[test]
    fn there_are_thirty_cases() {
        assert_eq!(ACCESSES.len() * STATES.len(), 30);
    }
}

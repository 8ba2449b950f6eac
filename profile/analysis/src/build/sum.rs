//! Time that samples show, by thread and by stack.

use std::collections::BTreeMap;

/// The time that threads spent on one thing.
#[derive(Default)]
pub struct Sum {
    threads: BTreeMap<usize, f64>,
    stacks: BTreeMap<usize, f64>,
}

impl Sum {
    /// Adds seconds that a thread spent with a stack.
    pub fn add(&mut self, thread: usize, stack: usize, seconds: f64) {
        *self.threads.entry(thread).or_default() += seconds;
        *self.stacks.entry(stack).or_default() += seconds;
    }

    /// The seconds of all threads.
    pub fn seconds(&self) -> f64 {
        self.threads.values().sum()
    }

    /// The threads and the seconds of each, in the order of their numbers.
    pub fn threads(&self) -> impl Iterator<Item = (usize, f64)> {
        self.threads.iter().map(|(&thread, &seconds)| (thread, seconds))
    }

    /// The stack with most time; `None` if nothing was added.
    pub fn stack(&self) -> Option<usize> {
        let most = self.stacks.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        most.map(|(&stack, _)| stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_added_by_thread_and_by_stack() {
        let mut sum = Sum::default();
        assert_eq!((sum.stack(), sum.seconds()), (None, 0.0));
        for (thread, stack, seconds) in [(1, 7, 2.0), (2, 8, 3.0), (1, 7, 2.0)] {
            sum.add(thread, stack, seconds);
        }
        assert_eq!((sum.stack(), sum.seconds()), (Some(7), 7.0));
        assert_eq!(sum.threads().collect::<Vec<_>>(), [(1, 4.0), (2, 3.0)]);
    }
}

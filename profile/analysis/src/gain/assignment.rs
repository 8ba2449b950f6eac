//! The gain of dividing work among threads in another way: a pipeline takes as long as its slowest
//! stage.

use crate::model::Group;

/// Seconds by which the run gets shorter if each group has the proposed number of threads, and all
/// threads of a group have the same work. The run takes no less than `least`, the processor time of
/// all threads divided by the number of processors. (A group's work may be more than its processor
/// time, if its threads sleep or wait for devices.)
pub fn seconds(groups: &[Group], least: f64) -> f64 {
    let slowest = |time: fn(&Group) -> f64| groups.iter().map(time).fold(least, f64::max);
    let before = slowest(|group| group.busiest);
    let after = slowest(|group| group.work / group.proposed.max(1) as f64);
    (before - after).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(threads: usize, proposed: usize, work: f64) -> Group {
        let busiest = work / threads as f64;
        Group {
            start_function: String::new(),
            origin: String::new(),
            threads,
            proposed,
            work,
            busiest,
        }
    }

    #[test]
    fn the_slowest_stage_sets_the_pace() {
        let groups = [group(4, 2, 4.0), group(4, 6, 12.0)];
        assert_eq!(seconds(&groups, 0.0), 1.0);
    }

    #[test]
    fn more_threads_for_a_stage_do_not_make_more_processors() {
        let groups = [group(4, 2, 4.0), group(4, 6, 12.0)];
        assert_eq!(seconds(&groups, 4.0), 0.0, "16 seconds on 4 processors take 4");
        assert_eq!(seconds(&groups, 2.5), 0.5);
    }

    #[test]
    fn unequal_threads_of_one_group_become_equal() {
        let unequal = Group { busiest: 6.0, ..group(4, 4, 12.0) };
        assert_eq!(seconds(&[unequal], 1.5), 3.0);
    }
}

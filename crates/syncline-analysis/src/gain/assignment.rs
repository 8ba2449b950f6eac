//! Work divided among threads: the time of a pipeline is that of its slowest stage.

use crate::model::Group;

/// The share of the run time that goes away when each group has the proposed threads and
/// all threads of a group the same work.
pub fn share(groups: &[Group], processors: f64) -> f64 {
    let work: f64 = groups.iter().map(|group| group.work).sum();
    let least = work / processors;
    let slowest = |time: fn(&Group) -> f64| groups.iter().map(time).fold(least, f64::max);
    let before = slowest(|group| group.busiest);
    let after = slowest(|group| group.work / group.proposed.max(1) as f64);
    if before > 0.0 { 1.0 - after / before } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(threads: usize, proposed: usize, work: f64) -> Group {
        let busiest = work / threads as f64;
        Group { start_function: String::new(), threads, proposed, work, busiest }
    }

    #[test]
    fn the_slowest_stage_sets_the_pace() {
        let groups = [group(4, 2, 4.0), group(4, 6, 12.0)];
        assert!((share(&groups, f64::INFINITY) - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn more_threads_for_a_stage_do_not_make_more_processors() {
        let groups = [group(4, 2, 4.0), group(4, 6, 12.0)];
        assert_eq!(share(&groups, 4.0), 0.0, "16 seconds on 4 processors take 4");
    }

    #[test]
    fn unequal_threads_of_one_group_become_equal() {
        let unequal = Group { busiest: 6.0, ..group(4, 4, 12.0) };
        assert_eq!(share(&[unequal], 8.0), 0.5);
    }
}

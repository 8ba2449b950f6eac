//! How many threads each group should have, so that a thread of the busiest group has as little
//! work as possible. Each number is at least 1 and nearly in proportion to the group's work; the
//! sum stays the same.

/// The number of threads for each group, given the groups' work. The sum is `threads`, or the
/// number of groups if that is larger.
///
/// Each group gets one thread. Then each further thread goes to the group whose threads have most
/// work at that point (the divisor method with the divisors 1, 2, 3, …). The method of largest
/// remainders would be worse: it may leave the busiest group's threads more work than necessary.
pub fn proportional(work: &[f64], threads: usize) -> Vec<usize> {
    let mut assigned = vec![1; work.len()];
    for _ in work.len()..threads {
        let load = |&group: &usize| work[group] / assigned[group] as f64;
        let busiest = (0..work.len()).max_by(|a, b| load(a).total_cmp(&load(b)));
        if let Some(busiest) = busiest {
            assigned[busiest] += 1;
        }
    }
    assigned
}

/// The work of a thread in the busiest group, if each group's threads share its work evenly.
pub fn busiest(work: &[f64], threads: &[usize]) -> f64 {
    let loads = work.iter().zip(threads).map(|(work, &threads)| work / threads.max(1) as f64);
    loads.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least possible work of the busiest thread, found by trying all assignments.
    fn best(work: &[f64], threads: usize) -> f64 {
        let [first, rest @ ..] = work else { return 0.0 };
        let most = if rest.is_empty() { threads } else { threads - rest.len() };
        let least = if rest.is_empty() { threads } else { 1 };
        let split = |own: usize| (first / own as f64).max(best(rest, threads - own));
        (least..=most).map(split).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_proportional_assignment_is_optimal() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..3000 {
            let groups = random.usize(1..=5);
            let threads = random.usize(groups..=16);
            let work: Vec<f64> = (0..groups).map(|_| random.f64().powi(3) * 10.0).collect();
            let assigned = proportional(&work, threads);
            assert_eq!(assigned.iter().sum::<usize>(), threads);
            assert!(assigned.iter().all(|&threads| threads >= 1));
            let (ours, best) = (busiest(&work, &assigned), best(&work, threads));
            assert!(ours <= best + 1e-9, "{work:?} on {threads}: {assigned:?}, {ours} {best}");
        }
    }

    #[test]
    fn the_stages_of_ferret_and_dedup() {
        // From SyncPerf, section 4.4.5: 1-1-3-11 was the best of all assignments tried there.
        assert_eq!(proportional(&[1.0, 0.2, 2.5, 12.2], 16), [1, 1, 3, 11]);
        assert_eq!(proportional(&[2.4, 1.2, 8.4], 12), [2, 2, 8]);
        assert_eq!(proportional(&[0.0, 0.0], 3).iter().sum::<usize>(), 3, "no work at all");
    }
}

//! One problem, one finding. A lock that is taken for nothing is often contended as well,
//! and held while its holder is preempted; the fix of the first takes the others with it.
//! So of several findings at one place only the first of the order below stays.

use crate::model::{Finding, Rule};

/// Rules that may speak of the same waits or calls, those first whose fix leaves nothing for
/// the others: locks that are not needed, then waits for the wrong thing, then better
/// primitives, then better use of the same ones, then symptoms, then small change.
///
/// Rules that are not here never say what another one says.
const ORDER: &[Rule] = &[
    Rule::SerializedByOuter,
    Rule::LocalDataOnly,
    Rule::AlreadyExclusive,
    Rule::PollingBarrier,
    Rule::PollingTry,
    Rule::ShortQueue,
    Rule::OwnLock,
    Rule::FutileWakeUps,
    Rule::CondvarForTinyEvents,
    Rule::SleepingHolder,
    Rule::ManyTinySections,
    Rule::AtomicInstead,
    Rule::LookUnderLock,
    Rule::ReadersExcludeEachOther,
    Rule::AsymmetricContention,
    Rule::TooMuchData,
    Rule::Convoy,
    Rule::TooLongSection,
    Rule::PreemptedHolder,
    Rule::OnlyWriters,
    Rule::SpinlockInstead,
];

/// Leaves out what a finding before it in the order says already.
pub fn one_for_each_problem(mut findings: Vec<Finding>) -> Vec<Finding> {
    let rank = |finding: &Finding| ORDER.iter().position(|&rule| rule == finding.rule);
    findings.sort_by_key(rank);
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let said = |other: &Finding| {
            rank(other).is_some()
                && rank(other) < rank(&finding)
                && finding.sites.first().is_some_and(|site| other.sites.contains(site))
        };
        if rank(&finding).is_none() || !kept.iter().any(said) {
            kept.push(finding);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::finding;

    fn left(findings: Vec<Finding>) -> Vec<Rule> {
        one_for_each_problem(findings).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn the_more_specific_one_stays_whatever_the_order_they_come_in() {
        let spinlock = || finding(Rule::SpinlockInstead, &[3]);
        let outer = || finding(Rule::SerializedByOuter, &[2, 3]);
        assert_eq!(left(vec![spinlock(), outer()]), [Rule::SerializedByOuter]);
        assert_eq!(left(vec![outer(), spinlock()]), [Rule::SerializedByOuter]);
    }

    #[test]
    fn other_places_and_other_kinds_of_problem_stay() {
        let elsewhere =
            vec![finding(Rule::TooMuchData, &[1]), finding(Rule::SpinlockInstead, &[2])];
        assert_eq!(left(elsewhere).len(), 2);
        let independent = vec![finding(Rule::TooMuchData, &[1]), finding(Rule::BothOrders, &[1])];
        assert_eq!(left(independent).len(), 2);
        let same = vec![finding(Rule::TooMuchData, &[1]), finding(Rule::TooMuchData, &[1])];
        assert_eq!(left(same).len(), 2, "a rule knows what it says twice");
    }
}

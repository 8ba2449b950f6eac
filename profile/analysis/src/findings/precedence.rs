//! Each problem is reported by one rule. For example, a needless lock is often contended as well,
//! and its holder is preempted; removing the lock resolves the other two problems. So if several
//! rules that share waits have findings at one call site, only the findings of the rule that comes
//! first in [`crate::model::Rule`] are reported.

use crate::model::Finding;

/// Leaves out each finding whose first call site is also a call site of a kept finding of an
/// earlier rule. Findings of rules that do not share waits always stay.
pub fn one_for_each_problem(mut findings: Vec<Finding>) -> Vec<Finding> {
    let shares_waits = |finding: &Finding| finding.rule.about().shares_waits;
    findings.sort_by_key(|finding| finding.rule);
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let said = |other: &Finding| {
            other.rule < finding.rule
                && finding.sites.first().is_some_and(|site| other.sites.contains(site))
        };
        if !shares_waits(&finding) || !kept.iter().any(said) {
            kept.push(finding);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::finding;
    use crate::model::Rule;

    fn left(findings: Vec<Finding>) -> Vec<Rule> {
        one_for_each_problem(findings).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn the_more_specific_finding_stays_in_either_order() {
        let spinlock = || finding(Rule::SpinlockInstead, &[3]);
        let outer = || finding(Rule::SerializedByOuter, &[2, 3]);
        assert_eq!(left(vec![spinlock(), outer()]), [Rule::SerializedByOuter]);
        assert_eq!(left(vec![outer(), spinlock()]), [Rule::SerializedByOuter]);
    }

    #[test]
    fn findings_at_other_call_sites_or_of_other_kinds_stay() {
        let elsewhere =
            vec![finding(Rule::TooMuchData, &[1]), finding(Rule::SpinlockInstead, &[2])];
        assert_eq!(left(elsewhere).len(), 2);
        let independent = vec![finding(Rule::TooMuchData, &[1]), finding(Rule::BothOrders, &[1])];
        assert_eq!(left(independent).len(), 2);
        let same = vec![finding(Rule::TooMuchData, &[1]), finding(Rule::TooMuchData, &[1])];
        assert_eq!(left(same).len(), 2, "two findings of one rule both stay");
    }
}

//! Compares the findings in one recorded run with the expected ones.

use super::marks::Mark;

/// The parts of a finding that are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The rule's name.
    pub rule: String,
    /// The position that the report gives.
    pub place: String,
    /// The predicted gain, as a share of the run time.
    pub gain: Option<f64>,
}

/// The result of one run of a program with a problem.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    /// The right finding; if several findings are right, the one with the greatest gain.
    pub hit: Option<Seen>,
    /// The findings that are not right, in descending order of gain.
    pub also: Vec<Seen>,
}

/// Judges the findings of a report, which are in descending order of gain.
pub fn judge(marks: &[Mark], seen: Vec<Seen>) -> Verdict {
    let is_right = |s: &Seen| is_marked(marks, s);
    let (right, also): (Vec<Seen>, Vec<Seen>) = seen.into_iter().partition(is_right);
    Verdict { hit: right.into_iter().next(), also }
}

/// The findings that are at none of the marks.
pub fn unmarked(marks: &[Mark], mut seen: Vec<Seen>) -> Vec<Seen> {
    seen.retain(|s| !is_marked(marks, s));
    seen
}

/// Whether one of the marks names the finding's rule and its position.
fn is_marked(marks: &[Mark], seen: &Seen) -> bool {
    marks.iter().any(|m| m.rules.contains(&seen.rule) && m.is_at(&seen.place))
}

/// Whether a run of the stripped program, which has no names and lines, showed the problem. The
/// rule alone decides, since positions can't be compared.
pub fn is_seen(marks: &[Mark], seen: &[Seen]) -> bool {
    seen.iter().any(|s| marks.iter().any(|m| m.rules.contains(&s.rule)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::marks;

    fn seen(rule: &str, line: u32, gain: f64) -> Seen {
        Seen { rule: rule.to_owned(), place: format!("f at /src/a.c:{line}"), gain: Some(gain) }
    }

    #[test]
    fn only_the_right_rule_at_the_right_line_is_a_hit() {
        let marks = marks::read("a.c", "lock(); /* FINDING convoy|too-much-data */").unwrap();
        let all = vec![seen("convoy", 2, 0.4), seen("busy-futex", 1, 0.3), seen("convoy", 1, 0.2)];
        let verdict = judge(&marks, all.clone());
        assert_eq!(verdict.hit, Some(all[2].clone()));
        assert_eq!(verdict.also, all[..2]);
        assert_eq!(judge(&marks, all[..2].to_vec()).hit, None);
    }

    #[test]
    fn only_what_is_marked_may_remain() {
        let marks = marks::remaining("a.c", "add(); /* REMAINS busy-atomics */").unwrap();
        let all = vec![seen("busy-atomics", 1, 0.4), seen("busy-atomics", 2, 0.3)];
        assert_eq!(unmarked(&marks, all.clone()), all[1..]);
        assert_eq!(unmarked(&[], all.clone()), all);
    }

    #[test]
    fn a_second_right_finding_is_not_another_problem() {
        let marks = marks::read("a.c", "lock(); /* FINDING convoy|too-much-data */").unwrap();
        let both = vec![seen("too-much-data", 1, 0.4), seen("convoy", 1, 0.2)];
        let verdict = judge(&marks, both.clone());
        assert_eq!((verdict.hit, verdict.also.len()), (Some(both[0].clone()), 0));
    }
}

//! The search for locks: compares the candidates of each target with the program under the rules
//! that are kept so far.
//!
//! The targets are tried one after the other, each together with the rules that were kept before,
//! so that a gain is relative to the program as tuned so far. At the end all kept rules are
//! measured together.

use std::ffi::OsString;

use syncline_policy::{Files, Plan, Policy, Rule};
use syncline_statistics::{Interval, fewest};
use syncline_targets::objects::Target;
use syncline_try::{Comparison, Experiment, Failed, Outcome, Step, Variant, Verdict};

/// Returns the variables of the environment that load the replacing library into the program and
/// apply a plan; or the reason why that is impossible.
pub type Variables<'a> = &'a dyn Fn(&Plan) -> Result<Vec<(OsString, OsString)>, String>;

/// The state of the search.
pub struct Search<'a> {
    /// The program with its own locks, and how it is measured; without other variants.
    program: Experiment,
    files: &'a Files,
    variables: Variables<'a>,
    /// The rules that were kept.
    pub policy: Policy,
    /// The targets that were tried, in order.
    pub tried: Vec<Tried>,
    /// The comparison of the whole policy with the program's own locks.
    pub total: Option<Outcome>,
    /// Whether an interrupt has ended the search.
    pub interrupted: bool,
    /// The number of rounds that a verdict needs, if there were too few; otherwise 0.
    pub enough: usize,
    /// The least number of runs that remain after the present target.
    later: usize,
}

/// A target and its result.
pub struct Tried {
    /// The target.
    pub target: Target,
    /// Its candidates with their results; empty if the search ended before there were any, or if
    /// the program can't be run with one of them.
    pub others: Vec<Comparison>,
    /// The index of the candidate that was kept; `None` if none was.
    pub kept: Option<usize>,
}

impl<'a> Search<'a> {
    /// A search for locks for these targets, with a policy that has no rules yet. `program` has no
    /// variant except the program with its own locks; its `miss` is the probability that any
    /// interval of the whole search is wrong.
    pub fn new(
        program: Experiment,
        policy: Policy,
        files: &'a Files,
        variables: Variables<'a>,
        targets: &[Target],
    ) -> Self {
        // There is one experiment for each target, and one with all kept rules.
        let experiments = targets.len() + 1;
        let variants = |target: &Target| 1 + target.candidates.len();
        let all = targets.iter().map(variants).sum::<usize>() + 2;
        Search {
            later: program.looks.first() * all,
            program: Experiment { miss: program.miss / experiments as f64, ..program },
            files,
            variables,
            policy,
            tried: Vec::new(),
            total: None,
            interrupted: false,
            enough: 0,
        }
    }

    /// Tries a target's candidates, each together with the rules kept so far, and keeps the best
    /// one if it is certainly better. `begun` is called before each run, with the least number of
    /// runs that remain.
    ///
    /// # Errors
    /// If the program fails with the rules kept so far, or can't be run with them.
    pub fn target(
        &mut self,
        target: Target,
        begun: impl FnMut(Step<'_>, usize),
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<(), Failed> {
        let before = self.policy.clone();
        let with = |locks: String| {
            let mut policy = before.clone();
            policy.rules.push(rule(&target, locks));
            policy
        };
        let named = target.candidates.iter().map(|locks| (locks.to_string(), with(locks.names())));
        let others: Result<Vec<_>, _> =
            named.map(|(name, policy)| self.variant(&name, &policy)).collect();
        let mut tried = Tried { target, others: Vec::new(), kept: None };
        if let Ok(others) = others
            && !interrupted()
        {
            match self.run(&before, others, begun, interrupted) {
                Ok(outcome) => tried.others = outcome.others,
                Err(Failed::Interrupted) => {}
                Err(failed) => return Err(failed),
            }
        }
        self.interrupted |= interrupted();
        tried.kept = best(&tried.others);
        if let Some((kept, interval)) = tried.kept.and_then(|at| better(&tried.others[at])) {
            let mut rule = rule(&tried.target, kept.to_owned());
            rule.comment.push(format!(
                "{:.2}x as good ({:.2} to {:.2}), with the rules above",
                interval.median, interval.low, interval.high
            ));
            rule.comment.extend(tried.target.prediction());
            self.policy.rules.push(rule);
        }
        self.tried.push(tried);
        Ok(())
    }

    /// Measures all kept rules together, compared with the program's own locks.
    ///
    /// # Errors
    /// If the program fails with its own locks, or can't be run with the rules.
    pub fn together(
        &mut self,
        begun: impl FnMut(Step<'_>, usize),
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<(), Failed> {
        if !self.policy.rules.is_empty() && !interrupted() {
            let kept = self.variant("the policy", &self.policy)?;
            match self.run(&Policy::default(), vec![kept], begun, interrupted) {
                Ok(outcome) => self.total = Some(outcome),
                Err(Failed::Interrupted) => {}
                Err(failed) => return Err(failed),
            }
        }
        self.interrupted |= interrupted();
        Ok(())
    }

    fn run(
        &mut self,
        before: &Policy,
        others: Vec<Variant>,
        mut begun: impl FnMut(Step<'_>, usize),
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<Outcome, Failed> {
        let own = match before.rules.is_empty() {
            true => self.program.own.clone(),
            false => self.variant("what is kept", before)?,
        };
        let (looks, miss) = (&self.program.looks, self.program.miss / others.len() as f64);
        if looks.says(miss).is_none() {
            self.enough = self.enough.max(fewest(miss));
        }
        self.later = self.later.saturating_sub(looks.first() * (1 + others.len()));
        let later = self.later;
        let experiment = Experiment { own, others, ..self.program.clone() };
        experiment.run(|step| begun(step, step.left + later), interrupted)
    }

    fn variant(&self, name: &str, policy: &Policy) -> Result<Variant, Failed> {
        let plan = Plan::new(policy, self.files);
        match plan.and_then(|plan| (self.variables)(&plan)) {
            Ok(variables) => Ok(Variant { name: name.to_owned(), variables }),
            Err(what) => Err(Failed::Prepare(what.to_string())),
        }
    }
}

fn rule(target: &Target, locks: String) -> Rule {
    Rule {
        subject: target.subject.clone(),
        offsets: target.offsets.clone(),
        locks,
        comment: Vec::new(),
        line: 0,
    }
}

/// The name and the interval of a candidate if it is certainly better; otherwise `None`.
fn better(comparison: &Comparison) -> Option<(&str, Interval)> {
    match comparison.verdict {
        Verdict::Better(_, interval) => Some((&comparison.name, interval)),
        _ => None,
    }
}

/// The index of the best of the candidates that are certainly better; `None` if none is.
fn best(others: &[Comparison]) -> Option<usize> {
    let median = |at: &usize| better(&others[*at]).map_or(0.0, |(_, interval)| interval.median);
    let better = (0..others.len()).filter(|&at| better(&others[at]).is_some());
    better.max_by(|a, b| median(a).total_cmp(&median(b)))
}

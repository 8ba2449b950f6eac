//! The search: for each target the candidates against what is kept so far.

use std::ffi::OsString;

use indicatif::ProgressBar;
use syncline_policy::{Files, Plan, Policy, Rule};
use syncline_statistics::{Interval, fewest};
use syncline_targets::objects::Target;
use syncline_try::{Comparison, Experiment, Failed, Outcome, Step, Variant, Verdict};

use super::args::Tune;
use crate::attempt::{MISS, OWN, begin, explain, variant};
use crate::exec::planned;
use crate::failure::{Failure, RECORD_FAILED};

/// What was tried and what was kept.
pub struct Search<'a> {
    args: &'a Tune,
    command: Vec<OsString>,
    files: &'a Files,
    /// How often any interval of one experiment may be wrong, so that all together are right.
    miss: f64,
    /// What is kept.
    pub policy: Policy,
    /// What was tried, in order.
    pub tried: Vec<Tried>,
    /// The whole policy against the program's own locks.
    pub total: Option<Outcome>,
    /// Whether an interrupt has ended it.
    pub interrupted: bool,
    /// Rounds with which there would have been a verdict at all, where there were too few.
    pub enough: usize,
    /// Runs that are still to come at least, after the place that is tried.
    later: usize,
}

/// A target, and what came out.
pub struct Tried {
    /// The target.
    pub target: Target,
    /// Its candidates; none if the search ended before.
    pub others: Vec<Comparison>,
    /// Which of them was kept.
    pub kept: Option<usize>,
}

impl<'a> Search<'a> {
    /// A search at these places.
    pub fn new(
        args: &'a Tune,
        command: Vec<OsString>,
        files: &'a Files,
        targets: &[Target],
    ) -> Self {
        // One experiment for each place, and one of all that is kept.
        let experiments = targets.len() + 1;
        let variants = |target: &Target| 1 + target.candidates.len();
        let all = targets.iter().map(variants).sum::<usize>() + 2;
        Search {
            args,
            command,
            files,
            miss: MISS / experiments as f64,
            policy: Policy::default(),
            tried: Vec::new(),
            total: None,
            interrupted: false,
            enough: 0,
            later: args.looks().first() * all,
        }
    }

    /// Tries a target's candidates on top of what is kept, and keeps the best if it is better beyond
    /// doubt.
    pub fn place(
        &mut self,
        target: Target,
        bar: &ProgressBar,
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<(), Failed> {
        let with = |locks: String| {
            let mut policy = self.policy.clone();
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
            match self.run(&self.policy.clone(), others, bar, interrupted) {
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

    /// Measures all that is kept against the program's own locks.
    pub fn together(
        &mut self,
        bar: &ProgressBar,
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<(), Failure> {
        if self.policy.rules.is_empty() || interrupted() {
            self.interrupted |= interrupted();
            return Ok(());
        }
        let kept = self
            .variant("the policy", &self.policy)
            .map_err(|what| Failure::message(RECORD_FAILED, what))?;
        match self.run(&Policy::default(), vec![kept], bar, interrupted) {
            Ok(outcome) => self.total = Some(outcome),
            Err(Failed::Interrupted) => {}
            Err(failed) => return Err(explain(&self.args.program.command[0], failed)),
        }
        self.interrupted |= interrupted();
        Ok(())
    }

    fn run(
        &mut self,
        before: &Policy,
        others: Vec<Variant>,
        bar: &ProgressBar,
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<Outcome, Failed> {
        let own = match before.rules.is_empty() {
            true => variant(OWN, Vec::new()),
            false => self
                .variant("what is kept", before)
                .map_err(|what| Failed::Status("no run".to_owned(), format!(": {what}")))?,
        };
        let looks = self.args.looks();
        if looks.says(self.miss / others.len() as f64).is_none() {
            self.enough = self.enough.max(fewest(self.miss / others.len() as f64));
        }
        self.later = self.later.saturating_sub(looks.first() * (1 + others.len()));
        let experiment = Experiment {
            command: self.command.clone(),
            own,
            others,
            looks,
            measure: self.args.measuring.measure(),
            miss: self.miss,
            matters: self.args.mattering.matters(),
            load: self.args.measuring.load(),
        };
        let begun = |step: Step<'_>| {
            begin(bar, step.name);
            bar.set_length(bar.position() + (step.left + self.later) as u64);
        };
        experiment.run(begun, interrupted)
    }

    fn variant(&self, name: &str, policy: &Policy) -> Result<Variant, String> {
        let plan = Plan::new(policy, self.files)?;
        planned(&plan).map(|variables| variant(name, variables)).map_err(|e| e.to_string())
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

/// The name and the interval of what is better beyond doubt.
fn better(comparison: &Comparison) -> Option<(&str, Interval)> {
    match comparison.verdict {
        Verdict::Better(_, interval) => Some((&comparison.name, interval)),
        _ => None,
    }
}

/// The best of those that are better beyond doubt.
fn best(others: &[Comparison]) -> Option<usize> {
    let median = |at: &usize| better(&others[*at]).map_or(0.0, |(_, interval)| interval.median);
    let better = (0..others.len()).filter(|&at| better(&others[at]).is_some());
    better.max_by(|a, b| median(a).total_cmp(&median(b)))
}

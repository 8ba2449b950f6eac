//! Several recordings of one program, read as one.
//!
//! Runs of a program differ, most of all on a busy machine, and the findings of a single run may be
//! random. Findings of two runs are the same if they have the same rule and call site, as in a
//! comparison ([`crate::diff`]). The run that is shown is the one whose findings were seen most
//! often in all runs. So most findings that only other runs have were seen in few runs. A finding's
//! gain becomes the mean over all runs, with 0 for runs without the finding.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem::take;

use crate::analysis::Analysis;
use crate::diff::{self, Key, Run};
use crate::findings::order;
use crate::model::{Finding, Gain, Process, Runs, Seen};

/// A finding's key, and the finding's number among those with this key in its run. The first such
/// finding of one run is the same as the first of another run.
type Numbered = (Key, usize);

/// Reads several recordings as one. If a recording has several processes, only one of them counts.
/// In the first recording it is the process that lost most time waiting for locks; in the others,
/// the first process of that name.
///
/// Returns `None` without recordings, or if a recording has no process of that name. Then they are
/// not recordings of one program.
pub fn together(mut recordings: Vec<Analysis>) -> Option<Analysis> {
    let name = recordings.first()?.processes.first()?.name();
    for recording in &mut recordings {
        let found = recording.processes.iter().position(|process| process.name() == name)?;
        recording.processes[..=found].rotate_right(1);
    }
    let runs: Vec<&Process> = recordings.iter().map(|recording| &recording.processes[0]).collect();
    let mut found: BTreeMap<Numbered, Vec<Finding>> = BTreeMap::new();
    for run in &runs {
        for (key, finding) in numbered(run) {
            found.entry(key).or_default().push(finding.clone());
        }
    }
    let often = |run: &Process| -> usize { numbered(run).map(|(key, _)| found[&key].len()).sum() };
    let shown = (0..runs.len()).max_by_key(|&number| (often(runs[number]), Reverse(number)))?;
    let runs: Vec<Run> = runs.into_iter().map(diff::run).collect();
    let mut whole = recordings.swap_remove(shown);
    let process = &mut whole.processes[0];
    let findings = merge(process, found, runs.len());
    process.runs = Some(Runs { runs, shown, findings });
    Some(whole)
}

/// Gives each finding of the shown process its mean gain over all runs. Returns in how many runs
/// each finding was seen: first the shown process's findings, and then those of other runs only.
fn merge(
    process: &mut Process,
    mut found: BTreeMap<Numbered, Vec<Finding>>,
    runs: usize,
) -> Vec<Seen> {
    let keys: Vec<Numbered> = numbered(process).map(|(key, _)| key).collect();
    let mut own: Vec<(Finding, Seen)> = Vec::new();
    for (mut finding, key) in take(&mut process.findings).into_iter().zip(keys) {
        let all = found.remove(&key).expect("it was entered");
        let seen = seen(&finding, &all);
        finding.gain = mean(&all, runs);
        own.push((finding, seen));
    }
    own.sort_by(|a, b| order::compare(process, &a.0, &b.0));
    let mut others: Vec<Seen> = found.values().map(|all| seen(&all[0], all)).collect();
    others.sort_by(|a, b| {
        let worth = |seen: &Seen| seen.runs as f64 * seen.most.unwrap_or(0.0);
        b.runs.cmp(&a.runs).then(worth(b).total_cmp(&worth(a)))
    });
    let (findings, seen): (Vec<Finding>, Vec<Seen>) = own.into_iter().unzip();
    process.findings = findings;
    [seen, others].concat()
}

/// The findings of a process, each with its key and number.
fn numbered(process: &Process) -> impl Iterator<Item = (Numbered, &Finding)> {
    let mut before: BTreeMap<Key, usize> = BTreeMap::new();
    process.findings.iter().map(move |finding| {
        let key = diff::key(finding, process);
        let next = before.entry(key.clone()).or_default();
        *next += 1;
        ((key, *next), finding)
    })
}

/// In how many runs a finding was seen, and its gains there. `told` has the text, and `all` the
/// finding in each run.
fn seen(told: &Finding, all: &[Finding]) -> Seen {
    let shares = || all.iter().filter_map(|finding| Some(finding.gain?.share));
    Seen {
        rule: told.rule,
        title: told.title.clone(),
        place: told.place.clone(),
        runs: all.len(),
        least: shares().reduce(f64::min),
        most: shares().reduce(f64::max),
    }
}

/// The mean gain of all runs; `None` if unknown in all. A run without the finding counts as 0; a
/// run in which the finding's gain is unknown does not count.
fn mean(all: &[Finding], runs: usize) -> Option<Gain> {
    let gains: Vec<Gain> = all.iter().filter_map(|finding| finding.gain).collect();
    let unknown = all.len() - gains.len();
    let of = (runs - unknown) as f64;
    let sum = |part: fn(&Gain) -> f64| gains.iter().map(part).sum::<f64>();
    let method = gains.first()?.method;
    Some(Gain { share: sum(|g| g.share) / of, seconds: sum(|g| g.seconds) / of, method })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{self, finding};
    use crate::model::{Method, Rule};

    /// A run with findings at one call site, given their rules and gains.
    fn run(findings: &[(Rule, f64)]) -> Analysis {
        let mut process = testing::process(10.0, 2).clone();
        process.findings = findings.iter().map(|&(rule, share)| promising(rule, share)).collect();
        Analysis {
            session: None,
            thresholds: crate::Thresholds::default(),
            processes: vec![process],
            notes: Vec::new(),
        }
    }

    fn promising(rule: Rule, share: f64) -> Finding {
        let gain = Some(Gain { share, seconds: share * 10.0, method: Method::Replay });
        Finding { gain, ..finding(rule, &[]) }
    }

    #[test]
    fn findings_are_counted_and_their_gain_is_the_mean_of_all_runs() {
        let whole = together(vec![
            run(&[(Rule::Convoy, 0.5)]),
            run(&[(Rule::PollingTry, 0.3), (Rule::Convoy, 0.2)]),
            run(&[(Rule::PollingTry, 0.6), (Rule::ShortQueue, 0.1)]),
            run(&[(Rule::PollingTry, 0.3)]),
        ]);
        let whole = whole.expect("one program");
        let process = &whole.processes[0];
        let runs = process.runs.as_ref().expect("several runs");
        // The second run has both findings that were seen more than once.
        assert_eq!((runs.shown, runs.runs.len()), (1, 4));
        let rules: Vec<Rule> = process.findings.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, [Rule::PollingTry, Rule::Convoy]);
        let gain = process.findings[0].gain.expect("a gain");
        assert!((gain.share - 0.3).abs() < 1e-9 && (gain.seconds - 3.0).abs() < 1e-9, "{gain:?}");
        let told: Vec<_> =
            runs.findings.iter().map(|seen| (seen.rule, seen.runs, seen.most)).collect();
        assert_eq!(
            told,
            [
                (Rule::PollingTry, 3, Some(0.6)),
                (Rule::Convoy, 2, Some(0.5)),
                (Rule::ShortQueue, 1, Some(0.1))
            ]
        );
        assert_eq!(runs.seen(0).expect("a finding").least, Some(0.3));
    }

    #[test]
    fn two_findings_at_one_call_site_stay_two_over_all_runs() {
        let both = || run(&[(Rule::Convoy, 0.4), (Rule::Convoy, 0.1)]);
        let whole = together(vec![both(), both()]).expect("one program");
        let runs = whole.processes[0].runs.as_ref().expect("several runs");
        assert_eq!(runs.findings.iter().map(|seen| seen.runs).collect::<Vec<_>>(), [2, 2]);
        let shares =
            whole.processes[0].findings.iter().filter_map(|finding| Some(finding.gain?.share));
        assert_eq!(shares.collect::<Vec<_>>(), [0.4, 0.1]);
    }

    #[test]
    fn recordings_of_two_programs_are_not_joined() {
        let mut other = run(&[]);
        other.processes[0].executable = "/bin/other".to_owned();
        assert!(together(vec![run(&[]), other]).is_none());
        assert!(together(Vec::new()).is_none());
    }
}

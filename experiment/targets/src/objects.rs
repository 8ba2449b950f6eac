//! The objects that cost a recorded program time, named as in a policy's rules, with the gain that
//! the report predicts and the locks that are worth trying.
//!
//! Objects with one name in a policy are one target: an array, or all objects that one call
//! initialises. Targets with a predicted gain come first, then those with the most waiting. A lock
//! that the report lists among the remaining costs, without a finding, is a target too: it costs
//! time by its calls or refused tries, if not by its waits.

use std::collections::{BTreeMap, BTreeSet};

use syncline_analysis::model::{AnotherLock, Finding, Kind, Lock, Process};
use syncline_policy::Subject;

use crate::call::call_of;
use crate::locks::Locks;

/// Objects whose waits are less than this share of the threads' time are not targets, unless the
/// report lists them: no measurement would show the effect.
const LEAST: f64 = 0.005;
/// The largest gain that counts as none, as the factor by which the program gets faster.
const NONE: f64 = 1.0;

/// Objects that may get another lock.
pub struct Target {
    /// The objects as a policy names them.
    pub subject: Subject,
    /// The addresses in files for that name.
    pub offsets: Vec<String>,
    /// The objects as messages name them.
    pub name: String,
    /// The seconds that all threads together waited for them.
    pub waited: f64,
    /// Whether the report lists them among the remaining costs.
    remains: bool,
    /// The gain that the report predicts; `None` if it has no finding about them that predicts one.
    pub predicted: Option<Predicted>,
    /// The locks to try.
    pub candidates: Vec<Locks>,
}

impl Target {
    /// The report's prediction as a line of text.
    pub fn prediction(&self) -> Option<String> {
        let predicted = self.predicted.as_ref()?;
        Some(format!("predicted {:.2}x: {}", predicted.gain, predicted.title))
    }
}

/// A prediction of the report.
#[derive(Clone)]
pub struct Predicted {
    /// The finding's title.
    pub title: String,
    /// The factor by which the program would get faster.
    pub gain: f64,
}

/// The targets of a program that was recorded several times, in the order in which to try them.
/// Waits and predictions differ between runs. The median is used, and a gain counts as predicted if
/// at least half of the recordings predict one.
pub fn targets(recorded: &[Process], wanted: &[Locks]) -> Vec<Target> {
    let mut by_name: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    for process in recorded {
        for (name, target) in found(process, wanted) {
            by_name.entry(name).or_default().push(target);
        }
    }
    let seconds: f64 = recorded.iter().map(|process| process.thread_seconds).sum();
    let floor = LEAST * (seconds / recorded.len().max(1) as f64).max(f64::MIN_POSITIVE);
    let all = by_name.into_values();
    let mut targets: Vec<Target> = all.filter_map(|found| merged(found, recorded.len())).collect();
    let costs = |target: &Target| target.waited >= floor || target.remains;
    targets.retain(|target| target.predicted.is_some() || costs(target));
    targets.sort_by(|a, b| {
        let rank =
            |target: &Target| (target.predicted.as_ref().map_or(1.0, |p| p.gain), target.waited);
        rank(b).partial_cmp(&rank(a)).expect("gains and times are numbers")
    });
    targets
}

/// Merges the results of several recordings for one target. A recording without the target counts
/// as no waiting and no gain. `None` if there are no results.
fn merged(mut found: Vec<Target>, recordings: usize) -> Option<Target> {
    let median = |mut values: Vec<f64>, without: f64| {
        values.resize(recordings.max(values.len()), without);
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let remains = found.iter().filter(|target| target.remains).count() * 2 > recordings;
    let waited = median(found.iter().map(|target| target.waited).collect(), 0.0);
    let gains = found.iter().filter_map(|target| Some(target.predicted.as_ref()?.gain)).collect();
    let gain = median(gains, NONE);
    let mut offsets: Vec<String> = found.iter().flat_map(|t| t.offsets.iter().cloned()).collect();
    offsets.sort();
    offsets.dedup();
    // A result with a predicted gain has the locks that suit the finding.
    let at = found.iter().position(|target| target.predicted.is_some()).unwrap_or(0);
    let target = (at < found.len()).then(|| found.swap_remove(at))?;
    let predicted = target.predicted.filter(|_| gain > NONE);
    let predicted = predicted.map(|predicted| Predicted { gain, ..predicted });
    Some(Target { waited, remains, offsets, predicted, ..target })
}

/// The targets of one recording, by the name that objects of one target share.
fn found(process: &Process, wanted: &[Locks]) -> BTreeMap<String, Target> {
    let remaining: BTreeSet<usize> =
        process.remaining.iter().flat_map(|remaining| &remaining.sites).copied().collect();
    let mut by_name: BTreeMap<String, Target> = BTreeMap::new();
    for (at, lock) in process.locks.iter().enumerate().filter(|(_, lock)| lock.kind == Kind::Lock) {
        let Some((subject, offsets)) = subject(process, lock) else { continue };
        let key = format!("{subject:?} {}", kind(lock));
        let findings = process.findings.iter().filter(|finding| finding.locks.contains(&at));
        let best = findings.filter(|f| mended_by(f) != AnotherLock::No).max_by(|a, b| {
            let share = |f: &Finding| f.gain.map_or(0.0, |gain| gain.share);
            share(a).total_cmp(&share(b))
        });
        let target = by_name.entry(key).or_insert_with(|| Target {
            name: name(&subject),
            subject,
            offsets: Vec::new(),
            waited: 0.0,
            remains: false,
            predicted: None,
            candidates: candidates(wanted, kind(lock), best),
        });
        target.remains |= lock.sites.iter().any(|used| remaining.contains(&used.site));
        target.waited += lock.figures.waited;
        target.offsets.extend(offsets);
        let predicted = best.and_then(|finding| {
            let share = finding.gain?.share.min(0.99);
            Some(Predicted { title: finding.title.clone(), gain: 1.0 / (1.0 - share) })
        });
        if predicted.as_ref().map(|p| p.gain) > target.predicted.as_ref().map(|p| p.gain) {
            target.predicted = predicted;
        }
    }
    by_name
}

/// `mutex`, `spinlock` or `rwlock`; `other` for what a policy can't replace.
fn kind(lock: &Lock) -> &'static str {
    use syncline_recording::Primitive;
    match lock.primitive {
        Primitive::Mutex => "mutex",
        Primitive::Spinlock => "spinlock",
        Primitive::Rwlock => "rwlock",
        _ => "other",
    }
}

/// The name of an object in a policy, and its addresses in files; `None` for an object that a
/// policy can't name.
fn subject(process: &Process, lock: &Lock) -> Option<(Subject, Vec<String>)> {
    if kind(lock) == "other" {
        return None;
    }
    let module = process.modules.iter().find(|m| (m.start..m.end).contains(&lock.address));
    if let Some(module) = module {
        // The name of an array's element has an offset; all elements are one target.
        let name = match lock.name.rsplit_once(" (") {
            Some((variable, file)) => {
                let whole = variable.rsplit_once("+0x").map_or(variable, |(name, _)| name);
                format!("{whole} ({file}")
            }
            None => lock.name.clone(),
        };
        let at = lock.address.wrapping_sub(module.bias);
        return Some((Subject::Object(name), vec![format!("{}+{at:#x}", module.name())]));
    }
    if let Some(stack) = lock.created_at
        && let Some((name, offset)) = call_of(process, stack)
    {
        return Some((Subject::Created(name), vec![offset]));
    }
    let site = &process.sites[lock.sites.first()?.site];
    let mut offsets: Vec<String> =
        site.stacks.iter().filter_map(|&stack| call_of(process, stack)).map(|(_, at)| at).collect();
    offsets.dedup();
    Some((Subject::Acquired(site.place.clone()), offsets))
}

fn name(subject: &Subject) -> String {
    match subject {
        Subject::Object(name) => name.clone(),
        Subject::Created(name) => format!("created by {name}"),
        Subject::Acquired(name) => format!("acquired by {name}"),
        Subject::Static | Subject::Dynamic => String::new(),
    }
}

/// The locks that are worth trying: the requested ones, or those that suit the kind of object and
/// the finding.
fn candidates(wanted: &[Locks], kind: &str, finding: Option<&Finding>) -> Vec<Locks> {
    if !wanted.is_empty() {
        return wanted.to_vec();
    }
    let names = suiting(kind, finding.map_or(AnotherLock::No, mended_by));
    names.iter().map(|name| name.parse().expect("a lock of the catalogue")).collect()
}

fn mended_by(finding: &Finding) -> AnotherLock {
    finding.rule.about().mended_by
}

/// The names of the locks that suit a kind of object, and the property that would mend its problem.
fn suiting(kind: &str, mended_by: AnotherLock) -> &'static [&'static str] {
    match (kind, mended_by) {
        ("rwlock", _) => &["rw_compact", "rw_readers"],
        // Waiters of a spinlock may keep the holder from a processor; any lock whose waiters sleep
        // lets it run.
        ("spinlock", AnotherLock::Yielding) => &["gate", "futex", "mcs"],
        ("spinlock", _) => &["gate", "ttas-yield", "mcs"],
        // Sections are tiny and hardly ever waited for, so the cost of the call counts. A lock
        // whose waiters never sleep does not have to look for sleepers at a release.
        (_, AnotherLock::Cheaper) => &["gate", "ttas-yield", "mcs"],
        _ => &["gate", "mcs", "ttas", "libc-spin"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(waited: f64, gain: Option<f64>) -> Target {
        Target {
            subject: Subject::Object("table (app)".to_owned()),
            offsets: vec!["app+0x12".to_owned()],
            name: "table (app)".to_owned(),
            waited,
            remains: false,
            predicted: gain.map(|gain| Predicted { title: "a finding".to_owned(), gain }),
            candidates: Vec::new(),
        }
    }

    #[test]
    fn what_is_tried_is_in_the_catalogue() {
        use AnotherLock::{Cheaper, HandingOver, No, Yielding};
        for kind in ["mutex", "spinlock", "rwlock"] {
            for mended_by in [No, Cheaper, Yielding, HandingOver] {
                for name in suiting(kind, mended_by) {
                    assert!(name.parse::<Locks>().is_ok(), "{name}");
                }
            }
        }
    }

    #[test]
    fn most_recordings_decide_and_the_median_counts() {
        let gains = |gains: &[Option<f64>], recordings| {
            let found = gains.iter().map(|&gain| target(2.0, gain)).collect();
            let merged = merged(found, recordings).expect("it is a target");
            (merged.predicted.map(|predicted| predicted.gain), merged.waited)
        };
        assert_eq!(gains(&[Some(1.4), Some(1.1), Some(1.2)], 3), (Some(1.2), 2.0));
        assert_eq!(gains(&[Some(1.4), Some(1.1)], 3), (Some(1.1), 2.0));
        assert_eq!(gains(&[Some(1.4), None, None], 3), (None, 2.0));
        assert_eq!(gains(&[Some(1.4)], 3), (None, 0.0), "two have nothing of it");
        assert_eq!(gains(&[Some(1.4)], 1), (Some(1.4), 2.0));
        assert!(merged(Vec::new(), 3).is_none());
        let remains = |how: &[bool]| {
            let found = how.iter().map(|&remains| Target { remains, ..target(0.0, None) });
            merged(found.collect(), 3).expect("it is a target").remains
        };
        assert!(remains(&[true, false, true]) && !remains(&[true]));
    }
}

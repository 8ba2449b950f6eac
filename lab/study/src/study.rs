//! Runs a study: measures the requested figures on the requested machines.

use std::sync::Mutex;

use crate::claims::{Check, ROWS};
use crate::figure::Book;
use crate::figures::{PLANS, Plan};
use crate::lab::{Lab, side_by_side};
use crate::target::{MACHINES, Target};

/// The number of parts of a study that are simulated at the same time. A part is one figure on one
/// machine. When the last points of a part leave processors idle, the points of the next part use
/// them.
const PARTS: usize = 2;

/// Measures the figures of `plans` on the machines `targets`. A figure has no panel for a machine
/// on which it makes no sense, and is left out if it has no panel at all. `step` is called before
/// each part, with the part's plan and machine.
pub fn run(
    lab: &Lab,
    plans: &[&Plan],
    targets: &[Target],
    step: impl FnMut(&Plan, &Target) + Send,
) -> Book {
    let of_plan = |plan| targets.iter().map(move |target| (plan, target));
    let parts: Vec<(&Plan, &Target)> = plans.iter().copied().flat_map(of_plan).collect();
    let simulated = targets.iter().all(|target| matches!(target, Target::Simulated(_)));
    let step = Mutex::new(step);
    let panels = side_by_side(if simulated { PARTS } else { 1 }, &parts, |&(plan, target)| {
        step.lock().expect("nobody panics with it")(plan, target);
        (plan.measure)(lab, target)
    });
    let mut panels = panels.into_iter();
    let figures = plans
        .iter()
        .map(|plan| plan.figure(panels.by_ref().take(targets.len()).flatten().collect()));
    Book { figures: figures.filter(|figure| !figure.panels.is_empty()).collect() }
}

/// The plans of the figures with these ids, in the order of the papers; all plans if no id is
/// given.
pub fn plans(ids: &[String]) -> Vec<&'static Plan> {
    let wanted = |plan: &&Plan| ids.is_empty() || ids.iter().any(|id| id == plan.id);
    PLANS.iter().filter(wanted).collect()
}

/// Measures all figures that the claims need on SSYNC's four simulated machines, and those that
/// `OTHERS` lists on other machines.
pub fn claimed(lab: &Lab, mut step: impl FnMut(&Plan, &Target) + Send) -> Book {
    let ids = ROWS.iter().filter_map(|row| match row.check {
        Check::Figures(ids, _) => Some(ids),
        Check::NotBuilt(_) | Check::Elsewhere(..) => None,
    });
    let ids: Vec<String> = ids.flatten().map(|&id| id.to_owned()).collect();
    let named = |name: &str| Target::named(name).expect("it comes along");
    let mut book = run(lab, &plans(&ids), &MACHINES.map(named), &mut step);
    for (machines, of) in OTHERS {
        let others: Vec<Target> = machines.iter().map(|name| named(name)).collect();
        let of: Vec<&Plan> = PLANS.iter().filter(|plan| of.contains(&plan.id)).collect();
        for figure in run(lab, &of, &others, &mut step).figures {
            match book.figures.iter_mut().find(|there| there.id == figure.id) {
                Some(there) => there.panels.extend(figure.panels),
                None => book.figures.push(figure),
            }
        }
    }
    book
}

/// The machines that claims need in addition to SSYNC's four, with the figures that are measured on
/// them: the two machines of SSYNC's section 8, and the SCC of the paper on MPI's passive target.
const OTHERS: [(&[&str], &[&str]); 2] = [
    (&["opteron-2384", "xeon-x5660"], &["table-2", "figure-4", "figure-5"]),
    (
        &["scc"],
        &[
            "scc-figure-5",
            "scc-figure-6",
            "scc-figure-7",
            "scc-figure-8",
            "scc-table-2",
            "scc-table-3",
        ],
    ),
];

//! A study: the figures that are asked for, on the machines that are asked for.

use crate::claims::{Check, ROWS};
use crate::figure::Book;
use crate::figures::{PLANS, Plan};
use crate::lab::Lab;
use crate::target::Target;

/// Measures these figures on these machines. `step` is told before each part what comes next.
pub fn run(
    lab: &Lab,
    plans: &[&Plan],
    targets: &[Target],
    mut step: impl FnMut(&Plan, &Target),
) -> Book {
    let figures = plans.iter().map(|plan| plan.figure(lab, targets, &mut step));
    Book { figures: figures.collect() }
}

/// The figures of these ids, in the order of the paper; all if none is given.
pub fn plans(ids: &[String]) -> Vec<&'static Plan> {
    let wanted = |plan: &&Plan| ids.is_empty() || ids.iter().any(|id| id == plan.id);
    PLANS.iter().filter(wanted).collect()
}

/// Measures all that the claims are about, on the simulated machines that they name.
pub fn claimed(lab: &Lab, mut step: impl FnMut(&Plan, &Target)) -> Book {
    let ids = ROWS.iter().filter_map(|row| match row.check {
        Check::Figures(ids, _) => Some(ids),
        Check::NotBuilt(_) => None,
    });
    let ids: Vec<String> = ids.flatten().map(|&id| id.to_owned()).collect();
    let named = |name: &str| Target::named(name).expect("it comes along");
    let mut book = run(lab, &plans(&ids), &MACHINES.map(named), &mut step);
    let smaller = TWO_SOCKETS.map(named);
    for figure in &mut book.figures {
        if let Some(plan) =
            PLANS.iter().find(|plan| plan.id == figure.id && OF_TWO.contains(&plan.id))
        {
            figure.panels.extend(plan.figure(lab, &smaller, &mut step).panels);
        }
    }
    book
}

/// SSYNC's machines.
pub const MACHINES: [&str; 4] = ["opteron", "xeon", "niagara", "tilera"];
/// Those of its section 8, and the figures that their claims are about.
const TWO_SOCKETS: [&str; 2] = ["opteron-2384", "xeon-x5660"];
const OF_TWO: [&str; 3] = ["table-2", "figure-4", "figure-5"];

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
pub fn claimed(lab: &Lab, step: impl FnMut(&Plan, &Target)) -> Book {
    let ids = ROWS.iter().filter_map(|row| match row.check {
        Check::Figures(ids, _) => Some(ids),
        Check::NotBuilt(_) => None,
    });
    let ids: Vec<String> = ids.flatten().map(|&id| id.to_owned()).collect();
    let named = |name| Target::named(name).expect("it comes along");
    run(lab, &plans(&ids), &MACHINES.map(named), step)
}

/// SSYNC's machines.
pub const MACHINES: [&str; 4] = ["opteron", "xeon", "niagara", "tilera"];

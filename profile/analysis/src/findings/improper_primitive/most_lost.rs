//! The call sites that a finding about polling names.

use crate::findings::family::descending;
use crate::model::Site;

/// A call site where less than this share of the first call site's time is lost is not named.
pub const LEAST_OF_MOST: f64 = 0.1;

/// The call sites that a finding about polling names, with their indices, those with most time lost
/// first.
pub fn sites_with_most_lost<'a>(
    sites: impl Iterator<Item = (usize, &'a Site)> + Clone,
) -> Vec<(usize, &'a Site)> {
    let most = sites.clone().map(|(_, site)| site.figures.lost()).fold(0.0, f64::max);
    let named = |(_, site): &(usize, &Site)| site.figures.lost() >= LEAST_OF_MOST * most;
    let mut named: Vec<_> = sites.filter(named).collect();
    named.sort_by(|(_, a), (_, b)| descending(a.figures.lost(), b.figures.lost()));
    named
}

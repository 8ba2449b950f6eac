//! The picture of who blocks whom: a box for each call site, and arrows from waiters to holders,
//! whose width shows the time waited.

mod draw;
mod layout;
mod parts;

use std::collections::{BTreeMap, HashMap};

use layout::Edge;
use parts::{Arrow, Node};
use syncline_analysis::model::Process;
use syncline_analysis::name;

/// The most boxes, so that the picture stays readable. The call sites with least waiting share the
/// last box.
const NODES: usize = 20;

/// The section with the picture; empty if no waits for known holders were recorded. Boxes link to
/// table rows whose ids begin with `sites`.
pub fn section(process: &Process, sites: &str) -> String {
    let (nodes, arrows) = graph(process);
    if arrows.is_empty() {
        return String::new();
    }
    let edges: Vec<Edge> =
        arrows.iter().map(|a| Edge { from: a.from, to: a.to, weight: a.waited }).collect();
    let places = layout::layout(nodes.len(), &edges);
    draw::picture(&nodes, &arrows, &places, sites)
}

/// The call sites with most waiting, and the arrows between them.
fn graph(process: &Process) -> (Vec<Node>, Vec<Arrow>) {
    let mut numbers: HashMap<(Option<usize>, String), usize> = HashMap::new();
    let mut all: Vec<(Node, f64)> = Vec::new();
    let mut number = |site: Option<usize>, name: String, waited: f64| {
        let key = (site, if site.is_some() { String::new() } else { name.clone() });
        let place = *numbers.entry(key).or_insert_with(|| {
            all.push((Node { name, site }, 0.0));
            all.len() - 1
        });
        all[place].1 += waited;
        place
    };
    let pairs: Vec<Arrow> = process
        .blocking
        .iter()
        .map(|pair| {
            let site_name = |site: usize| name::site(process, &process.sites[site]);
            let holder =
                pair.holder.map_or_else(|| name::stack(process, pair.holder_stack), site_name);
            let from = number(Some(pair.waiter), site_name(pair.waiter), pair.waited);
            let to = number(pair.holder, holder, pair.waited);
            Arrow { from, to, waited: pair.waited, waits: pair.waits }
        })
        .collect();
    let places = keep(&mut all);
    let mut sums: BTreeMap<(usize, usize), Arrow> = BTreeMap::new();
    for pair in pairs {
        let (from, to) = (places[pair.from], places[pair.to]);
        let sum = sums.entry((from, to)).or_insert(Arrow { from, to, waited: 0.0, waits: 0 });
        sum.waited += pair.waited;
        sum.waits = sum.waits.saturating_add(pair.waits);
    }
    let mut arrows: Vec<Arrow> = sums.into_values().collect();
    arrows.sort_by(|a, b| b.waited.total_cmp(&a.waited));
    (all.into_iter().map(|(node, _)| node).collect(), arrows)
}

/// Keeps only the nodes with most waiting, and adds one for all others. Returns the new index of
/// each old node.
fn keep(all: &mut Vec<(Node, f64)>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| all[b].1.total_cmp(&all[a].1));
    let kept = if order.len() > NODES { NODES - 1 } else { order.len() };
    let mut places = vec![kept; all.len()];
    order.iter().take(kept).enumerate().for_each(|(place, &old)| places[old] = place);
    let rest = order.len() - kept;
    let mut nodes: Vec<_> = order[..kept].iter().map(|&old| all[old].clone()).collect();
    if rest > 0 {
        nodes.push((Node { name: format!("{rest} other call sites"), site: None }, 0.0));
    }
    *all = nodes;
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_sites_beyond_the_limit_share_a_node() {
        let node = |n: usize| (Node { name: n.to_string(), site: Some(n) }, n as f64);
        let mut all: Vec<_> = (0..50).map(node).collect();
        let places = keep(&mut all);
        assert_eq!(all.len(), NODES);
        assert_eq!((all[0].0.site, places[49], places[30]), (Some(49), 0, 19));
        assert_eq!((all[19].0.name.as_str(), places[0]), ("31 other call sites", 19));
    }
}

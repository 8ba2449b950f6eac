//! The positions of the nodes of a small directed graph. The nodes are in layers from left to
//! right, so that heavy edges point to the right.
//!
//! This is the method of Sugiyama, Tagawa and Toda (1981) in its simplest form. Edges are added in
//! the order of their weights, and an edge that would close a cycle is ignored. A node's layer is
//! the length of the longest path to the node. Within its layer, a node moves to the middle of its
//! neighbours. Equal input gives equal output.

/// The number of sweeps over all layers; more sweeps change nothing at this size.
const SWEEPS: usize = 6;

/// An edge between two nodes, which are given by their indexes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The node at which it begins.
    pub from: usize,
    /// The node at which it ends.
    pub to: usize,
    /// How important it is that the edge points to the right.
    pub weight: f64,
}

/// The position of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The column, from 0 at the left.
    pub layer: usize,
    /// The row in the column, from 0 at the top.
    pub row: usize,
}

/// Computes the positions of `nodes` nodes.
pub fn layout(nodes: usize, edges: &[Edge]) -> Vec<Place> {
    let forward = without_cycles(nodes, edges);
    let layers = layers(nodes, &forward);
    let mut columns = vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)];
    layers.iter().enumerate().for_each(|(node, &layer)| columns[layer].push(node));
    let mut rows = vec![0.0; nodes];
    number(&columns, &mut rows);
    for sweep in 0..SWEEPS {
        let from_left = sweep % 2 == 0;
        let order: Vec<usize> = if from_left {
            (0..columns.len()).collect()
        } else {
            (0..columns.len()).rev().collect()
        };
        for layer in order {
            let middle = |node: usize| middle(node, from_left, &forward, &rows);
            let mut keyed: Vec<_> = columns[layer].iter().map(|&n| (middle(n), n)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            columns[layer] = keyed.into_iter().map(|(_, node)| node).collect();
            number(&columns[layer..=layer], &mut rows);
        }
    }
    layers.iter().zip(rows).map(|(&layer, row)| Place { layer, row: row as usize }).collect()
}

fn number(columns: &[Vec<usize>], rows: &mut [f64]) {
    for column in columns {
        column.iter().enumerate().for_each(|(row, &node)| rows[node] = row as f64);
    }
}

/// The weighted mean of the rows of a node's neighbours on one side; the node's own row if it has
/// none.
fn middle(node: usize, from_left: bool, edges: &[Edge], rows: &[f64]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for edge in edges {
        let (own, other) = if from_left { (edge.to, edge.from) } else { (edge.from, edge.to) };
        if own == node {
            sum += rows[other] * edge.weight;
            weights += edge.weight;
        }
    }
    if weights > 0.0 { sum / weights } else { rows[node] }
}

/// The edges in the order of their weights, the heaviest first, without those that would close a
/// cycle. So all can point to the right.
fn without_cycles(nodes: usize, edges: &[Edge]) -> Vec<Edge> {
    let mut sorted = edges.to_vec();
    sorted.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut kept: Vec<Edge> = Vec::new();
    for edge in sorted {
        if !reaches(nodes, &kept, edge.to, edge.from) {
            kept.push(edge);
        }
    }
    kept
}

fn reaches(nodes: usize, edges: &[Edge], from: usize, to: usize) -> bool {
    let mut seen = vec![false; nodes];
    let mut waiting = vec![from];
    while let Some(node) = waiting.pop() {
        if node == to {
            return true;
        }
        if !std::mem::replace(&mut seen[node], true) {
            waiting.extend(edges.iter().filter(|e| e.from == node).map(|e| e.to));
        }
    }
    false
}

/// The length of the longest path to each node, in a graph without cycles.
fn layers(nodes: usize, edges: &[Edge]) -> Vec<usize> {
    let mut layers = vec![0; nodes];
    for _ in 0..nodes {
        for edge in edges {
            layers[edge.to] = layers[edge.to].max(layers[edge.from] + 1);
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, weight: f64) -> Edge {
        Edge { from, to, weight }
    }

    #[test]
    fn heavy_edges_point_to_the_right() {
        let edges = [edge(0, 1, 5.0), edge(1, 0, 9.0), edge(0, 2, 1.0), edge(2, 2, 7.0)];
        let layers: Vec<_> = layout(3, &edges).iter().map(|place| place.layer).collect();
        assert_eq!(layers, [1, 0, 2]);
    }

    #[test]
    fn connected_nodes_are_in_one_row() {
        // 0 -> 3 and 1 -> 2 would cross if rows were in the order of the nodes.
        let places = layout(4, &[edge(0, 3, 1.0), edge(1, 2, 1.0)]);
        assert_eq!(places[0].row, places[3].row);
        assert_eq!(places[1].row, places[2].row);
    }

    #[test]
    fn no_two_nodes_overlap() {
        let edges: Vec<_> =
            (0..400).map(|n| edge(n * 7 % 20, n * 13 % 20, (n % 31) as f64)).collect();
        let mut places: Vec<_> = layout(20, &edges).iter().map(|p| (p.layer, p.row)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 20);
        assert_eq!(layout(20, &edges), layout(20, &edges));
        assert!(layout(0, &[]).is_empty());
    }
}

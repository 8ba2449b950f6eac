//! Evaluates a description's tables at the distances that occur on the machine.

use super::access::{ACCESSES, Access, STATES, State};
use super::description::{Costs, Description};

/// Cycles by kind of access, state and class of distance.
pub type Tables = [[Vec<u32>; STATES]; ACCESSES];

fn rows(d: &Description) -> [&Costs; ACCESSES] {
    [&d.load, &d.store, &d.cas, &d.fai, &d.tas, &d.swap]
}

fn at(row: &[f64], d: &Description, distances: &[f64]) -> Vec<u32> {
    distances.iter().map(|&distance| interpolated(row, &d.columns_at, distance)).collect()
}

/// The tables, evaluated at these distances.
pub fn tables(d: &Description, distances: &[f64]) -> Tables {
    // The first of these rows that the description has, or else the row of a load from memory. On a
    // machine without caches, all states have the row `invalid`.
    let first = |rows: [&Vec<f64>; 3]| {
        let named = rows.into_iter().find(|row| !row.is_empty());
        at(named.unwrap_or(&d.load.invalid), d, distances)
    };
    rows(d).map(|c| {
        let invalid = &c.invalid;
        [
            first([&c.modified, invalid, invalid]),
            first([&c.owned, &c.modified, invalid]),
            first([&c.exclusive, invalid, invalid]),
            first([&c.shared, invalid, invalid]),
            first([invalid; 3]),
        ]
    })
}

/// Cycles of each kind of access to a line that all caches share, by class of distance. `None` for
/// kinds whose table has no such row.
pub fn by_all(d: &Description, distances: &[f64]) -> [Option<Vec<u32>>; ACCESSES] {
    let all = |c: &Costs| (!c.shared_by_all.is_empty()).then(|| at(&c.shared_by_all, d, distances));
    rows(d).map(all)
}

/// The fewest cycles of an access by a cache other than the one that has the line. If each node has
/// one cache, the nearest other cache is at the second class of distance.
pub fn quickest(tables: &Tables, d: &Description) -> u32 {
    let nearest = usize::from(d.caches_per_node == 1);
    let row = |states: &[Vec<u32>; STATES]| {
        let held = [State::Modified, State::Exclusive, State::Shared];
        let cost = held.map(|state| states[state as usize].get(nearest).copied());
        cost.into_iter().flatten().min()
    };
    tables.iter().filter_map(row).min().unwrap_or(0)
}

/// Cycles of a store to a shared line plus those of a load of a changed line, both at the greatest
/// distance.
pub fn hand_over(tables: &Tables) -> u32 {
    let at_most = |access: Access, state: State| tables[access as usize][state as usize].last();
    let parts = [(Access::Store, State::Shared), (Access::Load, State::Modified)];
    parts.into_iter().filter_map(|(access, state)| at_most(access, state)).sum()
}

/// The cost at a distance, from the costs `row` at the distances `at`: interpolated between two of
/// these, and extrapolated beyond the last one. Below the first one, its cost applies.
fn interpolated(row: &[f64], at: &[f64], distance: f64) -> u32 {
    let after = at.iter().position(|&column| column >= distance).unwrap_or(at.len() - 1);
    let cost = match after {
        0 => row[0],
        _ => {
            let (near, far) = (at[after - 1], at[after]);
            let slope = (row[after] - row[after - 1]) / (far - near);
            row[after] + (distance - far) * slope
        }
    };
    cost.round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_interpolated_between_columns() {
        let (row, at) = ([45.0, 65.0], [1.0, 10.0]);
        assert_eq!(interpolated(&row, &at, 1.0), 45);
        assert_eq!(interpolated(&row, &at, 10.0), 65);
        assert_eq!(interpolated(&row, &at, 5.5), 55);
        assert_eq!(interpolated(&row, &at, 0.0), 45, "not below the first");
        assert_eq!(interpolated(&row, &at, 19.0), 85, "on beyond the last");
        assert_eq!(interpolated(&[7.0], &[0.0], 3.0), 7, "with a single column");
    }
}

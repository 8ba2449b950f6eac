//! The topology of a simulated machine, from its description.

use syncline_sim::Machine;

use super::{Caches, Class, HardwareThread, Topology};

/// The topology of a simulated machine. Its private caches count as cores, and its distances are
/// those of its nodes.
pub fn topology(machine: &Machine) -> Topology {
    let threads = (0..machine.threads()).map(|processor| {
        let core = machine.cache_of(processor);
        let node = machine.node_of(core);
        HardwareThread { processor, core, node, ..HardwareThread::default() }
    });
    let description = &machine.description;
    let one_to_a_node = description.caches_per_node == 1;
    // The first value is `None` within one core, and otherwise the class of the distance between
    // the nodes.
    let distance = |a: &HardwareThread, b: &HardwareThread| {
        let far = if a.core == b.core { None } else { Some(machine.class(a.node, b.node)) };
        (far, description.distances[a.node][b.node].to_bits())
    };
    let topology = Topology::of_distances(threads.collect(), distance, |&(far, distance)| {
        let distance = f64::from_bits(distance);
        let column = description.columns_at.iter().position(|&at| at == distance);
        let name = match (far, column) {
            (Some(_), Some(column)) => description.columns[column].clone(),
            (None, Some(column)) if one_to_a_node => description.columns[column].clone(),
            (None, _) => "same core".to_owned(),
            (Some(_), None) => format!("distance {distance}"),
        };
        Class { name, same_core: far.is_none(), same_cache: far.is_none() }
    });
    Topology { caches: caches(machine), ..topology }
}

/// The sizes of the first level, of the second level if there are three or more, and of the last
/// level.
fn caches(machine: &Machine) -> Caches {
    let bytes: Vec<usize> = machine.description.levels.iter().map(|level| level.bytes).collect();
    match bytes[..] {
        [] => Caches::default(),
        [l1] => Caches { l1, ..Caches::default() },
        [l1, llc] => Caches { l1, l2: 0, llc },
        [l1, l2, .., llc] => Caches { l1, l2, llc },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(machine: &str) -> Vec<String> {
        let machine = Machine::named(machine).unwrap();
        topology(&machine).classes.into_iter().map(|class| class.name).collect()
    }

    #[test]
    fn the_columns_of_table_2_are_the_distances() {
        assert_eq!(names("opteron"), ["same die", "same MCM", "one hop", "two hops"]);
        assert_eq!(names("niagara"), ["same core", "other core"]);
        let tilera = names("tilera");
        assert_eq!(tilera.len(), 10, "hops");
        assert_eq!((&*tilera[0], &*tilera[1], &*tilera[9]), ("one hop", "distance 2", "max hops"));
    }
}

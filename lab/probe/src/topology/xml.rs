//! Parses hwloc's XML, which has nested objects, and sets of processors as hexadecimal numbers
//! (hwloc's `hwloc2.dtd`).

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};

use super::{Caches, HardwareThread, Source, Topology};

/// Reads the topology of these processors from hwloc's XML. Returns `None` if the text is not a
/// topology that contains all of them, or if there are none.
pub fn topology(text: &str, usable: &[usize]) -> Option<Topology> {
    // The text declares a document type, but does not use it.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).ok()?;
    let nodes = numa_nodes(&document);
    let mut found = BTreeMap::new();
    let mut caches = Caches::default();
    for unit in objects(&document, "PU") {
        let processor = number(&unit, "os_index")?;
        if usable.contains(&processor) {
            found.insert(processor, place(&unit, processor, &nodes));
            if processor == usable[0] {
                caches = caches_of(&unit);
            }
        }
    }
    if found.len() != usable.len() || usable.is_empty() {
        return None;
    }
    let distances = distances(&document);
    let distance = |a, b| distances.get(&(a, b)).copied().unwrap_or(0);
    let topology = Topology::of_threads(found.into_values().collect(), distance);
    Some(Topology { source: Source::Hwloc, caches, processor: name(&document), ..topology })
}

fn objects<'a>(document: &'a Document<'a>, kind: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    let all = document.descendants().filter(|node| node.has_tag_name("object"));
    all.filter(move |node| node.attribute("type") == Some(kind))
}

fn number(node: &Node<'_, '_>, attribute: &str) -> Option<usize> {
    node.attribute(attribute)?.parse().ok()
}

/// The outermost object of one of these kinds that contains a unit.
fn around<'a>(unit: &Node<'a, 'a>, kinds: &[&str]) -> Option<Node<'a, 'a>> {
    let kind = |node: &Node<'_, '_>| node.attribute("type").is_some_and(|t| kinds.contains(&t));
    unit.ancestors().filter(kind).last()
}

fn place(unit: &Node<'_, '_>, processor: usize, nodes: &[(usize, Vec<bool>)]) -> HardwareThread {
    // A number that identifies the object.
    let id = |kinds| around(unit, kinds).map(|node| node.id().get_usize());
    let in_node = |(_, set): &&(usize, Vec<bool>)| set.get(processor) == Some(&true);
    let size = |(_, set): &&(usize, Vec<bool>)| set.iter().filter(|&&near| near).count();
    HardwareThread {
        processor,
        core: id(&["Core"]).unwrap_or(usize::MAX - processor),
        l2: id(&["L2Cache"]),
        llc: id(&["L3Cache", "L4Cache", "L5Cache"]),
        // A node that has the memory of a whole package has more processors than a node for a part
        // of it. So the node with the fewest processors is the nearest.
        node: nodes.iter().filter(in_node).min_by_key(size).map_or(0, |&(node, _)| node),
        package: id(&["Package"]).unwrap_or(0),
    }
}

fn caches_of(unit: &Node<'_, '_>) -> Caches {
    let size = |kinds| around(unit, kinds).and_then(|n| number(&n, "cache_size")).unwrap_or(0);
    Caches {
        l1: size(&["L1Cache"]),
        l2: size(&["L2Cache"]),
        llc: size(&["L3Cache", "L4Cache", "L5Cache"]),
    }
}

/// For each NUMA node its number, and for each processor whether it is near the node.
fn numa_nodes(document: &Document<'_>) -> Vec<(usize, Vec<bool>)> {
    let nodes = objects(document, "NUMANode");
    nodes.filter_map(|n| Some((number(&n, "os_index")?, set(n.attribute("cpuset")?)?))).collect()
}

/// Parses a set of processors: hexadecimal numbers of 32 bits, with the highest first.
fn set(text: &str) -> Option<Vec<bool>> {
    let mut bits = Vec::new();
    for word in text.split(',').rev() {
        let word = word.trim().trim_start_matches("0x");
        let word = if word.is_empty() { 0 } else { u32::from_str_radix(word, 16).ok()? };
        bits.extend((0..32).map(|bit| word >> bit & 1 == 1));
    }
    Some(bits)
}

/// The firmware's distances between NUMA nodes.
fn distances(document: &Document<'_>) -> BTreeMap<(usize, usize), u32> {
    let lists = document.descendants().filter(|node| node.has_tag_name("distances2"));
    let of_nodes = lists.filter(|node| node.attribute("type") == Some("NUMANode"));
    let mut distances = BTreeMap::new();
    for list in of_nodes.take(1) {
        let numbers = |tag| -> Vec<usize> {
            let parts = list.children().filter(|node| node.has_tag_name(tag));
            let texts: Vec<&str> = parts.filter_map(|node| node.text()).collect();
            texts.iter().flat_map(|t| t.split_whitespace()).flat_map(str::parse).collect()
        };
        let (indexes, values) = (numbers("indexes"), numbers("u64values"));
        for (n, value) in values.iter().enumerate().take(indexes.len() * indexes.len()) {
            let pair = (indexes[n / indexes.len()], indexes[n % indexes.len()]);
            distances.insert(pair, u32::try_from(*value).unwrap_or(u32::MAX));
        }
    }
    distances
}

/// The processor's name, if hwloc gives it.
fn name(document: &Document<'_>) -> Option<String> {
    let infos = document.descendants().filter(|node| node.has_tag_name("info"));
    let mut models = infos.filter(|node| node.attribute("name") == Some("CPUModel"));
    Some(models.next()?.attribute("value")?.trim().to_owned())
}

#[cfg(test)]
mod tests;

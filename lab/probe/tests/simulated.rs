//! Tests the probe on simulated machines, whose costs are known. Its results must be SSYNC's tables
//! (claim S1), and a machine description that it writes must give these tables again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use syncline_probe::bench::SimulatedBench;
use syncline_probe::case::{Access, State};
use syncline_probe::measurement::{Measurement, must_ask};
use syncline_probe::{Effort, Note, describe, measure};
use syncline_sim::Machine;

fn measured(machine: &Machine) -> Measurement {
    let bench = SimulatedBench::new(machine, 1);
    measure(&bench, &Effort::SIMULATED, &mut |_| ()).unwrap()
}

/// The measurement of a built-in machine. It is made only once for all tests.
fn named(name: &str) -> Arc<Measurement> {
    static ALL: Mutex<BTreeMap<String, Arc<OnceLock<Arc<Measurement>>>>> =
        Mutex::new(BTreeMap::new());
    let once = ALL.lock().unwrap().entry(name.to_owned()).or_default().clone();
    let first = || Arc::new(measured(&Machine::named(name).unwrap()));
    once.get_or_init(first).clone()
}

use Access::{CompareAndSwap, FetchAndIncrement, Load, Store, Swap, TestAndSet};
use State::{Exclusive, Invalid, Modified, Owned, Shared};

const ATOMICS: [Access; 4] = [CompareAndSwap, FetchAndIncrement, TestAndSet, Swap];

/// Compares a row of Table 2 with the measurement. They may differ by 5 %.
#[track_caller]
fn check(of: &Measurement, distances: &[&str], access: Access, state: State, row: &[f64]) {
    assert_eq!(distances.len(), row.len());
    for (name, &expected) in distances.iter().zip(row) {
        let distance = of.distances.iter().position(|distance| distance.name == *name);
        let distance = distance.unwrap_or_else(|| panic!("no distance {name}"));
        let found = of.cell(access, state, distance).expect("it was measured").median;
        let close = (found - expected).abs() <= 0.05 * expected;
        assert!(close, "{access:?} {state:?} {name}: {found}, and not {expected}");
    }
}

#[test]
fn the_probe_recovers_how_long_a_line_stays() {
    let stays = |name: &str| describe(&named(name)).stays;
    assert_eq!(["opteron", "xeon", "niagara", "tilera"].map(stays), [None; 4]);
    for share in [0.3, 0.6] {
        let mut description = Machine::named("opteron").unwrap().description;
        description.stays = Some(share);
        let found = describe(&measured(&Machine::new(description).unwrap())).stays.unwrap();
        // An increment takes 20 cycles, and a transfer takes 110 to 296 cycles or more. The owner
        // does not use the end of the transfer if it is too short for an increment.
        assert!((share - 0.18..=share).contains(&found), "{share}: {found}");
    }
}

#[test]
fn the_probe_recovers_how_many_loads_are_under_way() {
    let under_way = |name: &str| describe(&named(name)).under_way;
    assert_eq!(["opteron", "xeon", "niagara", "tilera"].map(under_way), [None; 4]);
    for accesses in [4, 16] {
        let mut description = Machine::named("opteron").unwrap().description;
        description.under_way = Some(accesses);
        let of = measured(&Machine::new(description).unwrap());
        let found = describe(&of).under_way.unwrap();
        assert!((accesses - 1..=accesses).contains(&found), "{accesses}: {found}");
        // A single access costs as much as on a machine that does not overlap accesses.
        check(&of, &["same die"], Load, Modified, &[81.0]);
    }
}

#[test]
fn opteron() {
    let of = named("opteron");
    let columns = ["same die", "same MCM", "one hop", "two hops"];
    let row = |access, state, row: [f64; 4]| check(&of, &columns, access, state, &row);
    row(Load, Modified, [81.0, 161.0, 172.0, 252.0]);
    row(Load, Owned, [83.0, 163.0, 175.0, 254.0]);
    row(Load, Exclusive, [83.0, 163.0, 175.0, 253.0]);
    row(Load, Shared, [83.0, 164.0, 176.0, 254.0]);
    row(Load, Invalid, [136.0, 237.0, 247.0, 327.0]);
    row(Store, Modified, [83.0, 172.0, 191.0, 273.0]);
    row(Store, Owned, [244.0, 255.0, 286.0, 291.0]);
    row(Store, Exclusive, [83.0, 171.0, 191.0, 271.0]);
    row(Store, Shared, [246.0, 255.0, 286.0, 296.0]);
    for atomic in ATOMICS {
        row(atomic, Modified, [110.0, 197.0, 216.0, 296.0]);
        row(atomic, Shared, [272.0, 283.0, 312.0, 332.0]);
    }
}

#[test]
fn xeon() {
    let of = named("xeon");
    let columns: Vec<&str> = of.distances.iter().map(|distance| &*distance.name).collect();
    let row = |access, state, row: [f64; 3]| check(&of, &columns, access, state, &row);
    row(Load, Modified, [109.0, 289.0, 400.0]);
    row(Load, Exclusive, [92.0, 273.0, 383.0]);
    row(Load, Shared, [44.0, 223.0, 334.0]);
    row(Load, Invalid, [355.0, 492.0, 601.0]);
    row(Store, Modified, [115.0, 320.0, 431.0]);
    row(Store, Exclusive, [115.0, 315.0, 425.0]);
    row(Store, Shared, [116.0, 318.0, 428.0]);
    for atomic in ATOMICS {
        row(atomic, Modified, [120.0, 324.0, 430.0]);
        row(atomic, Shared, [113.0, 312.0, 423.0]);
    }
}

#[test]
fn niagara() {
    let of = named("niagara");
    let row = |access, state, row: [f64; 2]| {
        check(&of, &["same core", "other core"], access, state, &row);
    };
    for state in [Modified, Exclusive, Shared] {
        row(Load, state, [3.0, 24.0]);
        row(Store, state, [24.0, 24.0]);
    }
    row(Load, Invalid, [176.0, 176.0]);
    for (access, modified, shared) in [
        (CompareAndSwap, [71.0, 66.0], [76.0, 66.0]),
        (FetchAndIncrement, [108.0, 99.0], [99.0, 99.0]),
        (TestAndSet, [64.0, 55.0], [67.0, 55.0]),
        (Swap, [95.0, 90.0], [93.0, 90.0]),
    ] {
        row(access, Modified, modified);
        row(access, Shared, shared);
    }
}

#[test]
fn tilera() {
    let of = named("tilera");
    let row = |access, state, row: [f64; 2]| {
        check(&of, &["one hop", "max hops"], access, state, &row);
    };
    for state in [Modified, Exclusive, Shared] {
        row(Load, state, [45.0, 65.0]);
    }
    row(Load, Invalid, [118.0, 162.0]);
    row(Store, Modified, [57.0, 77.0]);
    row(Store, Exclusive, [57.0, 77.0]);
    row(Store, Shared, [86.0, 106.0]);
    for (access, modified, shared) in [
        (CompareAndSwap, [77.0, 98.0], [124.0, 142.0]),
        (FetchAndIncrement, [51.0, 71.0], [82.0, 102.0]),
        (TestAndSet, [70.0, 89.0], [121.0, 141.0]),
        (Swap, [63.0, 84.0], [95.0, 115.0]),
    ] {
        row(access, Modified, modified);
        row(access, Shared, shared);
    }
}

/// The most processors of a machine on which the test of written descriptions runs the probe, since
/// the probe measures each pair. The test also takes `clusters`, which has more. The other larger
/// machines have the form of smaller ones.
const TOO_MANY: usize = 100;

#[test]
fn machines_of_today_cost_what_their_descriptions_say() {
    for name in ["ice-lake", "zen4", "zen5"] {
        let d = Machine::named(name).unwrap().description;
        let columns: Vec<&str> = d.columns.iter().map(|column| &**column).collect();
        for (access, costs) in [
            (Load, &d.load),
            (Store, &d.store),
            (CompareAndSwap, &d.cas),
            (FetchAndIncrement, &d.fai),
            (TestAndSet, &d.tas),
            (Swap, &d.swap),
        ] {
            check(&named(name), &columns, access, Modified, &costs.modified);
            check(&named(name), &columns, access, Exclusive, &costs.exclusive);
            check(&named(name), &columns, access, Shared, &costs.shared);
        }
        check(&named(name), &columns, Load, Invalid, &d.load.invalid);
    }
}

#[test]
fn local_accesses_of_table_3() {
    for (name, [l1, l2, llc, memory]) in [
        ("opteron", [Some(3.0), Some(15.0), Some(40.0), Some(136.0)]),
        ("xeon", [Some(5.0), Some(11.0), Some(44.0), Some(355.0)]),
        ("niagara", [Some(3.0), None, Some(24.0), Some(176.0)]),
        ("tilera", [Some(2.0), Some(11.0), Some(45.0), Some(118.0)]),
    ] {
        let of = named(name);
        assert_eq!(of.own(Load).map(|own| own.median), l1, "{name}");
        assert_eq!(of.local.l2.as_ref().map(|cycles| cycles.median), l2, "{name}");
        assert_eq!(of.local.llc.as_ref().map(|cycles| cycles.median), llc, "{name}");
        assert_eq!(Some(of.local.memory.median), memory, "{name}");
    }
}

#[test]
fn stores_on_a_line_that_all_share() {
    // The values of section 5.2. The measurement may differ by 10 %.
    for (name, expected) in [("opteron", 296.0), ("xeon", 445.0)] {
        let of = named(name);
        let all = of.sharers.iter().rfind(|shared| shared.access == Store).unwrap();
        assert_eq!(all.sharers, of.subject.processors.len() - 1);
        let found = all.cycles.median;
        assert!((found - expected).abs() <= 0.1 * expected, "{name}: {found}, not {expected}");
    }
}

#[test]
fn a_changed_line_stays_with_its_owner_on_the_opteron_alone() {
    let opteron = named("opteron");
    assert!(opteron.describes_owned());
    // The owner still has the line, but has to ask other caches before it writes.
    let own = opteron.own(Load).unwrap().median;
    assert_eq!(opteron.mine(Load, 0).unwrap().median, own);
    assert!(must_ask(opteron.mine(Store, 0).unwrap().median, own));
    assert!(!opteron.notes.contains(&Note::NoOwned));
    assert!(named("xeon").notes.contains(&Note::NoOwned));
}

#[test]
fn taking_lines_over_by_reads_is_noted_and_described() {
    let mut description = Machine::named("opteron-2384").unwrap().description;
    description.reads_take_over = true;
    let of = measured(&Machine::new(description).unwrap());
    assert_eq!(of.taken_over(), [0, 1], "at both distances");
    assert!(of.notes.iter().any(|note| matches!(note, Note::ReadTakesOver { .. })));
    // The owner has lost the line, and has to fetch it like a line that only another thread has.
    let lost = of.mine(Load, 0).unwrap().median;
    assert_eq!(lost, of.cell(Load, Exclusive, 0).unwrap().median);
    assert!(written(&of).description.reads_take_over);
    assert!(!written(&named("opteron-2384")).description.reads_take_over);
}

/// The machine that the simulator loads from the written description.
fn written(of: &Measurement) -> Machine {
    serde_json::to_string_pretty(&describe(of)).unwrap().parse().unwrap()
}

/// All cells for distances between cores, with the names of the distances.
fn cells(of: &Measurement) -> Vec<(String, Access, State, f64)> {
    let named = of.cells.iter().map(|cell| (&of.distances[cell.distance], cell));
    let between = named.filter(|(distance, _)| !distance.same_core);
    between
        .map(|(of, cell)| (of.name.clone(), cell.access, cell.state, cell.cycles.median))
        .collect()
}

#[test]
fn a_written_description_gives_its_table_back() {
    for name in Machine::names() {
        let machine = Machine::named(name).unwrap();
        if machine.is_uncached() || (machine.threads() > TOO_MANY && name != "clusters") {
            continue;
        }
        let first = named(name);
        let second = measured(&written(&first));
        assert_eq!(cells(&first), cells(&second), "{name}");
        assert_eq!(first.subject.hertz, second.subject.hertz, "{name}");
        let (of, again) = (&machine.description, written(&first).description);
        assert_eq!((&of.levels, of.store_buffer), (&again.levels, again.store_buffer), "{name}");
        let local = machine.description.local;
        for (a, b) in first.local.own.iter().zip(&second.local.own) {
            // In a description, an access that has to leave the core has no cost of its own.
            if (a.access == Store && local.store.is_none())
                || (ATOMICS.contains(&a.access) && local.atomic.is_none())
            {
                continue;
            }
            assert!((a.cycles.median - b.cycles.median).abs() <= 1.0, "{name} {:?}", a.access);
        }
    }
}

/// A machine whose cells all have different costs. They rise with the distance.
fn with_unlike_costs() -> Machine {
    let mut description = Machine::named("opteron").unwrap().description;
    let d = &mut description;
    let mut next = 1000.0;
    for costs in [&mut d.load, &mut d.store, &mut d.cas, &mut d.fai, &mut d.tas, &mut d.swap] {
        for row in [
            &mut costs.modified,
            &mut costs.owned,
            &mut costs.exclusive,
            &mut costs.shared,
            &mut costs.invalid,
        ] {
            *row = (0..4).map(|column| next + 10.0 * f64::from(column)).collect();
            next += 101.0;
        }
        costs.shared_by_all.clear();
    }
    Machine::new(description).unwrap()
}

#[test]
fn every_cell_measures_its_own_cost() {
    let machine = with_unlike_costs();
    let d = &machine.description;
    let of = measured(&machine);
    let mut checked = 0;
    for cell in &of.cells {
        let costs = match cell.access {
            Load => &d.load,
            Store => &d.store,
            CompareAndSwap => &d.cas,
            FetchAndIncrement => &d.fai,
            TestAndSet => &d.tas,
            Swap => &d.swap,
        };
        let row = match cell.state {
            Modified => &costs.modified,
            Owned => &costs.owned,
            Exclusive => &costs.exclusive,
            Shared => &costs.shared,
            Invalid => &costs.invalid,
        };
        let expected = row[cell.distance];
        assert_eq!(cell.cycles.median, expected, "{:?} {:?}", cell.access, cell.state);
        checked += 1;
    }
    assert_eq!(checked, 4 * 30, "all cases at all distances");
}

#[test]
fn a_machine_of_one_thread_has_local_latencies_only() {
    let mut description = Machine::named("opteron").unwrap().description;
    (description.nodes, description.caches_per_node) = (1, 1);
    description.distances = vec![vec![0.0]];
    let of = measured(&Machine::new(description).unwrap());
    assert!(of.cells.is_empty() && of.sharers.is_empty() && of.distances.is_empty());
    assert_eq!(of.own(Load).unwrap().median, 3.0);
    assert_eq!(of.local.memory.median, 136.0);
    assert!(of.notes.contains(&Note::OneProcessor));
    assert_eq!(written(&of).threads(), 1);
}

#[test]
fn two_threads_have_no_third_to_share_with() {
    let mut description = Machine::named("opteron").unwrap().description;
    (description.nodes, description.caches_per_node) = (1, 2);
    description.distances = vec![vec![0.0]];
    let of = measured(&Machine::new(description).unwrap());
    assert_eq!(of.cell(Load, Shared, 0), None);
    assert_eq!(of.cell(Load, Owned, 0), None);
    // The writing thread itself is the second sharer, which the directory of this machine does not
    // know.
    assert_eq!(of.cell(Store, Shared, 0).unwrap().median, 246.0);
    assert!(of.notes.contains(&Note::NoThird { distance: "same die".to_owned() }));
    let again = written(&of);
    assert_eq!(again.description.load.shared, [83.0], "as exclusive");
    assert_eq!(again.description.load.owned, [81.0], "as modified");
}

#[test]
fn reports_have_each_distance_and_fit_the_terminal() {
    for name in ["opteron", "tilera", "clusters"] {
        let of = named(name);
        let (mut text, mut page) = (Vec::new(), Vec::new());
        syncline_probe::report::terminal(&of, &mut text).unwrap();
        syncline_probe::report::html(&of, &mut page).unwrap();
        let (text, page) = (String::from_utf8(text).unwrap(), String::from_utf8(page).unwrap());
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
        for distance in &of.distances {
            assert!(text.contains(&distance.name.to_uppercase()), "{name}: {}", distance.name);
            assert!(page.contains(&distance.name), "{name}: {}", distance.name);
        }
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
        assert!(page.contains("class=\"heat "), "{name}");
    }
}

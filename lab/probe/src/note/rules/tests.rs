//! Tests of the notes. For each note there is an input that gets it, and there is an input that
//! gets none.

use std::sync::OnceLock;

use syncline_sim::Machine;
use syncline_sim::machine::Protocol;

use super::*;
use crate::bench::SimulatedBench;
use crate::measure::{Effort, measure};
use crate::measurement::{Cell, Mine};

/// A measurement of a large machine that was not disturbed.
struct Case {
    surroundings: Surroundings,
    source: Source,
    caches: Caches,
    measurement: Measurement,
    frequencies: Vec<f64>,
    after_reading: Option<f64>,
    crews: Vec<Vec<Crew>>,
}

fn quiet() -> Case {
    static OPTERON: OnceLock<Measurement> = OnceLock::new();
    let machine = Machine::named("opteron").unwrap();
    let measurement = OPTERON.get_or_init(|| {
        let bench = SimulatedBench::new(&machine, 1);
        measure(&bench, &Effort::SIMULATED, &mut |_| ()).unwrap()
    });
    let measurement = measurement.clone();
    assert_eq!(measurement.notes, []);
    let mut surroundings = Surroundings::simulated(&machine);
    surroundings.native = true;
    let crew = Crew { asker: 0, holder: 1, sharer: Some(Sharer { thread: 2, as_far: true }) };
    Case {
        surroundings,
        source: Source::Hwloc,
        caches: Caches { l1: 64 << 10, l2: 512 << 10, llc: 5 << 20 },
        crews: vec![vec![crew]; measurement.distances.len()],
        frequencies: vec![2.1e9; 5],
        after_reading: Some(3.0),
        measurement,
    }
}

/// The notes that an undisturbed case gets after a change, without the notes that every real
/// machine with several nodes gets.
fn notes(change: impl FnOnce(&mut Case)) -> Vec<Note> {
    let mut case = quiet();
    change(&mut case);
    let notes = all(&Facts {
        surroundings: &case.surroundings,
        source: &case.source,
        caches: case.caches,
        measurement: &case.measurement,
        frequencies: &case.frequencies,
        after_reading: case.after_reading,
        crews: &case.crews,
    });
    let protocol = Note::AssumedProtocol { protocol: Protocol::Directory };
    assert!(notes.contains(&protocol));
    notes.into_iter().filter(|note| *note != protocol).collect()
}

#[test]
fn a_quiet_machine_has_no_notes() {
    assert_eq!(notes(|_| ()), []);
}

#[test]
fn surroundings_have_notes() {
    let machine = |case: &mut Case| case.surroundings.hypervisor = Some("KVM".to_owned());
    assert_eq!(notes(machine), [Note::VirtualMachine { hypervisor: "KVM".to_owned() }]);
    assert_eq!(notes(|case| case.surroundings.container = true), [Note::Container]);
    let restricted = notes(|case| case.surroundings.online = 64);
    assert_eq!(restricted, [Note::Restricted { usable: 48, online: 64 }]);
    let quota = notes(|case| case.surroundings.parallelism = 4);
    assert_eq!(quota, [Note::Quota { processors: 4, usable: 48 }]);
}

#[test]
fn the_source_of_the_topology_has_a_note() {
    let why = || "libhwloc.so.15 is not there".to_owned();
    let linux = |case: &mut Case| {
        case.source = Source::Linux { why: why() };
        case.caches = Caches::default();
    };
    assert_eq!(notes(linux), [Note::WithoutHwloc { why: why() }]);
    assert_eq!(notes(|case| case.caches = Caches::default()), [Note::CachesUnknown]);
}

#[test]
fn clock_faults_have_notes() {
    let fault = notes(|case| case.surroundings.clock_fault = Some("it jumps"));
    assert_eq!(fault, [Note::UncertainClock { fault: "it jumps" }]);
    let coarse = notes(|case| case.measurement.subject.ticks_per_second = 25e6);
    assert_eq!(coarse, [Note::CoarseClock { nanoseconds: 40.0 }]);
    let changed = notes(|case| case.frequencies = vec![2.0e9, 2.0e9, 2.0e9, 3.0e9, 3.0e9, 3.0e9]);
    let [Note::FrequencyChanged { least_gigahertz, most_gigahertz }] = changed[..] else {
        panic!("{changed:?}");
    };
    assert!(least_gigahertz < 2.3 && most_gigahertz > 2.7);
    assert_eq!(notes(|case| case.frequencies = vec![2.0e9, 2.01e9, 2.02e9]), []);
}

#[test]
fn noise_has_a_note() {
    let outliers = notes(|case| case.measurement.cells[0].cycles.outliers = 90);
    assert!(matches!(outliers[..], [Note::Outliers { count: 90, .. }]), "{outliers:?}");
    let noisy = notes(|case| {
        let cycles = &mut case.measurement.cells[0].cycles;
        cycles.high = 1.3 * cycles.median;
    });
    assert_eq!(noisy, [Note::Noisy { cells: 1, of: 120 }]);
}

#[test]
fn missing_third_threads_have_notes() {
    let name = |case: &Case| case.measurement.distances[1].name.clone();
    let of = quiet();
    let alone = notes(|case| case.crews[1][0].sharer = None);
    assert_eq!(alone, [Note::NoThird { distance: name(&of) }]);
    let elsewhere =
        notes(|case| case.crews[1][0].sharer = Some(Sharer { thread: 9, as_far: false }));
    assert_eq!(elsewhere, [Note::SharerElsewhere { distance: name(&of) }]);
}

#[test]
fn one_processor_has_a_note() {
    let one = notes(|case| {
        case.measurement.subject.processors = vec![0];
        case.measurement.distances.clear();
        case.surroundings.online = 1;
    });
    assert_eq!(one, [Note::OneProcessor]);
}

#[test]
fn uncertain_states_have_notes() {
    assert_eq!(notes(|case| case.surroundings.owned = Some(false)), [Note::NoOwned]);
    assert_eq!(notes(|case| case.surroundings.owned = None), [Note::OwnedUnknown]);
    let shared = notes(|case| case.after_reading = Some(246.0));
    assert_eq!(shared, [Note::NotExclusive { cycles: 246.0, own: 3.0 }]);
    assert_eq!(notes(|case| case.after_reading = Some(14.0)), [], "from the second level");
}

#[test]
fn a_line_that_its_reader_takes_over_has_a_note() {
    let taken = notes(|case| {
        let mine: &mut Mine = &mut case.measurement.mine[0];
        assert_eq!((mine.access, mine.distance), (Access::Load, 0));
        mine.cycles.median = 81.0;
    });
    assert_eq!(taken, [Note::ReadTakesOver { distance: "same die".to_owned() }]);
}

#[test]
fn missing_caches_have_notes() {
    let apart = notes(|case| {
        case.measurement.distances[0].same_cache = true;
        let cell: &mut Cell = &mut case.measurement.cells[0];
        assert_eq!((cell.access, cell.state, cell.distance), (Access::Load, State::Modified, 0));
        cell.cycles.median = 130.0;
    });
    let distance = "same die".to_owned();
    assert_eq!(apart, [Note::NotNear { distance, cycles: 130.0, memory: 136.0 }]);
    let useless = notes(|case| {
        let memory = case.measurement.local.memory;
        case.measurement.local.far_memory = Some(memory);
        case.measurement.local.llc = Some(Summary { median: 120.0, ..memory });
    });
    assert_eq!(useless, [Note::NoLastLevel { cycles: 120.0 }]);
}

#[test]
fn assumed_costs_have_notes() {
    let without = |state: State| {
        notes(|case| {
            let loads = |cell: &Cell| cell.access == Access::Load && cell.state == state;
            case.measurement.cells.retain(|cell| !loads(cell));
        })
    };
    let shared = without(State::Shared);
    assert!(matches!(shared[..], [Note::Assumed { from: "loads of exclusive ones", .. }]));
    let owned = without(State::Owned);
    assert!(matches!(owned[..], [Note::Assumed { from: "loads of modified ones", .. }]));
    let irregular = notes(|case| {
        // The machine now has one thread more than the layout.
        case.measurement.subject.processors.push(48);
        case.surroundings.online = 49;
        case.surroundings.parallelism = 49;
    });
    assert_eq!(irregular, [Note::Irregular { kept: 48, of: 49 }]);
}

#[test]
fn each_note_is_a_sentence_without_full_stop() {
    let of = notes(|case| {
        case.surroundings.hypervisor = Some("KVM".to_owned());
        case.surroundings.owned = None;
    });
    for note in of {
        let text = note.to_string();
        assert!(text.len() > 40 && !text.ends_with('.'), "{text}");
    }
}

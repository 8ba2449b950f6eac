//! Tests the probe on the machine that runs the tests. Times are not checked, because the machine
//! may be a busy virtual machine or an emulator.

use syncline_probe::bench::{Bench, NativeBench};
use syncline_probe::case::{ACCESSES, STATES};
use syncline_probe::{Effort, Note, describe, measure};
use syncline_sim::Machine;

#[test]
fn this_machine_is_measured_and_its_description_loads() {
    let bench = NativeBench::new().unwrap();
    let threads = bench.topology().threads.len();
    let mut parts = Vec::new();
    let of = measure(&bench, &Effort::QUICK, &mut |at| parts.push(at)).unwrap();

    assert!(parts.iter().enumerate().all(|(n, at)| at.done == n + 1 && at.of == parts.len()));
    assert_eq!(of.matrix.len(), threads);
    for (n, row) in of.matrix.iter().enumerate() {
        assert!(row.iter().enumerate().all(|(m, cell)| cell.is_some() == (n != m)));
    }
    // Without a third thread, two of the loads can't be measured.
    let missing = |note: &&Note| matches!(note, Note::NoThird { .. });
    let missing = 2 * of.notes.iter().filter(missing).count();
    let all = of.distances.len() * ACCESSES.len() * STATES.len();
    assert_eq!(of.cells.len(), all - missing);
    let cells = of.cells.iter().map(|cell| &cell.cycles);
    for cycles in cells.chain(of.local.own.iter().map(|own| &own.cycles)) {
        assert!(cycles.samples > 0 && cycles.median.is_finite() && cycles.low <= cycles.high);
    }
    assert!(of.subject.hertz > 1e6 && of.subject.clock_cycles >= 0.0);
    assert_eq!(of.notes.contains(&Note::OneProcessor), threads == 1);

    let text = serde_json::to_string(&describe(&of)).unwrap();
    let machine: Machine = text.parse().unwrap();
    assert_eq!(machine.threads(), of.layout.threads());
    assert_eq!(machine.description.title, of.subject.title);
}

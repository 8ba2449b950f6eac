//! Stress tests and figures have plausible results on this machine and on simulated ones. Their
//! results repeat with the same seed, and are written in formats that other programs can read.

use syncline_sim::Machine;
use syncline_study::figure::{Book, Figure, Panel};
use syncline_study::figures::{NINE, PLANS};
use syncline_study::lab::{Effort, Lab};
use syncline_study::stress::atomics::{self, Operation};
use syncline_study::stress::contenders::{self, Contender};
use syncline_study::stress::hardware_table;
use syncline_study::stress::messages::{self, Fetched, Way};
use syncline_study::stress::table::{self, Shape};
use syncline_study::stress::transactions::{self, Bank};
use syncline_study::stress::uncontended::Turns;
use syncline_study::stress::{Homes, Load, Outcome, Pause};
use syncline_study::target::Target;
use syncline_study::world::{Elsewhere, Here, Placement, World};
use syncline_study::{page, study};

fn load(threads: usize, locks: usize, seconds: f64) -> Load {
    Load {
        threads,
        placement: Placement::Near,
        locks,
        data: true,
        pause: Pause::Transfer,
        homes: Homes::First,
        fetch_for_writing: false,
        timed: true,
        warm_up: seconds / 5.0,
        measured: seconds,
        seed: 1,
    }
}

fn simulated(name: &str) -> Machine {
    Machine::named(name).expect("it comes along")
}

#[test]
fn every_lock_of_the_catalogue_runs_here_and_simulated() {
    let machine = simulated("opteron");
    let elsewhere = Elsewhere(&machine);
    for contender in contenders::all::<Elsewhere<'_>>() {
        for threads in [1, 7, 48] {
            let outcome = (contender.throughput)(&elsewhere, &load(threads, 1, 200e-6));
            // The slowest lock has all its state in one word. With 48 threads that write to the
            // word, there may be only one acquisition in 200 microseconds.
            assert!(outcome.per_second > 1e3, "{} {threads}: {outcome:?}", contender.name);
        }
    }
    let mut description = machine.description.clone();
    description.stays = Some(0.5);
    let stays = Machine::new(description).expect("it is valid");
    for contender in contenders::all::<Elsewhere<'_>>() {
        // The test itself panics if two threads hold a lock at the same time.
        let outcome = (contender.throughput)(&Elsewhere(&stays), &load(7, 1, 100e-6));
        assert!(outcome.per_second > 1e3, "{}: {outcome:?}", contender.name);
    }
    let here = Here::new();
    for contender in contenders::all::<Here>() {
        let outcome = busy(|| (contender.throughput)(&here, &load(1, 4, 0.005)));
        assert_eq!(outcome.success_percent, 100.0, "{}", contender.name);
        let turns = Turns { warm_up: 10, measured: 100, fetch_for_writing: false, seed: 1 };
        assert!((contender.uncontended)(&here, None, &turns).is_finite(), "{}", contender.name);
    }
}

/// Runs a test until its outcome has operations. On this machine other processes may use the
/// processors during the whole measured time.
fn busy(run: impl Fn() -> Outcome) -> Outcome {
    let mut outcomes = std::iter::repeat_with(run).take(100);
    outcomes.find(|outcome| outcome.per_second > 0.0).expect("it gets a processor")
}

#[test]
fn the_nine_locks_are_in_the_catalogue() {
    assert_eq!(Contender::<Here>::named(&NINE).len(), NINE.len());
}

#[test]
fn contended_cas_and_tas_mostly_fail() {
    let machine = simulated("xeon");
    let rate = |operation, threads| {
        atomics::run(&Elsewhere(&machine), operation, &load(threads, 1, 100e-6)).success_percent
    };
    assert!(rate(Operation::Cas, 1) == 100.0 && rate(Operation::Cas, 10) < 50.0);
    assert!(rate(Operation::Tas, 1) == 100.0 && rate(Operation::Tas, 10) < 50.0);
    assert!(rate(Operation::CasFai, 10) == 100.0 && rate(Operation::Fai, 10) == 100.0);
}

#[test]
fn a_free_lock_costs_what_the_table_says() {
    // An acquisition of the test-and-set lock makes one atomic operation. On a line that the
    // partner has changed, it takes the cycles of SSYNC's table 2; if the thread is alone, it takes
    // 20. A cycle of instructions is added.
    let machine = simulated("opteron");
    let world = Elsewhere(&machine);
    let tas = &Contender::<Elsewhere<'_>>::named(&["tas"])[0];
    let turns = Turns { warm_up: 5, measured: 50, fetch_for_writing: false, seed: 1 };
    assert_eq!((tas.uncontended)(&world, None, &turns), 21.0);
    for ((_, partner), paper) in world.partners().into_iter().zip([110.0, 197.0, 216.0, 296.0]) {
        assert_eq!((tas.uncontended)(&world, Some(partner), &turns), paper + 1.0);
    }
}

#[test]
fn messages_arrive_on_this_machine() {
    let here = Here::new();
    let outcome =
        busy(|| messages::one_server::<Here, Fetched<Here>>(&here, Way::Round, &load(2, 1, 0.01)));
    assert_eq!(outcome.success_percent, 100.0);
    let shape = Shape { buckets: 12, keys: 12 };
    let served = busy(|| table::served(&here, shape, &load(2, 1, 0.01)));
    assert!((0.0..=100.0).contains(&served.success_percent), "{served:?}");
}

/// The stress test itself checks the sums of audits, and that no money disappears.
#[test]
fn transactions_run_here_and_simulated() {
    let (here, machine) = (Here::new(), simulated("xeon"));
    let elsewhere = Elsewhere(&machine);
    for bank in [Bank { branches: 128, audits: 0 }, Bank { branches: 2, audits: 80 }] {
        let kinds = [transactions::shared, transactions::served, transactions::locked];
        for run in kinds {
            let outcome = run(&elsewhere, bank, &load(12, 1, 100e-6));
            assert!(outcome.per_second > 1e4, "{bank:?}: {outcome:?}");
        }
        let kinds = [transactions::shared, transactions::served, transactions::locked];
        for run in kinds {
            busy(|| run(&here, bank, &load(2, 1, 0.01)));
        }
    }
}

#[test]
fn servers_with_hardware_messages_are_faster() {
    let tilera = simulated("tilera");
    let (world, shape) = (Elsewhere(&tilera), Shape { buckets: 12, keys: 12 });
    let load = load(12, 1, 50e-6);
    let places = world.places(12, Placement::Near);
    let software = table::served(&world, shape, &load).per_second;
    let hardware = hardware_table::served(&tilera, shape, &places, &load);
    assert!(hardware > software && software > 1e6, "{hardware} {software}");
}

#[test]
fn the_ticket_lock_fetches_for_writing_where_stores_are_broadcast() {
    let broadcasts = |name: &str| Elsewhere(&simulated(name)).broadcasts();
    assert_eq!(["opteron", "xeon", "tilera"].map(broadcasts), [true, false, false]);
}

#[test]
fn the_requested_placement_orders_the_hardware_threads() {
    let (opteron, niagara) = (simulated("opteron"), simulated("niagara"));
    let near = Elsewhere(&opteron).places(8, Placement::Near);
    assert_eq!(near, [0, 1, 2, 3, 4, 5, 6, 7]);
    let far = Elsewhere(&opteron).places(3, Placement::Far);
    assert_eq!(far, [0, 6, 12], "a die after the other");
    let cores = Elsewhere(&niagara).places(9, Placement::Near);
    assert_eq!(cores, [0, 8, 16, 24, 32, 40, 48, 56, 1], "evenly among the cores");
    assert_eq!(Elsewhere(&opteron).steps(), [1, 2, 3, 4, 6, 7, 12, 18, 24, 36, 48]);
}

fn measured(seed: u64) -> Book {
    let lab = Lab { effort: Effort::Small, seed };
    let targets = [Target::named("tilera").expect("it comes along")];
    let ids = ["figure-4", "figure-6", "figure-9", "figure-11"].map(str::to_owned);
    study::run(&lab, &study::plans(&ids), &targets, |_, _| {})
}

#[test]
fn the_same_seed_gives_the_same_study() {
    let book = measured(3);
    assert_eq!(book.figures, measured(3).figures);
    assert_ne!(book.figures, measured(4).figures);
}

/// The result depends neither on the addresses of the accounts nor on the number of engines that
/// the process has created before.
#[test]
fn the_same_seed_gives_the_same_transactions() {
    let machine = simulated("opteron");
    let world = Elsewhere(&machine);
    let measured = |seed| {
        let load = Load { seed, ..load(12, 1, 100e-6) };
        let bank = Bank { branches: 16, audits: 40 };
        [transactions::shared, transactions::served, transactions::locked]
            .map(|run| run(&world, bank, &load))
    };
    let first = measured(3);
    for bytes in [24, 40, 1_000, 70_000] {
        let in_the_way: Vec<Vec<u8>> = (0..50).map(|_| vec![1; bytes]).collect();
        assert_eq!(first, measured(3), "{bytes}");
        assert_eq!(in_the_way.len(), 50);
    }
    assert_ne!(first, measured(4));
}

/// A waiter allocates a node for each wait. The result must not depend on the addresses that the
/// system's allocator returns.
#[test]
fn the_same_seed_gives_the_same_gate() {
    let machine = simulated("opteron");
    let gate = &Contender::<Elsewhere<'_>>::named(&["gate"])[0];
    let measured = || (gate.throughput)(&Elsewhere(&machine), &load(8, 1, 200e-6));
    let first = measured();
    for bytes in [24, 40, 128, 1_000] {
        let in_the_way = vec![1u8; bytes];
        assert_eq!(measured(), first, "{bytes}");
        assert_eq!(in_the_way.len(), bytes);
    }
}

#[test]
fn every_figure_can_be_measured_on_a_machine_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.json");
    let mut description = simulated("xeon").description;
    (description.name, description.nodes) = ("mine <b>".to_owned(), 2);
    description.distances = vec![vec![0.0, 1.0], vec![1.0, 0.0]];
    std::fs::write(&path, serde_json::to_string(&description).expect("JSON")).expect("a file");
    let targets = [Target::named(path.to_str().expect("a name")).expect("it is one")];
    let lab = Lab { effort: Effort::Small, seed: 1 };
    let book = study::run(&lab, &PLANS.iter().collect::<Vec<_>>(), &targets, |_, _| {});
    let elsewhere = |id: &str| id.starts_with("scc-") || id.starts_with("argo-");
    let expected: Vec<&str> =
        PLANS.iter().map(|plan| plan.id).filter(|id| !elsewhere(id)).collect();
    let measured: Vec<&str> = book.figures.iter().map(|figure| figure.id).collect();
    assert_eq!(measured, expected, "all but the SCC's and those of clusters");
    for figure in &book.figures {
        let [panel] = &figure.panels[..] else { panic!("{}: no panel", figure.id) };
        let values = panel.series.iter().flat_map(|series| &series.points).map(|point| point.y);
        assert!(
            values.clone().count() > 1 && values.clone().all(|y| y.is_finite() && y >= 0.0),
            "{}",
            figure.id
        );
        assert!(figure.says.contains("mine <b>"), "{}: {}", figure.id, figure.says);
    }
    let mut text = Vec::new();
    page::write(&book, &["<script>".to_owned()], &mut text).expect("memory takes it");
    let text = String::from_utf8(text).expect("text");
    assert!(
        !text.contains("<script>") && !text.contains("mine <b>") && text.contains("mine &lt;b&gt;")
    );
}

#[test]
fn a_csv_file_has_a_value_in_each_line() {
    let book = measured(1);
    let figure: &Figure = &book.figures[0];
    let text = Book::csv(figure);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "machine,series,threads,label,throughput (Mops/s),note");
    let points =
        |panel: &Panel| panel.series.iter().map(|series| series.points.len()).sum::<usize>();
    assert_eq!(lines.len() - 1, figure.panels.iter().map(points).sum::<usize>());
    assert!(lines[1].starts_with("tilera,cas,1,,"), "{}", lines[1]);
}

#[test]
fn unknown_machines_are_errors() {
    let error = Target::named("cray").expect_err("there is none").to_string();
    assert!(error.contains("`cray`") && error.contains("opteron, xeon"), "{error}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("broken.json");
    std::fs::write(&path, "{").expect("a file");
    let error = Target::named(path.to_str().expect("a name")).expect_err("it is none").to_string();
    assert!(error.contains("broken.json"), "{error}");
}

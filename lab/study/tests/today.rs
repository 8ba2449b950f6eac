//! Which lock to use on today's machines. docs/locks.md must name the best lock of each situation
//! in which one lock is clearly the best, and must have the right verdicts on published ratios.

use std::path::Path;

use syncline_sim::Machine;
use syncline_study::lab::{Effort, Lab};
use syncline_study::stress::contenders::Contender;
use syncline_study::today::{
    DEFAULT, LOCKS, MACHINES, MARKS, PUBLISHED, Rate, SITUATIONS, Threads, UNFAIR, rates, simulated,
};
use syncline_study::world::Elsewhere;

const QUICK: Lab = Lab { effort: Effort::Quick, seed: 1 };

fn machine(name: &str) -> Machine {
    Machine::named(name).expect("it is built in")
}

/// The generated part of docs/locks.md.
fn tables() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/locks.md");
    let text = std::fs::read_to_string(path).expect("docs/locks.md");
    let (_, rest) = text.split_once(MARKS[0]).expect("the first mark");
    rest.split_once(MARKS[1]).expect("the second mark").0.to_owned()
}

#[test]
fn all_locks_are_in_the_catalogue() {
    let advised = SITUATIONS.iter().flat_map(|situation| situation.advice.concat());
    let published = PUBLISHED.iter().flat_map(|ratio| [ratio.first.0, ratio.second.0]);
    let named = LOCKS.into_iter().chain(UNFAIR).chain([DEFAULT]);
    for lock in named.chain(advised).chain(published) {
        assert_eq!(Contender::<Elsewhere<'_>>::named(&[lock]).len(), 1, "{lock}");
    }
}

#[test]
fn a_socket_has_its_complexes() {
    let on = |name: &str| {
        let d = machine(name).description;
        [Threads::Count(8), Threads::Socket, Threads::Sockets].map(|threads| threads.on(&d))
    };
    assert_eq!(on("zen4"), [Some(8), Some(48), Some(96)]);
    assert_eq!(on("graviton4"), [Some(8), Some(96), Some(192)]);
    assert_eq!(on("zen5"), [Some(8), Some(16), None], "there is but one socket");
}

#[test]
fn ratios_are_of_the_same_seed() {
    let rate = |per_second: &[f64]| Rate { lock: "mcs", per_second: per_second.to_vec() };
    let over = rate(&[2.0, 9.0]).over(&rate(&[1.0, 3.0]));
    assert_eq!(over, [2.0, 11.0 / 4.0, 3.0]);
}

/// Each seed has its own results, which are the same each time.
#[test]
fn each_seed_has_its_own_repeatable_results() {
    let found = rates(&QUICK, &machine("zen5"), &SITUATIONS[2]).expect("it has 8 threads");
    assert_eq!(found.len(), LOCKS.len());
    assert!(found.iter().all(|rate| rate.per_second.len() == 2 && rate.mean() > 1e5), "{found:?}");
    assert!(found.iter().any(|rate| rate.per_second[0] != rate.per_second[1]), "{found:?}");
    assert_eq!(rates(&QUICK, &machine("zen5"), &SITUATIONS[2]), Some(found));
    assert_eq!(rates(&QUICK, &machine("zen5"), &SITUATIONS[4]), None);
}

/// In the first two situations the best lock is clear: each cell begins with the lock that was
/// measured as the best.
#[test]
fn the_document_names_the_best_locks() {
    let tables = tables();
    for situation in &SITUATIONS[..2] {
        let begin = format!("| {} |", situation.name);
        let line = tables.lines().find(|line| line.starts_with(&begin)).expect(situation.name);
        for (name, cell) in MACHINES.into_iter().zip(line.split('|').skip(2)) {
            let found = rates(&QUICK, &machine(name), situation).expect("it has 2 threads");
            let best = found.iter().max_by(|a, b| a.mean().total_cmp(&b.mean())).expect("locks");
            assert!(cell.trim().starts_with(&format!("`{}` ", best.lock)), "{name}: {line}");
        }
    }
    for situation in &SITUATIONS {
        let rows =
            tables.lines().filter(|line| line.starts_with(&format!("| {} |", situation.name)));
        assert_eq!(rows.count(), 2, "{}", situation.name);
    }
}

#[test]
fn the_document_says_which_published_ratios_hold() {
    let tables = tables();
    let lines = tables.lines().skip_while(|line| !line.starts_with("| source |")).skip(2);
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), PUBLISHED.len());
    for (line, ratio) in lines.into_iter().zip(&PUBLISHED) {
        let found = simulated(&QUICK, ratio);
        let verdict = if ratio.holds(found) { "holds" } else { "misses" };
        assert!(line.starts_with(&format!("| {} | {} |", ratio.source, ratio.what)), "{line}");
        assert!(line.ends_with(&format!("| {verdict} |")), "{line}: {found}");
    }
}

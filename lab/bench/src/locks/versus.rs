//! Compares our locks with peers: selects the peer of each lock, and computes the ratios.

use super::contended::Outcome;
use super::contender::{Contender, Kind, Side};
use super::peers;
use super::uncontended::{Access, Timing};
use crate::compare::{Change, Measure, Row};
use crate::statistics::{Spread, geometric_mean, median, spread};

/// The aim: a pair takes at most this many times as long as with the fastest peer that does the
/// same.
const AIM_UNCONTENDED: f64 = 1.03;
/// The aim: a pair takes at most this many times as long as with the same lock written by hand.
const AIM_HANDWRITTEN: f64 = 1.02;

pub const TIME: &str = "ns";

/// The heading for locks of one kind.
fn section(kind: Kind, access: Access) -> &'static str {
    match (kind, access) {
        (Kind::Spin, _) => "Uncontended, spinning on one word",
        (Kind::Ticket, _) => "Uncontended, ticket",
        (Kind::Array, _) => "Uncontended, array",
        (Kind::Mcs, _) => "Uncontended, MCS",
        (Kind::Clh, _) => "Uncontended, CLH",
        (Kind::Hclh, _) => "Uncontended, hierarchical CLH",
        (Kind::Cohort, _) => "Uncontended, hierarchical, locks of locks",
        (Kind::TimedQueue, _) => "Uncontended, a queue whose waiters can give up",
        (Kind::Blocking, _) => "Uncontended, waiters sleep in the kernel",
        (Kind::Delegation, _) => "Uncontended, delegation",
        (Kind::SpinningShared, Access::Alone) => "Uncontended, shared and spinning, as a writer",
        (Kind::SpinningShared, Access::Shared) => "Uncontended, shared and spinning, as a reader",
        (Kind::BlockingShared, Access::Alone) => "Uncontended, shared and blocking, as a writer",
        (Kind::BlockingShared, Access::Shared) => "Uncontended, shared and blocking, as a reader",
        (Kind::TurnsShared, Access::Alone) => "Uncontended, shared in turns, as a writer",
        (Kind::TurnsShared, Access::Shared) => "Uncontended, shared in turns, as a reader",
        (Kind::QueuedShared, Access::Alone) => "Uncontended, shared with a queue, as a writer",
        (Kind::QueuedShared, Access::Shared) => "Uncontended, shared with a queue, as a reader",
    }
}

/// Whether a lock of this kind is compared with `peer`. The peers' libraries have no delegation,
/// and no queue locks whose waiters can give up or that readers share. The peers of these kinds are
/// the locks that programs use instead.
fn is_opponent(peer: &Contender, kind: Kind) -> bool {
    match kind {
        Kind::TimedQueue => peer.kind == Kind::Blocking && peer.timed,
        Kind::Delegation => peer.kind == Kind::Blocking,
        Kind::QueuedShared => peer.kind == Kind::TurnsShared,
        kind => peer.kind == kind,
    }
}

/// Whether the peers of this kind do the same as our lock, so that ours should not be slower. The
/// peers of the other two kinds don't use a queue without contention, and so they have less to do.
fn is_of_same_kind(kind: Kind) -> bool {
    !matches!(kind, Kind::Delegation | Kind::QueuedShared)
}

fn row(section: &'static str, aim: Option<f64>, peer: &Timing, subject: &Timing) -> Row {
    Row {
        section,
        case: format!("{} / {}", subject.contender.name, peer.contender.name),
        measure: Measure { label: TIME, change: Change::Ratio, aim },
        pairs: peer.nanoseconds.iter().copied().zip(subject.nanoseconds.iter().copied()).collect(),
        looks: 1,
    }
}

/// The fastest of the peers with which a lock of this kind is compared.
fn fastest<'a, 'b>(all: &'b [Timing<'a>], kind: Kind, access: Access) -> Option<&'b Timing<'a>> {
    all.iter()
        .filter(|t| t.contender.side == Side::Peer && t.access == access)
        .filter(|t| is_opponent(t.contender, kind))
        .min_by(|a, b| a.median().total_cmp(&b.median()))
}

/// Compares every lock of a library with the fastest of its peers, if it has any. The aim applies
/// to those of our locks whose peers do the same.
pub fn uncontended(all: &[Timing]) -> Vec<Row> {
    let held_against = |timing: &Timing| {
        let peer = fastest(all, timing.kind(), timing.access)?;
        let has_aim = timing.contender.is_ours() && is_of_same_kind(timing.kind());
        let aim = has_aim.then_some(AIM_UNCONTENDED);
        Some(row(section(timing.kind(), timing.access), aim, peer, timing))
    };
    all.iter().filter(|t| t.contender.side != Side::Handwritten).filter_map(held_against).collect()
}

/// Compares the library's native forms with the same locks written by hand.
pub fn handwritten(all: &[Timing], pairs: &[(String, &str)]) -> Vec<Row> {
    let find = |name: &str| all.iter().find(|t| t.contender.name == name);
    let against = |(hand, ours): &(String, &str)| {
        Some(row("Native form and hand-written", Some(AIM_HANDWRITTEN), find(hand)?, find(ours)?))
    };
    pairs.iter().filter_map(against).collect()
}

/// The result of a lock of the catalogue with one kind of access, compared with the fastest of its
/// peers.
pub struct Standing {
    pub form: String,
    pub access: Access,
    /// The peer's time over ours. More is better.
    pub ratio: f64,
}

/// The standings of the locks of the catalogue that have a peer that does the same, the worst
/// first. A lock counts with its best form of each kind: its spinning and yielding forms are of the
/// same kind, and its parking form may be of another.
pub fn standings(all: &[Timing]) -> Vec<Standing> {
    let mut best: Vec<(&Timing, f64)> = Vec::new();
    let ours = all.iter().filter(|t| t.contender.is_ours() && is_of_same_kind(t.kind()));
    for timing in ours {
        let Some(peer) = fastest(all, timing.kind(), timing.access) else { continue };
        let ratio = 1.0 / row("", None, peer, timing).change().median;
        let what = |t: &Timing| (t.contender.lock.clone(), t.kind(), t.access);
        match best.iter_mut().find(|(other, _)| what(other) == what(timing)) {
            Some(known) if known.1 >= ratio => {}
            Some(known) => *known = (timing, ratio),
            None => best.push((timing, ratio)),
        }
    }
    best.sort_by(|a, b| a.1.total_cmp(&b.1));
    let standing = |(timing, ratio): (&Timing, f64)| Standing {
        form: timing.contender.name.clone(),
        access: timing.access,
        ratio,
    };
    best.into_iter().map(standing).collect()
}

/// The standings of the locks that miss the aim.
pub fn missing_the_aim(standings: &[Standing]) -> impl Iterator<Item = &Standing> {
    standings.iter().filter(|standing| standing.ratio < 1.0 / AIM_UNCONTENDED)
}

/// The outcomes of one lock under one load, one for each round.
pub struct Result<'a> {
    pub contender: &'a Contender,
    pub outcomes: Vec<Outcome>,
}

impl Result<'_> {
    pub fn median(&self, of: impl Fn(&Outcome) -> f64) -> f64 {
        median(&self.outcomes.iter().map(of).collect::<Vec<_>>())
    }

    pub fn per_second(&self) -> f64 {
        self.median(|outcome| outcome.per_second)
    }
}

/// The lock with the highest throughput among those with these names; `None` if none took part.
pub fn best_of<'a, 'b>(results: &'b [Result<'a>], names: &[&str]) -> Option<&'b Result<'a>> {
    let named = results.iter().filter(|result| names.contains(&&*result.contender.name));
    named.max_by(|a, b| a.per_second().total_cmp(&b.per_second()))
}

/// The throughput of a lock over that of another one, round by round. A lock with a single slot is
/// compared with the other lock's first round.
pub fn ratio(ours: &Result, peer: &Result) -> Spread {
    spread(&ratios(ours, peer))
}

fn ratios(ours: &Result, peer: &Result) -> Vec<f64> {
    let both = ours.outcomes.iter().zip(&peer.outcomes);
    both.map(|(ours, peer)| ours.per_second / peer.per_second).collect()
}

/// A lock's throughput over that of the better reference lock of each load: the geometric mean over
/// the loads, for each round.
pub fn over_loads(loads: &[&[Result]], name: &str) -> Spread {
    let of_load = |results: &&[Result]| {
        let ours = best_of(results, &[name]).expect("it takes part");
        let peer = best_of(results, peers::references(false)).expect("they take part");
        ratios(ours, peer)
    };
    let all: Vec<Vec<f64>> = loads.iter().map(of_load).collect();
    let rounds = all.iter().map(Vec::len).min().unwrap_or(0);
    let round = |round: usize| geometric_mean(all.iter().map(|ratios| ratios[round]));
    spread(&(0..rounds).map(round).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::{ours, peers};
    use super::*;

    #[test]
    fn each_load_weighs_alike_against_its_better_peer() {
        let mut all = ours::contenders();
        all.extend(peers::contenders());
        let result = |name: &str, per_second: f64| {
            let contender = all.iter().find(|c| c.name == name).unwrap();
            let outcome = || Outcome { per_second, jain: 1.0, least_share: 1.0, waits: Vec::new() };
            Result { contender, outcomes: vec![outcome(), outcome(), outcome()] }
        };
        let load = |gate: f64, parking_lot: f64, pthread: f64| {
            [
                result("gate", gate),
                result("parking_lot mutex", parking_lot),
                result("pthread mutex", pthread),
            ]
        };
        // The lock is twice, half, and eight times as good as the better reference.
        let loads = [load(4e6, 2e6, 1e6), load(2e3, 1e3, 4e3), load(8.0, 0.5, 1.0)];
        let over = over_loads(&loads.each_ref().map(|load| &load[..]), "gate");
        assert!((over.median - 2.0).abs() < 1e-9, "{over:?}");
        assert_eq!((over.low, over.high), (over.median, over.median));
    }
}

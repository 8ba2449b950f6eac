//! Locks that a thread changes from shared to exclusive, and from exclusive to shared.

use syncline::lock::{CompactRw, FairRw, ReadersFirst, RwGate, Upgradable, WritersFirst};
use syncline::wait::{Park, Spin};
use syncline_checkers::cases::{downgraded, tries_upgradable, upgraded, upgraded_in_time};

use crate::{DRAWN, Loom, Shuttle, UP_TO, randomly};

macro_rules! downgrades {
    ($($name:ident: $Lock:ident<$Queue:ident>;)*) => {
        $(#[test]
        fn $name() {
            type Lock<M> = $Lock<$Queue<Park, M>>;
            UP_TO.explore(4, || downgraded::<Lock<Loom>>(1, 1));
            UP_TO.explore(4, || downgraded::<Lock<Loom>>(2, 0));
            UP_TO.explore(3, || downgraded::<Lock<Loom>>(1, 2));
            UP_TO.explore(3, || downgraded::<Lock<Loom>>(2, 1));
            randomly(DRAWN, || downgraded::<Lock<Shuttle>>(2, 3));
        })*
    };
}

downgrades! {
    gated_fair: RwGate<FairRw>;
    gated_readers: RwGate<ReadersFirst>;
    gated_writers: RwGate<WritersFirst>;
    upgradable: Upgradable<CompactRw>;
}

#[test]
fn compact() {
    type Lock<M> = CompactRw<Park, M>;
    UP_TO.explore(4, || downgraded::<Lock<Loom>>(1, 1));
    UP_TO.explore(4, || downgraded::<Lock<Loom>>(2, 0));
    UP_TO.explore(3, || downgraded::<Lock<Loom>>(1, 2));
    UP_TO.explore(3, || downgraded::<Lock<Loom>>(2, 1));
    randomly(DRAWN, || downgraded::<Lock<Shuttle>>(2, 3));
}

macro_rules! upgrades {
    ($($name:ident: $Queue:ident<$Wait:ident>;)*) => {
        $(#[test]
        fn $name() {
            type Lock<M> = Upgradable<$Queue<$Wait, M>>;
            UP_TO.explore(3, || upgraded::<Lock<Loom>>(1, 0));
            UP_TO.explore(3, || upgraded::<Lock<Loom>>(1, 1));
            UP_TO.explore(3, || upgraded::<Lock<Loom>>(2, 0));
            UP_TO.explore(3, || tries_upgradable::<Lock<Loom>>(2));
            randomly(DRAWN, || upgraded::<Lock<Shuttle>>(3, 2));
            randomly(DRAWN, || tries_upgradable::<Lock<Shuttle>>(4));
        })*
    };
}

upgrades! {
    upgraded_compact: CompactRw<Park>;
    upgraded_writers: WritersFirst<Park>;
    upgraded_spinning: ReadersFirst<Spin>;
}

#[test]
fn upgraded_in_time_or_not() {
    type Lock<M> = Upgradable<CompactRw<Park, M>>;
    UP_TO.explore_timed(3, || upgraded_in_time::<Lock<Loom>>(1));
    UP_TO.explore_timed(3, || upgraded_in_time::<Lock<Loom>>(2));
    randomly(DRAWN, || upgraded_in_time::<Lock<Shuttle>>(3));
}

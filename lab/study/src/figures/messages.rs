//! Figures 9 and 10: messages between two threads, at each distance, and messages from many clients
//! to one server.

use syncline_sim::Machine;

use super::plan::Plan;
use super::sentence::{list, number};
use super::ssync::load;
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::Lab;
use crate::on;
use crate::stress::hardware_messages as hardware;
use crate::stress::messages::{self, Fetched, Plain, Way};
use crate::stress::uncontended::Turns;
use crate::stress::{Homes, Load, Pause};
use crate::target::Target;
use crate::world::World;

/// The plan of figure 9, messages between two threads.
pub const TWO: Plan = Plan {
    id: "figure-9",
    title: "Latency of messages between two threads, by their distance",
    x: "distance",
    y: "latency (cycles)",
    kind: Kind::Bars,
    measure: |lab, target| {
        let mut panel = on!(target, world => between_two(lab, world));
        if let Some(machine) = with_messages(target) {
            panel.series.extend(hardware_between_two(machine));
        }
        Some(panel)
    },
    says: says_two,
};

/// The plan of figure 10, clients and a server.
pub const SERVER: Plan = Plan {
    id: "figure-10",
    title: "Throughput of messages to one server",
    x: "clients",
    y: "throughput (Mops/s)",
    kind: Kind::Lines,
    measure: |lab, target| {
        let mut panel = on!(target, world => one_server(lab, world))?;
        if let Some(machine) = with_messages(target) {
            panel.series.extend(hardware_server(machine, &panel.series[0]));
        }
        Some(panel)
    },
    says: says_server,
};

/// The series of messages without answers.
pub const ONE_WAY: &str = "one way";
/// The series of messages with answers.
pub const ROUND_TRIP: &str = "round trip";
/// The suffix of the series whose buffers are not fetched for writing before they are read.
pub const PLAIN: &str = ", not fetched for writing";
/// The suffix of the series of messages in hardware.
pub const HARDWARE: &str = ", hardware";
/// The suffix of the series whose messages have a single word. The messages of the other series
/// fill a line.
pub const WORD: &str = ", one word";

const WAYS: [(&str, Way); 2] = [(ONE_WAY, Way::One), (ROUND_TRIP, Way::Round)];
/// The number of words of a line.
const LINE: usize = 8;
/// The number of measured messages on this machine, and on simulated machines.
const MESSAGES: (u32, u32) = (20_000, 500);
/// Simulated seconds of measurement for a server of hardware messages.
const SECONDS: f64 = 100e-6;
/// The number of clients in SSYNC's largest measurement of a server.
const MOST_CLIENTS: usize = 35;

/// The simulated machine if it has messages in hardware. `None` for other simulated machines, and
/// for this machine.
pub fn with_messages(target: &Target) -> Option<&Machine> {
    match target {
        Target::Simulated(machine) if machine.description.messages.is_some() => Some(machine),
        _ => None,
    }
}

fn between_two<W: World>(lab: &Lab, world: &W) -> Panel {
    let partners = world.partners();
    let count = if W::SIMULATED { MESSAGES.1 } else { MESSAGES.0 };
    let kinds = ["", PLAIN].into_iter().flat_map(|kind| WAYS.map(|(name, way)| (kind, name, way)));
    let kinds: Vec<_> = kinds.collect();
    let points: Vec<_> = kinds
        .iter()
        .flat_map(|kind| partners.iter().map(move |partner| (kind, partner.1)))
        .collect();
    let values = lab.measure::<W, _>(&points, |&(&(kind, _, way), partner), seed| {
        let turns = Turns { warm_up: count / 10, measured: count, fetch_for_writing: false, seed };
        match kind {
            PLAIN => messages::between_two::<W, Plain<W>>(world, way, partner, &turns),
            _ => messages::between_two::<W, Fetched<W>>(world, way, partner, &turns),
        }
    });
    let mut values = values.into_iter();
    let series = kinds.iter().map(|(kind, name, _)| Series {
        name: format!("{name}{kind}"),
        points: places(&partners, &mut values),
    });
    Panel { machine: world.name().to_owned(), series: series.collect() }
}

fn places(partners: &[(String, usize)], values: &mut impl Iterator<Item = f64>) -> Vec<Point> {
    let points = partners.iter().zip(values).enumerate();
    let point = |(x, ((label, _), y)): (usize, (&(String, usize), f64))| Point {
        x: x as f64,
        label: label.clone(),
        y,
        note: String::new(),
    };
    points.map(point).collect()
}

fn hardware_between_two(machine: &Machine) -> Vec<Series> {
    let partners = crate::world::Elsewhere(machine).partners();
    let series = |(name, way)| {
        let mut values = partners.iter().map(|(_, partner)| {
            hardware::between_two(machine, way, LINE, *partner, MESSAGES.1.into())
        });
        Series { name: format!("{name}{HARDWARE}"), points: places(&partners, &mut values) }
    };
    WAYS.map(series).into()
}

/// Measures one server; `None` if the machine has no processor for a client.
fn one_server<W: World>(lab: &Lab, world: &W) -> Option<Panel> {
    // One of the threads is the server.
    let clients = world.steps().into_iter().map(|threads| threads - 1);
    let clients: Vec<usize> = clients.filter(|n| (1..=MOST_CLIENTS).contains(n)).collect();
    let points: Vec<_> =
        WAYS.iter().flat_map(|(_, way)| clients.iter().map(move |&n| (*way, n))).collect();
    let values = lab.measure::<W, _>(&points, |&(way, clients), seed| {
        let load = load::<W>(lab, clients + 1, 1, seed);
        let load = Load { pause: Pause::None, homes: Homes::Machine, ..load };
        messages::one_server::<W, Fetched<W>>(world, way, &load).per_second / 1e6
    });
    let mut values = values.into_iter();
    let series = WAYS.iter().map(|(name, _)| Series {
        name: (*name).to_owned(),
        points: clients.iter().zip(&mut values).map(|(&n, y)| Point::at(n, y)).collect(),
    });
    (!clients.is_empty())
        .then(|| Panel { machine: world.name().to_owned(), series: series.collect() })
}

fn hardware_server(machine: &Machine, like: &Series) -> Vec<Series> {
    let kinds = [("", LINE), (WORD, 1)];
    let all = kinds.into_iter().flat_map(|kind| WAYS.map(|way| (kind, way)));
    let series = all.map(|((size, words), (name, way))| {
        let point = |point: &Point| {
            let clients = point.x as usize;
            let rate = hardware::one_server(machine, way, words, clients, SECONDS);
            Point::at(clients, rate / 1e6)
        };
        let points = like.points.iter().map(point).collect();
        Series { name: format!("{name}{HARDWARE}{size}"), points }
    });
    series.collect()
}

fn says_two(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let [one, round] = [ONE_WAY, ROUND_TRIP].map(|name| panel.series(name)?.points.first());
        let (one, round) = (one?, round?);
        Some(format!(
            "a message on {} takes {} cycles one way and {} there and back ({})",
            panel.machine,
            number(one.y),
            number(round.y),
            one.label
        ))
    };
    list(panels.iter().filter_map(machine))
}

fn says_server(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let most = panel.last();
        let [one, round] = [ONE_WAY, ROUND_TRIP].map(|name| panel.value(name, most));
        Some(format!(
            "a server of {most} clients on {} gets {} million messages a second without answers, \
             and {} million with answers",
            panel.machine,
            number(one?),
            number(round?)
        ))
    };
    list(panels.iter().filter_map(machine))
}

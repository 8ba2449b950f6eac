//! Argo's figures 8, 9, 10 and 13: programs on distributed shared memory, on simulated clusters
//! whose nodes have 16 cores.

use syncline_dsm::carina::Scheme;

use super::plan::Plan;
use super::sentence::number;
use crate::cluster::programs::{self, Program};
use crate::cluster::{Cluster, Outcome, run};
use crate::figure::{Kind, Panel, Point, Series};
use crate::lab::{Effort, Lab, each};
use crate::target::Target;
use crate::world::Elsewhere;

/// The machine under whose name these figures are listed. It stands for the paper's nodes.
pub const NODE: &str = "opteron";

/// The plan of Argo's figure 8.
pub const SCHEMES: Plan = Plan {
    id: "argo-figure-8",
    title: "Distributed shared memory on four nodes, by how finely pages are classified",
    x: "program",
    y: "time, relative to that without classes",
    kind: Kind::Bars,
    measure: schemes,
    says: say_schemes,
};

/// The plan of Argo's figures 9 and 10.
pub const BUFFERS: Plan = Plan {
    id: "argo-figure-9",
    title: "Distributed shared memory on four nodes, by the size of the write buffer",
    x: "pages of the write buffer",
    y: "time and pages written back, relative to those with the largest buffer",
    kind: Kind::LogLines,
    measure: buffers,
    says: say_buffers,
};

/// The plan of Argo's figure 13.
pub const SCALING: Plan = Plan {
    id: "argo-figure-13",
    title: "Speedup of programs on distributed shared memory, over one thread",
    x: "nodes of 16 cores",
    y: "speedup",
    kind: Kind::LogLines,
    measure: scaling,
    says: say_scaling,
};

/// The suffix of a program's name in the series that count pages written back.
pub const WRITTEN_BACK: &str = ", written back";
/// The series of Argo's figure 8, with their schemes.
pub const NAMES: [(&str, Scheme); 3] =
    [("S", Scheme::Shared), ("P/S", Scheme::Private), ("P/S3", Scheme::Writers)];

const FEW: usize = 4;
const LARGEST: usize = 8192;
const SIZES: [usize; 6] = [4, 16, 64, 256, 1024, LARGEST];
const NODES: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// The number of pages of a line. A line is as large as a block of LU, so that each line has one
/// writer.
const LINE: usize = 8;
/// The most nodes for the large product: more nodes take long to simulate, and the paper has no
/// more.
const LARGE_NODES: usize = 32;

fn cluster(nodes: usize) -> Cluster {
    Cluster { nodes, scheme: Scheme::Writers, write_buffer: LARGEST, line_pages: LINE }
}

/// Whether figures of clusters are listed under this machine, which stands for the paper's node.
fn is_node(target: &Target) -> bool {
    matches!(target, Target::Simulated(machine) if machine.description.name == NODE)
}

fn panel(series: Vec<Series>) -> Option<Panel> {
    Some(Panel { machine: NODE.to_owned(), series })
}

fn schemes(lab: &Lab, target: &Target) -> Option<Panel> {
    if !is_node(target) {
        return None;
    }
    let programs = programs::all();
    let points: Vec<(&dyn Program, Scheme)> = NAMES
        .iter()
        .flat_map(|&(_, scheme)| programs.iter().map(move |p| (&**p, scheme)))
        .collect();
    let seconds = lab.measure::<Elsewhere<'_>, _>(&points, |&(program, scheme), seed| {
        run(program, Cluster { scheme, ..cluster(FEW) }, seed).seconds
    });
    let (without, count) = (seconds[..programs.len()].to_vec(), programs.len());
    let series = NAMES.iter().enumerate().map(|(at, (name, _))| {
        let of = &seconds[at * count..(at + 1) * count];
        let point = |number: usize| Point {
            x: number as f64,
            label: programs[number].name().to_owned(),
            y: of[number] / without[number],
            note: String::new(),
        };
        Series { name: (*name).to_owned(), points: (0..count).map(point).collect() }
    });
    panel(series.collect())
}

fn buffers(lab: &Lab, target: &Target) -> Option<Panel> {
    if !is_node(target) {
        return None;
    }
    let programs = programs::all();
    let points: Vec<(&dyn Program, usize)> =
        programs.iter().flat_map(|program| SIZES.map(|size| (&**program, size))).collect();
    let outcomes = each::<Elsewhere<'_>, _, _>(&points, |&(program, write_buffer)| {
        run(program, Cluster { write_buffer, ..cluster(FEW) }, lab.seed)
    });
    let mut series = Vec::new();
    for (program, outcomes) in programs.iter().zip(outcomes.chunks(SIZES.len())) {
        let last = outcomes[SIZES.len() - 1];
        let line = |name: String, of: fn(&Outcome) -> f64| Series {
            name,
            points: SIZES
                .iter()
                .zip(outcomes)
                .map(|(&size, outcome)| Point::at(size, of(outcome) / of(&last)))
                .collect(),
        };
        series.push(line(program.name().to_owned(), |outcome| outcome.seconds));
        series.push(line(format!("{}{WRITTEN_BACK}", program.name()), |outcome| {
            outcome.written_back as f64
        }));
    }
    panel(series)
}

fn scaling(lab: &Lab, target: &Target) -> Option<Panel> {
    if !is_node(target) {
        return None;
    }
    let (mut programs, large) = (programs::all(), programs::large_product());
    programs.push(Box::new(large));
    let fits = |program: &dyn Program, nodes: usize| {
        let is_large = program.name() == programs::LARGE_PRODUCT;
        let is_quick = lab.effort != Effort::Small || (8..=LARGE_NODES).contains(&nodes);
        !is_large || nodes <= LARGE_NODES && is_quick
    };
    let points: Vec<(&dyn Program, usize)> = programs
        .iter()
        .flat_map(|program| NODES.map(|nodes| (&**program, nodes)))
        .filter(|&(program, nodes)| fits(program, nodes))
        .collect();
    let speedups = lab.measure::<Elsewhere<'_>, _>(&points, |&(program, nodes), seed| {
        program.work() / run(program, cluster(nodes), seed).seconds
    });
    let series = programs.iter().map(|program| Series {
        name: program.name().to_owned(),
        points: points
            .iter()
            .zip(&speedups)
            .filter(|((of, _), _)| of.name() == program.name())
            .map(|((_, nodes), speedup)| Point::at(*nodes, *speedup))
            .collect(),
    });
    panel(series.collect())
}

const NOWHERE: &str = "not measured: this figure is about clusters of the paper's nodes, Opterons";

fn say_schemes(panels: &[Panel]) -> String {
    let Some(panel) = panels.first() else { return NOWHERE.into() };
    let least = |name: &str| {
        let points = panel.series(name).map_or(&[][..], |series| &series.points);
        let least = points.iter().min_by(|a, b| a.y.total_cmp(&b.y));
        least.map_or(String::new(), |point| format!("{} ({})", number(point.y), point.label))
    };
    format!(
        "at best, classifying private pages shortens a program to {} of its time without \
         classification, and classifying writers as well to {}",
        least("P/S"),
        least("P/S3")
    )
}

fn say_buffers(panels: &[Panel]) -> String {
    let Some(panel) = panels.first() else { return NOWHERE.into() };
    let times = panel.series.iter().filter(|series| !series.name.ends_with(WRITTEN_BACK));
    let worst = |size: usize| {
        number(times.clone().filter_map(|series| series.value(size)).fold(0.0, f64::max))
    };
    format!(
        "with a write buffer of {} pages, a program takes up to {} times as long as with one of \
         {LARGEST}; with one of 256 pages, up to {} times as long",
        SIZES[0],
        worst(SIZES[0]),
        worst(256)
    )
}

fn say_scaling(panels: &[Panel]) -> String {
    let Some(panel) = panels.first() else { return NOWHERE.into() };
    let ends = panel.series.iter().filter_map(|series| {
        let best = series.points.iter().max_by(|a, b| a.y.total_cmp(&b.y))?;
        Some(format!("{} {} on {} nodes", series.name, number(best.y), best.x))
    });
    format!("the highest speedups are {}", ends.collect::<Vec<_>>().join(", "))
}

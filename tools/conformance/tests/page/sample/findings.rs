//! The findings of the sample server.

use syncline_analysis::model::*;

fn evidence(what: &str, value: f64, unit: Unit) -> Evidence {
    Evidence { what: what.into(), value, unit }
}

/// Examples of findings.
pub fn findings() -> Vec<Finding> {
    let finding = |rule, title: &str, place: &str, sites: &[usize]| Finding {
        rule,
        title: title.into(),
        place: place.into(),
        sites: sites.to_vec(),
        locks: vec![0],
        evidence: vec![],
        advice: String::new(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    };
    let gain = |share, method| Some(Gain { share, seconds: share * 8.0, method });
    let group = |start: &str, threads, proposed, work, busiest| Group {
        start_function: start.into(),
        origin: format!("of {start}"),
        threads,
        proposed,
        work,
        busiest,
    };
    vec![
        Finding {
            evidence: vec![
                evidence("contention", 0.291, Unit::Share),
                evidence("acquired", 601_000.0, Unit::PerSecond),
                evidence("waited", 16.57, Unit::Seconds),
                evidence("places that use it", 3.0, Unit::Count),
                evidence("the longest section to the median", 41.0, Unit::Times),
            ],
            advice: "One lock guards the whole table. Give each bucket, or each of a few dozen \
                     stripes of buckets, a lock of its own; only resize() needs all of them."
                .into(),
            open_question: Some(OpenQuestion {
                question: "Do these threads touch the same entries? Counts can't tell.".into(),
                command: Answer::CacheLines,
            }),
            remedy: Remedy::SplitLock { sites: vec![0, 1, 2], parts: 64.0 },
            gain: gain(0.234, Method::Replay),
            ..finding(
                Rule::TooMuchData,
                "One lock over a whole table",
                "shop::Table::insert(Order const&) at /opt/shop/src/table.cpp:118",
                &[0, 1, 2],
            )
        },
        Finding {
            evidence: vec![
                evidence("work of the busiest thread", 7.4, Unit::Seconds),
                evidence("work of the idlest", 0.9, Unit::Seconds),
            ],
            advice: "Give the printers' work to fewer threads, and the workers the others.".into(),
            remedy: Remedy::Rebalance {
                groups: vec![
                    group("shop::worker(void*)", 8, 10, 48.2, 6.3),
                    group("shop::printer(void*)", 4, 2, 10.4, 7.4),
                ],
            },
            gain: gain(0.11, Method::Assignment),
            ..finding(
                Rule::UnequalGroups,
                "Groups of threads with unequal work",
                "shop::worker, shop::printer",
                &[],
            )
        },
        Finding {
            evidence: vec![
                evidence("acquired", 4_100_000.0, Unit::PerSecond),
                evidence("contention", 0.0, Unit::Share),
            ],
            advice: "The section adds to one word: an atomic addition does that without a lock."
                .into(),
            gain: gain(0.031, Method::Replay),
            ..finding(
                Rule::AtomicInstead,
                "A lock around one addition",
                "shop::Counter::add(long) at /opt/shop/src/counter.h:23",
                &[5],
            )
        },
        Finding {
            advice: "Keep apart what different threads write: align each to 64 bytes.".into(),
            gain: gain(0.001, Method::Replay),
            ..finding(
                Rule::LocksShareLine,
                "Two hot locks on one cache line",
                "orders, total (server)",
                &[0, 5],
            )
        },
    ]
}

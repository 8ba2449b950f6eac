//! The Firefox Profiler's format: every reference in its tables must lead to a row that exists, and
//! its figures must equal those of the analysis.

use serde_json::Value;
use syncline_analysis::model::Activity;
use syncline_report::export;

use super::{kitchen, spans};

fn profile() -> (syncline_analysis::Analysis, Value) {
    let analysis = kitchen().load();
    let mut out = Vec::new();
    export::firefox(&analysis, &mut out).unwrap();
    let profile = serde_json::from_slice(&out).unwrap();
    (analysis, profile)
}

/// A column of a table, which must be as long as the table says.
fn column<'a>(table: &'a Value, name: &str) -> &'a [Value] {
    let column = table[name].as_array().unwrap_or_else(|| panic!("{name} in {table}"));
    assert_eq!(Some(column.len() as u64), table["length"].as_u64(), "{name}");
    column
}

/// Asserts that every number in a column refers to a row of another table.
fn refers(table: &Value, name: &str, to: &Value) {
    let rows = to["length"].as_u64().unwrap_or_else(|| to.as_array().unwrap().len() as u64);
    for value in column(table, name).iter().filter(|value| !value.is_null()) {
        assert!(value.as_u64().unwrap() < rows, "{name}: {value} of {rows}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let (_, profile) = profile();
    assert!(profile["meta"]["preprocessedProfileVersion"].as_u64() >= Some(40));
    assert_eq!(profile["meta"]["symbolicated"], true);
    let categories = &profile["meta"]["categories"];
    for thread in profile["threads"].as_array().unwrap() {
        let strings = match &thread["stringArray"] {
            Value::Null => &profile["shared"]["stringArray"],
            own => own,
        };
        refers(&thread["samples"], "stack", &thread["stackTable"]);
        refers(&thread["stackTable"], "frame", &thread["frameTable"]);
        refers(&thread["stackTable"], "prefix", &thread["stackTable"]);
        refers(&thread["frameTable"], "func", &thread["funcTable"]);
        refers(&thread["funcTable"], "name", strings);
        refers(&thread["markers"], "name", strings);
        refers(&thread["markers"], "category", categories);
        for data in column(&thread["markers"], "data") {
            let stack = &data["cause"]["stack"];
            assert!(stack.as_u64() < thread["stackTable"]["length"].as_u64(), "{data}");
        }
    }
}

#[test]
fn firefox_waits_and_holds_match_the_timeline() {
    let (analysis, profile) = profile();
    let process = &analysis.processes[0];
    let threads = profile["threads"].as_array().unwrap();
    let names: Vec<&Value> = threads.iter().map(|thread| &thread["name"]).collect();
    assert_eq!(names, ["kitchen", "ben"], "the first thread goes by its process");
    let tables = || threads.iter().map(|thread| &thread["samples"]);
    let weights = tables().flat_map(|table| column(table, "weight"));
    let microseconds: f64 = weights.map(|weight| weight.as_f64().unwrap()).sum();
    assert_eq!(microseconds, (spans(process, Activity::Wait) * 1e6).round());
    assert_eq!(profile["meta"]["interval"].as_f64(), Some(0.001), "milliseconds");
    for (phase, activity) in [("Wait", Activity::Wait), ("Hold", Activity::Hold)] {
        let mut sum = 0.0;
        for thread in threads {
            let markers = &thread["markers"];
            let strings = match &thread["stringArray"] {
                Value::Null => &profile["shared"]["stringArray"],
                own => own,
            };
            let (from, to) = (column(markers, "startTime"), column(markers, "endTime"));
            for (row, name) in column(markers, "name").iter().enumerate() {
                if strings[name.as_u64().unwrap() as usize] == phase {
                    sum += to[row].as_f64().unwrap() - from[row].as_f64().unwrap();
                }
            }
        }
        let expected = spans(process, activity) * 1e3;
        assert!((sum - expected).abs() < 1e-6, "{phase}: {sum} of {expected} ms");
    }
}

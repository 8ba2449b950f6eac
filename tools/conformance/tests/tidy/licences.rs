//! The packages from which the project is built may be distributed under the project's terms. The
//! test knows the licence of each package that cargo selects for this system.

use std::process::Command;

use serde_json::Value;

use crate::root;

/// Licences that only ask for attribution, or for nothing.
const KNOWN: [&str; 8] =
    ["0BSD", "Apache-2.0", "BSD-2-Clause", "CC0-1.0", "ISC", "MIT", "Unicode-3.0", "Zlib"];

/// Packages with another licence, and why that does not matter.
const OTHERS: [(&str, &str); 1] = [
    // Its terms are about its own files, which are used unchanged.
    ("inferno", "CDDL-1.0"),
];

/// Whether known licences satisfy a licence expression.
fn is_known(expression: &str) -> bool {
    expression.split(" AND ").all(|part| {
        let part = part.trim_matches(['(', ')']).replace('/', " OR ");
        part.split(" OR ").any(|licence| KNOWN.contains(&licence.trim()))
    })
}

/// The packages whose licence is not known.
fn unknown(metadata: &Value) -> Vec<(String, String)> {
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let named = packages.map(|package| {
        let text = |field: &str| package[field].as_str().unwrap_or("none").to_owned();
        (text("name"), text("license"))
    });
    named.filter(|(_, licence)| !is_known(licence)).collect()
}

#[test]
fn every_package_has_a_licence_that_is_known() {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc").stdout;
    let version = String::from_utf8(version).expect("a text");
    let system = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a system");
    let arguments = ["metadata", "--format-version=1", "--offline", "--filter-platform", system];
    let found = Command::new("cargo").args(arguments).current_dir(root()).output().expect("cargo");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let metadata = serde_json::from_slice(&found.stdout).expect("JSON");
    let others = OTHERS.map(|(name, licence)| (name.to_owned(), licence.to_owned()));
    assert_eq!(unknown(&metadata), others, "found, and those that are listed");
}

#[test]
fn an_unknown_licence_is_found() {
    for known in ["MIT", "Unlicense OR MIT", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND Unicode-3.0"] {
        assert!(is_known(known), "{known}");
    }
    for unknown in ["GPL-3.0", "MIT AND GPL-3.0", "(GPL-2.0 OR GPL-3.0) AND MIT", ""] {
        assert!(!is_known(unknown), "{unknown}");
    }
    let metadata = serde_json::json!({ "packages": [
        { "name": "ours", "license": "MIT" },
        { "name": "theirs", "license": "AGPL-3.0" },
        { "name": "unlicensed", "license": null },
    ]});
    let expected = [("theirs", "AGPL-3.0"), ("unlicensed", "none")];
    assert_eq!(unknown(&metadata), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

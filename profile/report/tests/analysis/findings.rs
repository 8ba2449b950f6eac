//! Test that the documentation of the findings has every rule.

use syncline_analysis::model::Rule;

#[test]
fn each_rule_is_documented() {
    let documentation = include_str!("../../../../docs/findings.md");
    let is_missing = |name: &&str| !documentation.contains(&format!("| `{name}` |"));
    let missing: Vec<&str> = Rule::all().map(Rule::name).filter(is_missing).collect();
    assert!(missing.is_empty(), "docs/findings.md does not mention {missing:?}");
}

//! Writes tables into `docs/accuracy.md`, between two lines that mark their position.

use std::fs;

use anyhow::Context;

use super::workloads::repository;

/// The lines that mark the positions of the workloads' tables and of the programs' tables.
pub const WORKLOADS: &str = "<!-- ./x accuracy --markdown writes from here -->\n";
pub const PROGRAMS: &str = "<!-- ./x accuracy --programs DIR --markdown writes from here -->\n";
const END: &str = "<!-- to here -->\n";

/// Replaces the tables after a mark.
pub fn write(begin: &str, tables: &str) -> anyhow::Result<()> {
    let path = repository().join("docs/accuracy.md");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let new = with_tables(&text, begin, tables);
    let new = new.with_context(|| format!("{} has no place for tables", path.display()))?;
    fs::write(&path, new)?;
    Ok(())
}

fn with_tables(text: &str, begin: &str, tables: &str) -> Option<String> {
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{begin}{tables}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_between_the_marks_changes() {
        let other = format!("{PROGRAMS}kept\n{END}");
        let text = format!("above\n{WORKLOADS}old\n{END}below\n{other}");
        let new = with_tables(&text, WORKLOADS, "new\n").unwrap();
        assert_eq!(new, format!("above\n{WORKLOADS}new\n{END}below\n{other}"));
        assert_eq!(with_tables(&new, WORKLOADS, "new\n"), Some(new));
        assert_eq!(with_tables("no marks", WORKLOADS, "new\n"), None);
    }
}

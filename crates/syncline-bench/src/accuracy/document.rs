//! Puts the tables into `docs/accuracy.md`, between two lines that mark their place.

use std::fs;

use anyhow::Context;

use super::workloads::repository;

const BEGIN: &str = "<!-- ./x accuracy --markdown writes from here -->\n";
const END: &str = "<!-- to here -->\n";

/// Replaces the tables of the document.
pub fn write(tables: &str) -> anyhow::Result<()> {
    let path = repository().join("docs/accuracy.md");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let new = with_tables(&text, tables);
    let new = new.with_context(|| format!("{} has no place for tables", path.display()))?;
    fs::write(&path, new)?;
    Ok(())
}

fn with_tables(text: &str, tables: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{tables}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_between_the_marks_changes() {
        let text = format!("above\n{BEGIN}old\n{END}below\n");
        let new = with_tables(&text, "new\n").unwrap();
        assert_eq!(new, format!("above\n{BEGIN}new\n{END}below\n"));
        assert_eq!(with_tables(&new, "new\n"), Some(new));
        assert_eq!(with_tables("no marks", "new\n"), None);
    }
}

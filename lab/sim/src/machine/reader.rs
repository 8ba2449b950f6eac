//! Reads descriptions of machines: those that come with Syncline, files, and texts.

use std::path::Path;
use std::str::FromStr;

use super::Machine;
use super::description::FORMAT;
use super::error::Error;

/// The machines that come with Syncline.
const BUILT_IN: [(&str, &str); 13] = [
    ("opteron", include_str!("../../machines/opteron.json")),
    ("xeon", include_str!("../../machines/xeon.json")),
    ("niagara", include_str!("../../machines/niagara.json")),
    ("tilera", include_str!("../../machines/tilera.json")),
    ("opteron-2384", include_str!("../../machines/opteron-2384.json")),
    ("xeon-x5660", include_str!("../../machines/xeon-x5660.json")),
    ("scc", include_str!("../../machines/scc.json")),
    ("clusters", include_str!("../../machines/clusters.json")),
    ("ice-lake", include_str!("../../machines/ice-lake.json")),
    ("sapphire-rapids", include_str!("../../machines/sapphire-rapids.json")),
    ("zen4", include_str!("../../machines/zen4.json")),
    ("zen5", include_str!("../../machines/zen5.json")),
    ("graviton4", include_str!("../../machines/graviton4.json")),
];

impl Machine {
    /// The names of the machines that come with Syncline, SSYNC's four first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|&(name, _)| name)
    }

    /// The machine of this name that comes with Syncline; `None` if no such machine does.
    pub fn named(name: &str) -> Option<Machine> {
        let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Machine::parse(text, name).expect("the built-in machines are well described"))
    }

    /// Reads a machine from the file that describes it.
    ///
    /// # Errors
    /// If the file can't be read, or does not describe a machine.
    pub fn load(path: &Path) -> Result<Machine, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Io { path: name.clone(), source })?;
        Machine::parse(&text, &name)
    }

    /// Makes a machine from a description in text form. Error messages call the text `path`.
    ///
    /// # Errors
    /// If the text does not describe a machine.
    pub fn parse(text: &str, path: &str) -> Result<Machine, Error> {
        let path = || path.to_owned();
        let syntax = |source| Error::Syntax { path: path(), source };
        // The format is checked first, since another version may have other fields. The fields are
        // then parsed from the text, not from this value, so that errors have lines and columns.
        let value: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
        match value.get("format").and_then(|format| format.as_str()) {
            Some(FORMAT) => {}
            other => {
                let found = other.unwrap_or("none").to_owned();
                return Err(Error::Format { path: path(), found });
            }
        }
        let description = serde_json::from_str(text).map_err(syntax)?;
        Machine::new(description).map_err(|what| Error::Wrong { path: path(), what })
    }
}

impl FromStr for Machine {
    type Err = Error;

    fn from_str(text: &str) -> Result<Machine, Error> {
        Machine::parse(text, "text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_included_machines_are_valid() {
        for name in Machine::names() {
            assert_eq!(Machine::named(name).unwrap().description.name, name);
        }
        let threads = |name| Machine::named(name).unwrap().threads();
        let all = ["opteron", "xeon", "niagara", "tilera", "opteron-2384", "xeon-x5660", "scc"];
        assert_eq!(all.map(threads), [48, 80, 64, 36, 8, 12, 48]);
        assert_eq!(threads("clusters"), 128);
        let today = ["ice-lake", "sapphire-rapids", "zen4", "zen5", "graviton4"];
        assert_eq!(today.map(threads), [64, 112, 96, 16, 192]);
    }

    #[test]
    fn texts_that_are_no_descriptions_are_refused() {
        let refused = |text: &str| Machine::parse(text, "file").unwrap_err().to_string();
        let xeon = include_str!("../../machines/xeon.json");
        assert!(refused("[1").contains("file: not a machine description"));
        assert!(refused("{}").contains("format none"));
        assert!(refused(&xeon.replace("machine/1", "machine/9")).contains("syncline-machine/9"));
        let odd = refused(&xeon.replace("\"hertz\"", "\"herz\""));
        assert!(odd.contains("herz") && odd.contains("line 6"), "{odd}");
        assert!(refused(&xeon.replace("\"snooping\"", "\"gossip\"")).contains("gossip"));
        assert!(refused(&xeon.replace("\"nodes\": 8", "\"nodes\": -8")).contains("-8"));
        assert!(refused(&xeon.replace("\"cas\"", "\"measured\"")).contains("file: cas.modified"));
        assert!(Machine::load(Path::new("/nowhere/x")).is_err());
        assert!(xeon.parse::<Machine>().is_ok());
    }
}

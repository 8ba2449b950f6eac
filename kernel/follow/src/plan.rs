//! What the plugin knows about a kernel: a text with one line per item, made from its symbols and
//! types.
//!
//! ```text
//! syncline-kernel-plan 1
//! spin.lock ffffffff81a0e620 ffffffff81a0e650
//! offset.task_struct.pid 9a8 9a8
//! ```
//!
//! A line has a name and two hexadecimal numbers: the start and end of a function, or one value
//! twice.

use std::collections::BTreeMap;

/// The first line, with the version of the format.
const HEADER: &str = "syncline-kernel-plan 1";

/// The lines of a plan, by name. A name may have several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    lines: BTreeMap<String, Vec<(u64, u64)>>,
}

impl Plan {
    /// Adds a range.
    pub fn add(&mut self, name: &str, range: (u64, u64)) {
        self.lines.entry(name.to_owned()).or_default().push(range);
    }

    /// Adds a value.
    pub fn set(&mut self, name: &str, value: u64) {
        self.add(name, (value, value));
    }

    /// All ranges of a name.
    pub fn ranges(&self, name: &str) -> &[(u64, u64)] {
        self.lines.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of a name.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.ranges(name).first().map(|&(value, _)| value)
    }

    /// Whether an address lies in a range of this name.
    pub fn covers(&self, name: &str, address: u64) -> bool {
        self.ranges(name).iter().any(|&(start, end)| (start..end).contains(&address))
    }

    /// Formats the plan as text.
    pub fn write(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for (name, ranges) in &self.lines {
            for (start, end) in ranges {
                text.push_str(&format!("{name} {start:x} {end:x}\n"));
            }
        }
        text
    }

    /// Reads a plan from its text; `None` if the text has another format.
    pub fn parse(text: &str) -> Option<Plan> {
        let mut lines = text.lines();
        if lines.next()? != HEADER {
            return None;
        }
        let mut plan = Plan::default();
        for line in lines {
            let mut words = line.split(' ');
            let name = words.next()?;
            let mut number = || u64::from_str_radix(words.next()?, 16).ok();
            plan.add(name, (number()?, number()?));
        }
        Some(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut plan = Plan::default();
        plan.add("lock", (0x10, 0x20));
        plan.add("lock", (0x30, 0x40));
        plan.set("value", 7);
        assert_eq!(Plan::parse(&plan.write()).as_ref(), Some(&plan));
        assert!(plan.covers("lock", 0x3f) && !plan.covers("lock", 0x40));
        assert_eq!(plan.value("value"), Some(7));
        assert_eq!(plan.value("other"), None);
        assert!(Plan::parse("syncline-kernel-plan 0\n").is_none());
        assert!(Plan::parse("syncline-kernel-plan 1\nlock 1 x\n").is_none());
    }
}

//! The kernel's symbols, as `/proc/kallsyms` lists them.

use std::collections::HashMap;

/// A symbol of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The symbol's address; for a per-processor variable, its offset in each processor's area.
    pub address: u64,
    /// The kind of the symbol, such as `T` for a function.
    pub kind: char,
    /// The name.
    pub name: String,
    /// The module that it belongs to; `None` for the kernel's own.
    pub module: Option<String>,
}

/// All symbols, by address.
#[derive(Debug, Default)]
pub struct Symbols {
    all: Vec<Symbol>,
    by_name: HashMap<String, usize>,
}

/// Per-processor variables have offsets below this.
const PER_CPU_END: u64 = 0x100_0000;
/// The greatest assumed size of a variable or function, in bytes.
const LONGEST: u64 = 4 << 20;

impl Symbols {
    /// Parses the text of `/proc/kallsyms`. Lines that are not symbols are skipped.
    pub fn parse(text: &str) -> Symbols {
        let mut all: Vec<Symbol> = text.lines().filter_map(parse_line).collect();
        all.sort_by_key(|symbol| symbol.address);
        let by_name = all.iter().enumerate().rev().map(|(at, s)| (s.name.clone(), at)).collect();
        Symbols { all, by_name }
    }

    /// Whether there are no symbols, for example because the kernel hides addresses.
    pub fn is_empty(&self) -> bool {
        self.all.iter().all(|symbol| symbol.address == 0)
    }

    /// The address of a symbol; the lowest if several symbols have the name.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).map(|&at| self.all[at].address)
    }

    /// The start and end of a function or variable, which ends where the next symbol begins.
    pub fn range(&self, name: &str) -> Option<(u64, u64)> {
        self.by_name.get(name).map(|&at| (self.all[at].address, self.end(at)))
    }

    /// The start, end and name of each symbol whose name `accept` accepts.
    pub fn with_name(
        &self,
        accept: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (u64, u64, &str)> {
        let matching = self.all.iter().enumerate().filter(move |(_, symbol)| accept(&symbol.name));
        matching.map(|(at, symbol)| (symbol.address, self.end(at), symbol.name.as_str()))
    }

    /// The symbol that contains an address, and the distance from its start.
    pub fn find(&self, address: u64) -> Option<(&Symbol, u64)> {
        let after = self.all.partition_point(|symbol| symbol.address <= address);
        let at = self.first_of_equals(after.checked_sub(1)?);
        let symbol = &self.all[at];
        let distance = address - symbol.address;
        (distance < LONGEST && symbol.address >= PER_CPU_END).then_some((symbol, distance))
    }

    /// The per-processor variable that contains an offset, and the distance from its start.
    pub fn find_per_cpu(&self, offset: u64) -> Option<(&Symbol, u64)> {
        let end = self.all.partition_point(|symbol| symbol.address < PER_CPU_END);
        let after = self.all[..end].partition_point(|symbol| symbol.address <= offset);
        let symbol = &self.all[self.first_of_equals(after.checked_sub(1)?)];
        Some((symbol, offset - symbol.address))
    }

    /// The index of the first symbol that has the same address as symbol `at` and is not a mark,
    /// such as a section's start; `at` if all are marks. Marks have the same addresses as
    /// variables.
    fn first_of_equals(&self, at: usize) -> usize {
        let address = self.all[at].address;
        let equals = (0..=at).rev().take_while(|&i| self.all[i].address == address);
        let is_mark = |name: &str| {
            name.starts_with("__start_") || name.starts_with("__end_") || name.starts_with("__pfx_")
        };
        equals.filter(|&i| !is_mark(&self.all[i].name)).last().unwrap_or(at)
    }

    fn end(&self, at: usize) -> u64 {
        let address = self.all[at].address;
        let mut behind = self.all[at..].iter().map(|symbol| symbol.address);
        behind.find(|&next| next > address).unwrap_or(address + 1)
    }
}

fn parse_line(line: &str) -> Option<Symbol> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?.chars().next()?;
    let name = words.next()?.to_owned();
    let module = words.next().map(|word| word.trim_matches(['[', ']']).to_owned());
    Some(Symbol { address, kind, name, module })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
0000000000000000 A __per_cpu_start
0000000000000000 A fixed_percpu_data
0000000000031c40 A runqueues
ffffffff81000000 T _stext
ffffffff81a0e620 T _raw_spin_lock
ffffffff81a0e650 T _raw_spin_unlock
ffffffff82a00000 D tasklist_lock
ffffffffc0000000 t init_it\t[truth]
";

    #[test]
    fn addresses_have_names_and_names_have_addresses() {
        let symbols = Symbols::parse(TEXT);
        assert!(!symbols.is_empty());
        assert_eq!(symbols.address("_raw_spin_lock"), Some(0xffff_ffff_81a0_e620));
        assert_eq!(
            symbols.range("_raw_spin_lock"),
            Some((0xffff_ffff_81a0_e620, 0xffff_ffff_81a0_e650))
        );
        let (symbol, distance) = symbols.find(0xffff_ffff_82a0_0008).expect("it is there");
        assert_eq!((symbol.name.as_str(), distance), ("tasklist_lock", 8));
        let (symbol, distance) = symbols.find_per_cpu(0x31c48).expect("it is there");
        assert_eq!((symbol.name.as_str(), distance), ("runqueues", 8));
        let (symbol, _) = symbols.find(0xffff_ffff_c000_0001).expect("it is there");
        assert_eq!(symbol.module.as_deref(), Some("truth"));
        assert!(symbols.find(0x31c48).is_none(), "an offset is no address");
    }

    #[test]
    fn hidden_addresses_are_none() {
        let hidden = "0000000000000000 T _stext\n0000000000000000 T _raw_spin_lock\n";
        assert!(Symbols::parse(hidden).is_empty());
        assert!(Symbols::parse("nothing\n\nof the kind").is_empty());
    }
}

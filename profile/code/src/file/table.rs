//! The symbols of a file, sorted by address: functions, and variables.

use object::{Object, ObjectSection, ObjectSymbol, ReadRef, SymbolKind};

/// A name for a range of addresses.
struct Symbol {
    start: u64,
    size: u64,
    /// The end of the symbol's section, beyond which the symbol can't reach.
    limit: u64,
    name: Box<str>,
}

/// Symbols of one kind, sorted by address.
#[derive(Default)]
pub struct Table {
    symbols: Vec<Symbol>,
}

impl Table {
    /// Reads the functions and the variables of a file, and whether the file was stripped.
    pub fn read<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> Tables {
        let mut tables = Tables::default();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let into = match symbol.kind() {
                SymbolKind::Text => &mut tables.functions,
                SymbolKind::Data => &mut tables.variables,
                _ => continue,
            };
            let Ok(name) = symbol.name() else { continue };
            if symbol.is_undefined() || name.is_empty() {
                continue;
            }
            let (start, size) = (symbol.address(), symbol.size());
            let section = symbol.section_index().and_then(|n| file.section_by_index(n).ok());
            let limit = section.map_or(u64::MAX, |s| s.address().saturating_add(s.size()));
            into.symbols.push(Symbol { start, size, limit, name: name.into() });
        }
        tables.complete = file.symbols().any(|symbol| symbol.kind() == SymbolKind::Text);
        tables.functions.sort();
        tables.variables.sort();
        tables
    }

    /// The symbol at an address, and the offset of the address in it; `None` if there is none.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let symbol = self.symbols[..after].last()?;
        let offset = address - symbol.start;
        // Functions written in assembly have no size. They end where the next symbol starts or
        // where their section ends, since the linkage table after `_init` is not part of `_init`.
        let covers = offset < symbol.size || symbol.size == 0 && address < symbol.limit;
        covers.then_some((&*symbol.name, offset))
    }

    /// The symbols that have a byte in `addresses`, in the order of their addresses.
    pub fn within(&self, addresses: std::ops::Range<u64>) -> impl Iterator<Item = &str> {
        let after = self.symbols.partition_point(|symbol| symbol.start < addresses.end);
        // Of the symbols that begin before the range, only the last one may reach into it, since
        // symbols seldom overlap.
        let before = self.symbols[..after].partition_point(|s| s.start < addresses.start);
        let reaching = &self.symbols[before.saturating_sub(1)..after];
        let overlaps =
            move |s: &&Symbol| s.start.saturating_add(s.size) > addresses.start && s.size > 0;
        reaching.iter().filter(overlaps).map(|symbol| &*symbol.name)
    }

    /// All symbols: start, size and name.
    pub fn all(&self) -> impl Iterator<Item = (u64, u64, &str)> {
        self.symbols.iter().map(|symbol| (symbol.start, symbol.size, &*symbol.name))
    }

    /// Sorts by address. If an address has several symbols, only one is kept: the one with the
    /// largest size, then the shortest name, then the first in the alphabet. The others are
    /// aliases, which would be equally right.
    fn sort(&mut self) {
        self.symbols.sort_by(|a, b| {
            (a.start, b.size, a.name.len(), &a.name).cmp(&(b.start, a.size, b.name.len(), &b.name))
        });
        self.symbols.dedup_by_key(|symbol| symbol.start);
    }
}

/// The symbols of a file.
#[derive(Default)]
pub struct Tables {
    /// Functions.
    pub functions: Table,
    /// Variables.
    pub variables: Table,
    /// Whether the file has functions in a symbol table other than the one for dynamic linking,
    /// which means that it was not stripped.
    pub complete: bool,
}

impl Tables {
    /// Whether there are no symbols at all.
    pub fn is_empty(&self) -> bool {
        self.functions.symbols.is_empty() && self.variables.symbols.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of the section of all these symbols.
    const LIMIT: u64 = 300;

    fn table(symbols: &[(u64, u64, &str)]) -> Table {
        let symbol = |&(start, size, name): &(u64, u64, &str)| Symbol {
            start,
            size,
            limit: LIMIT,
            name: name.into(),
        };
        let mut table = Table { symbols: symbols.iter().map(symbol).collect() };
        table.sort();
        table
    }

    #[test]
    fn an_address_belongs_to_the_symbol_that_covers_it() {
        let table = table(&[(200, 50, "b"), (100, 10, "a")]);
        assert_eq!(table.find(99), None);
        assert_eq!(table.find(100), Some(("a", 0)));
        assert_eq!(table.find(109), Some(("a", 9)));
        assert_eq!(table.find(110), None, "between the two");
        assert_eq!(table.find(249), Some(("b", 49)));
        assert_eq!(table.find(250), None);
    }

    #[test]
    fn a_range_contains_every_symbol_with_a_byte_in_it() {
        let table = table(&[(100, 10, "a"), (110, 0, "label"), (120, 50, "b"), (200, 8, "c")]);
        let within = |from, to| table.within(from..to).collect::<Vec<_>>();
        assert_eq!(within(64, 128), ["a", "b"]);
        assert_eq!(within(128, 192), ["b"], "its middle");
        assert_eq!(within(109, 110), ["a"]);
        assert!(within(170, 200).is_empty());
        assert_eq!(within(170, 201), ["c"]);
    }

    #[test]
    fn the_widest_then_the_shortest_alias_is_chosen() {
        let table = table(&[(100, 10, "long_name"), (100, 10, "name"), (100, 0, "label")]);
        assert_eq!(table.find(105), Some(("name", 5)));
    }

    #[test]
    fn symbols_without_size_reach_to_the_next_symbol() {
        let table = table(&[(100, 0, "assembly"), (200, 5, "b")]);
        assert_eq!(table.find(199), Some(("assembly", 99)));
        let last = self::table(&[(200, 0, "_init")]);
        assert_eq!(last.find(299), Some(("_init", 99)));
        assert_eq!(last.find(300), None, "its section ends there");
    }
}

//! The values of registers and words of memory, as far as the instructions determine them.
//!
//! Two registers or words hold the same value if they were computed in the same way (value
//! numbering): the arguments of `lock` and `unlock` are equal if they are the address of the same
//! variable, of the same field reached through the same pointer, and so on. Values that are plain
//! numbers are known, so branches on the result of the acquisition can be decided.

use std::collections::{BTreeSet, HashMap};

/// A value: a base plus a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// The base.
    pub base: Base,
    /// The number that is added to the base.
    pub offset: i64,
}

/// The base of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Base {
    /// Zero. The value is a number, or an address of the file.
    Nothing,
    /// The value of the stack pointer at the function's entry.
    Stack,
    /// Some address in the function's own stack, such as a pointer that walks over an array there.
    Array,
    /// The start of thread-local storage.
    Thread,
    /// A value that was computed or loaded, by its number.
    Some(u32),
}

impl Value {
    /// A number.
    pub fn number(number: i64) -> Value {
        Value { base: Base::Nothing, offset: number }
    }

    /// An address on the stack.
    pub fn stack(offset: i64) -> Value {
        Value { base: Base::Stack, offset }
    }

    /// An address in thread-local storage.
    pub fn thread(offset: i64) -> Value {
        Value { base: Base::Thread, offset }
    }

    /// The value as a number; `None` if it has another base.
    pub fn known(self) -> Option<i64> {
        (self.base == Base::Nothing).then_some(self.offset)
    }

    /// The value plus a number.
    pub fn plus(self, number: i64) -> Value {
        Value { base: self.base, offset: self.offset.wrapping_add(number) }
    }

    /// Whether the value is an address that other threads don't get: one on the function's own
    /// stack, or in thread-local storage.
    pub fn is_local(self) -> bool {
        matches!(self.base, Base::Stack | Base::Array | Base::Thread)
    }

    /// The value after two paths join, one with this value and one with `other`; `None` if it is
    /// not known.
    pub fn or(self, other: Value) -> Option<Value> {
        let on_stack = |value: Value| matches!(value.base, Base::Stack | Base::Array);
        match self == other {
            true => Some(self),
            false if on_stack(self) && on_stack(other) => {
                Some(Value { base: Base::Array, offset: 0 })
            }
            false => None,
        }
    }

    /// Whether two addresses are known to differ. Pointers from different sources are not, since
    /// they may be equal.
    pub fn differs(self, other: Value) -> bool {
        let unknown = |value: Value| matches!(value.base, Base::Some(_) | Base::Array);
        let same = self.base == other.base && self.base != Base::Array;
        self != other && (same || !(unknown(self) || unknown(other)))
    }
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The value of this register when the function begins.
    Entry(usize),
    /// The value was loaded from this address.
    Load(Value),
    /// The value was computed by this operation from these values.
    Computed(u32, Vec<Value>),
    /// The instruction at this address put the value into this register, in a way that is not
    /// followed.
    Made(u64, usize),
    /// Paths with different values join at this address.
    Joined(u64, Where),
}

/// A register or a word of memory that holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Where {
    /// A register.
    Register(usize),
    /// A word of memory.
    Memory(Value),
}

/// All values of a walk, numbered by their origins.
#[derive(Default)]
pub struct Values {
    numbers: HashMap<(bool, Origin), u32>,
    /// The origin of each value, by its number.
    origins: Vec<Origin>,
    /// Whether a value may differ between rounds of a loop, by the value's number.
    varying: Vec<bool>,
    /// Whether a value depends on memory that other threads can reach and that may change, by the
    /// value's number.
    shared: Vec<bool>,
    in_section: bool,
}

impl Values {
    /// Notes that the section begins: values that are joined or made from now on may vary in its
    /// loops.
    pub fn enter_section(&mut self) {
        self.in_section = true;
    }

    /// The value of an origin. Equal origins have equal values.
    pub fn of(&mut self, origin: Origin) -> Value {
        let own = matches!(origin, Origin::Made(..) | Origin::Joined(..));
        let varying = self.in_section && own
            || match &origin {
                Origin::Load(from) => self.varies(*from),
                Origin::Computed(_, inputs) => inputs.iter().any(|&input| self.varies(input)),
                _ => false,
            };
        let shared = match &origin {
            Origin::Load(from) => !from.is_local() || self.is_shared(*from),
            Origin::Computed(_, inputs) => inputs.iter().any(|&input| self.is_shared(input)),
            _ => false,
        };
        let next = self.varying.len() as u32;
        let key = (self.in_section && own, origin);
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.origins.push(key.1);
            self.varying.push(varying);
            self.shared.push(shared);
        }
        Value { base: Base::Some(number), offset: 0 }
    }

    /// Whether a value may differ between rounds of a loop of the section.
    pub fn varies(&self, value: Value) -> bool {
        matches!(value.base, Base::Some(number) if self.varying[number as usize])
    }

    /// Whether a value has the same base as `from`, or was computed or loaded from a value with
    /// that base.
    pub fn comes_from(&self, value: Value, from: Value) -> bool {
        // A value may occur many times among the inputs, so each value is visited only once.
        let mut seen = BTreeSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            let Base::Some(number) = value.base else { continue };
            if value.base == from.base {
                return true;
            }
            if !seen.insert(number) {
                continue;
            }
            match &self.origins[number as usize] {
                Origin::Load(address) => open.push(*address),
                Origin::Computed(_, inputs) => open.extend(inputs),
                _ => {}
            }
        }
        false
    }

    /// Whether a value depends on memory that other threads can reach.
    pub fn is_shared(&self, value: Value) -> bool {
        matches!(value.base, Base::Some(number) if self.shared[number as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_found_along_exponentially_many_paths() {
        let mut values = Values::default();
        let [first, other] = [1, 2].map(|register| values.of(Origin::Entry(register)));
        let mut value = values.of(Origin::Load(first));
        for step in 0..200 {
            // Each value has the one before it as an input twice, as in `x ^= x << 13`.
            value = values.of(Origin::Computed(step, vec![value, value.plus(1)]));
        }
        assert!(values.comes_from(value, first));
        assert!(!values.comes_from(value, other));
        assert!(!values.comes_from(first, value));
    }
}

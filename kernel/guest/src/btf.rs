//! The kernel's types, as `/sys/kernel/btf/vmlinux` describes them.
//!
//! Source: `Documentation/bpf/btf.rst` of the Linux kernel. The file has a header, then consecutive
//! types, which refer to each other by number, then their names. The parser keeps structures,
//! unions, arrays, aliases, the sizes of plain types, the types of variables, and the values of
//! enumerations.

use std::collections::HashMap;

/// All types of a kernel.
#[derive(Debug)]
pub struct Btf {
    types: Vec<Type>,
    by_name: HashMap<String, Vec<u32>>,
    values: HashMap<String, u64>,
    variables: HashMap<String, u32>,
}

#[derive(Debug)]
enum Type {
    /// A number, an enumeration or a pointer, with its size in bytes.
    Plain(u32),
    /// An array, with the number of its element type and its length.
    Array(u32, u32),
    /// A structure or union.
    Struct(String, u32, Vec<Member>),
    /// Another name for a type, a qualified type such as a `const` one, or a variable's type.
    Alias(u32),
    /// Any other type; none of these has a size here.
    Other,
}

#[derive(Debug)]
struct Member {
    name: String,
    kind: u32,
    /// Offset from the structure's start in bytes; for a bit field, that of the byte with its first
    /// bit.
    offset: u32,
}

/// The names of structures that are locks.
const LOCKS: [&str; 7] =
    ["spinlock", "raw_spinlock", "qspinlock", "qrwlock", "mutex", "rw_semaphore", "hlist_bl_head"];
/// The greatest depth of nested structures that is searched.
const DEPTH: usize = 16;

impl Btf {
    /// Parses the types; `None` if these bytes have another format or are cut short. Other damage
    /// may go unnoticed.
    pub fn parse(bytes: &[u8]) -> Option<Btf> {
        let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        if bytes.get(..2)? != [0x9f, 0xeb] {
            return None;
        }
        let header = word(4)? as usize;
        let part = |offset: usize, length: usize| {
            let start = header.checked_add(word(offset).unwrap_or(u32::MAX) as usize)?;
            bytes.get(start..start.checked_add(word(length)? as usize)?)
        };
        let (types, strings) = (part(8, 12)?, part(16, 20)?);
        let name = |at: u32| {
            let rest = strings.get(at as usize..).unwrap_or_default();
            let end = rest.iter().position(|&b| b == 0).unwrap_or(0);
            String::from_utf8_lossy(&rest[..end]).into_owned()
        };
        let mut btf = Btf {
            types: vec![Type::Other],
            by_name: HashMap::new(),
            values: HashMap::new(),
            variables: HashMap::new(),
        };
        let mut words = types.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        while let Some(first) = words.next() {
            let (info, size) = (words.next()?, words.next()?);
            let (kind, count, flag) = (info >> 24 & 31, info & 0xffff, info >> 31 != 0);
            let mut take = |n: u32| (0..n).map(|_| words.next()).collect::<Option<Vec<u32>>>();
            let read = match kind {
                1 => {
                    take(1)?; // an integer
                    Type::Plain(size)
                }
                2 => Type::Plain(8), // a pointer
                3 => {
                    let fields = take(3)?;
                    Type::Array(fields[0], fields[2])
                }
                4 | 5 => {
                    let fields = take(3 * count)?;
                    let members = fields.as_chunks::<3>().0.iter().map(|&[text, kind, offset]| {
                        let bits = if flag { offset & 0x00ff_ffff } else { offset };
                        Member { name: name(text), kind, offset: bits / 8 }
                    });
                    let members = members.collect();
                    Type::Struct(name(first), size, members)
                }
                6 => {
                    for pair in take(2 * count)?.as_chunks::<2>().0 {
                        btf.values.insert(name(pair[0]), pair[1].into());
                    }
                    Type::Plain(size)
                }
                8..=11 | 18 => Type::Alias(size),
                12 => Type::Other,
                13 => {
                    take(2 * count)?; // a function's type
                    Type::Other
                }
                14 => {
                    take(1)?; // a variable: only per-processor ones are described
                    btf.variables.insert(name(first), size);
                    Type::Alias(size)
                }
                15 => {
                    take(3 * count)?; // a section of data
                    Type::Other
                }
                16 => Type::Plain(size),
                17 => {
                    take(1)?; // a tag of a declaration
                    Type::Other
                }
                19 => {
                    for triple in take(3 * count)?.as_chunks::<3>().0 {
                        let value = u64::from(triple[2]) << 32 | u64::from(triple[1]);
                        btf.values.insert(name(triple[0]), value);
                    }
                    Type::Plain(size)
                }
                _ => Type::Other,
            };
            if let Type::Struct(text, ..) = &read {
                let number = btf.types.len() as u32;
                btf.by_name.entry(text.clone()).or_default().push(number);
            }
            btf.types.push(read);
        }
        Some(btf)
    }

    /// Offset in bytes of a member in a structure, such as of `thread.sp` in `task_struct`. Members
    /// of nested anonymous structures are found as in C.
    pub fn offset(&self, structure: &str, path: &str) -> Option<u64> {
        let mut at = *self.by_name.get(structure)?.first()?;
        let mut offset = 0;
        for name in path.split('.') {
            let (inside, kind) = self.member(at, name, 0)?;
            offset += u64::from(inside);
            at = kind;
        }
        Some(offset)
    }

    /// Size of a structure in bytes.
    pub fn size(&self, structure: &str) -> Option<u64> {
        self.size_of(*self.by_name.get(structure)?.first()?, 0)
    }

    /// The value of an enumerator.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.values.get(name).copied()
    }

    /// The path, such as `d_lockref.lock`, of the member at an offset of a structure; `None` if
    /// there is no such structure, or no plain member covers the offset. In a union, it is the
    /// first member that covers the offset.
    pub fn field(&self, structure: &str, offset: u64) -> Option<String> {
        let at = *self.by_name.get(structure)?.first()?;
        let mut path = String::new();
        self.path(at, offset, &mut path, 0)?;
        Some(path)
    }

    /// The path, such as `d_lockref.lock`, of the lock that begins at an offset of a structure;
    /// `None` if no lock begins there. In a union, it is the member that is a lock.
    pub fn lock(&self, structure: &str, offset: u64) -> Option<String> {
        let at = *self.by_name.get(structure)?.first()?;
        let mut path = String::new();
        self.lock_path(at, offset, &mut path, 0)?;
        Some(path)
    }

    /// Like [`Btf::field`], for a variable; the path begins with the name of its structure, as in
    /// `rq.__lock`. It is also `None` if the variable is a lock itself, or has no named structure.
    pub fn field_of_variable(&self, variable: &str, offset: u64) -> Option<String> {
        let mut at = *self.variables.get(variable)?;
        for _ in 0..DEPTH {
            match self.types.get(at as usize)? {
                Type::Alias(of) => at = *of,
                // A variable that is a lock goes by its own name.
                Type::Struct(name, ..) if LOCKS.contains(&name.as_str()) => return None,
                Type::Struct(name, ..) if !name.is_empty() => {
                    let mut path = String::new();
                    self.path(at, offset, &mut path, 0)?;
                    return Some(format!("{name}.{path}"));
                }
                _ => return None,
            }
        }
        None
    }

    fn lock_path(&self, at: u32, offset: u64, path: &mut String, depth: usize) -> Option<()> {
        if depth > DEPTH || offset >= self.size_of(at, 0)? {
            return None;
        }
        match self.types.get(at as usize)? {
            Type::Alias(of) => self.lock_path(*of, offset, path, depth + 1),
            Type::Array(of, _) => {
                let size = self.size_of(*of, 0)?.max(1);
                path.push_str("[]");
                self.lock_path(*of, offset % size, path, depth + 1)
            }
            Type::Struct(name, ..) if offset == 0 && LOCKS.contains(&name.as_str()) => Some(()),
            Type::Struct(_, _, members) => {
                let before = members.iter().filter(|m| u64::from(m.offset) <= offset);
                before.rev().find_map(|member| {
                    let length = path.len();
                    push(path, &member.name);
                    let inside = offset - u64::from(member.offset);
                    let found = self.lock_path(member.kind, inside, path, depth + 1);
                    if found.is_none() {
                        path.truncate(length);
                    }
                    found
                })
            }
            Type::Plain(_) | Type::Other => None,
        }
    }

    fn path(&self, at: u32, offset: u64, path: &mut String, depth: usize) -> Option<()> {
        if depth > DEPTH || offset >= self.size_of(at, 0)? {
            return None;
        }
        match self.types.get(at as usize)? {
            Type::Alias(of) => self.path(*of, offset, path, depth + 1),
            Type::Array(of, _) => {
                let size = self.size_of(*of, 0)?.max(1);
                path.push_str("[]");
                self.path(*of, offset % size, path, depth + 1)
            }
            Type::Struct(_, _, members) => {
                for member in members.iter().filter(|m| u64::from(m.offset) <= offset) {
                    let length = path.len();
                    push(path, &member.name);
                    let inside = offset - u64::from(member.offset);
                    if self.path(member.kind, inside, path, depth + 1).is_some() {
                        return Some(());
                    }
                    path.truncate(length);
                }
                None
            }
            Type::Plain(_) => Some(()),
            Type::Other => None,
        }
    }

    fn member(&self, at: u32, name: &str, depth: usize) -> Option<(u32, u32)> {
        if depth > DEPTH {
            return None;
        }
        match self.types.get(at as usize)? {
            Type::Alias(of) => self.member(*of, name, depth + 1),
            Type::Struct(_, _, members) => {
                let own = members.iter().find(|member| member.name == name);
                if let Some(member) = own {
                    return Some((member.offset, member.kind));
                }
                let nameless = members.iter().filter(|member| member.name.is_empty());
                nameless
                    .filter_map(|member| {
                        let (offset, kind) = self.member(member.kind, name, depth + 1)?;
                        Some((offset + member.offset, kind))
                    })
                    .next()
            }
            _ => None,
        }
    }

    fn size_of(&self, at: u32, depth: usize) -> Option<u64> {
        if depth > DEPTH {
            return None;
        }
        match self.types.get(at as usize)? {
            Type::Plain(size) | Type::Struct(_, size, _) => Some(u64::from(*size)),
            Type::Array(of, count) => self.size_of(*of, depth + 1)?.checked_mul(u64::from(*count)),
            Type::Alias(of) => self.size_of(*of, depth + 1),
            Type::Other => None,
        }
    }
}

/// Appends a member's name to a path; a member without a name adds nothing.
fn push(path: &mut String, name: &str) {
    if !name.is_empty() {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    }
}

#[cfg(test)]
mod tests;

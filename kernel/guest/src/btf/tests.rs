use super::*;

/// Types in the kernel's format, made by hand.
#[derive(Default)]
struct Made {
    types: Vec<u32>,
    strings: Vec<u8>,
}

impl Made {
    fn name(&mut self, text: &str) -> u32 {
        if self.strings.is_empty() {
            self.strings.push(0);
        }
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        if text.is_empty() { 0 } else { at }
    }

    fn integer(&mut self, name: &str, size: u32) {
        let name = self.name(name);
        self.types.extend([name, 1 << 24, size, 8 * size]);
    }

    /// `kind` is 4 for a structure and 5 for a union; members are names, types and offsets in bytes.
    fn structure(&mut self, kind: u32, name: &str, size: u32, members: &[(&str, u32, u32)]) {
        let name = self.name(name);
        self.types.extend([name, kind << 24 | members.len() as u32, size]);
        for &(name, of, offset) in members {
            let name = self.name(name);
            self.types.extend([name, of, 8 * offset]);
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let types: Vec<u8> = self.types.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let (length, text) = (types.len() as u32, self.strings.len() as u32);
        for word in [24, 0, length, length, text] {
            bytes.extend(u32::to_le_bytes(word));
        }
        bytes.extend(types);
        bytes.extend(&self.strings);
        bytes
    }
}

/// A directory entry, with a lock in a named union.
fn entry() -> Vec<u8> {
    let mut made = Made::default();
    made.integer("u32", 4); // 1
    made.integer("u64", 8); // 2
    made.structure(4, "spinlock", 4, &[("value", 1, 0)]); // 3
    made.structure(4, "", 8, &[("lock", 3, 0), ("count", 1, 4)]); // 4
    made.structure(5, "lockref", 8, &[("lock_count", 2, 0), ("", 4, 0)]); // 5
    made.structure(4, "dentry", 24, &[("d_flags", 1, 0), ("d_name", 2, 8), ("d_lockref", 5, 16)]);
    made.bytes()
}

#[test]
fn a_lock_in_a_union_is_found_by_its_type_and_a_field_by_its_place() {
    let btf = Btf::parse(&entry()).expect("it is well-formed");
    assert_eq!(btf.size("dentry"), Some(24));
    assert_eq!(btf.offset("dentry", "d_lockref.count"), Some(20));
    assert_eq!(btf.field("dentry", 16).as_deref(), Some("d_lockref.lock_count"));
    assert_eq!(btf.lock("dentry", 16).as_deref(), Some("d_lockref.lock"));
    assert_eq!(btf.lock("dentry", 8), None, "there is none");
    assert_eq!(btf.field("dentry", 24), None, "it ends there");
}

#[test]
fn damaged_types_are_refused_or_read_in_part_and_never_end_it() {
    let whole = entry();
    assert!(Btf::parse(&[]).is_none() && Btf::parse(b"no types").is_none());
    for length in 0..whole.len() {
        let _ = Btf::parse(&whole[..length]);
    }
    for at in 0..whole.len() {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            if let Some(btf) = Btf::parse(&bytes) {
                let _ = (btf.size("dentry"), btf.field("dentry", 16), btf.lock("dentry", 16));
            }
        }
    }
}

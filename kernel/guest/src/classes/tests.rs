use super::*;

const SYMBOLS: &str = "\
ffffffff82a00000 d in_lookup_hashtable
ffffffff82a02000 d one_bit
ffffffff82a02040 d dentry_hashtable
ffffffff82a02048 d d_hash_shift
";
/// 1024 chains at the start of the direct map's second megabyte.
const PLACES: &str = "cpu 0 ffff888007c00000\ndentries 8192 ffff888000100000\n";

/// Types with nothing in them.
fn no_types() -> Btf {
    let mut bytes = vec![0x9f, 0xeb, 1, 0];
    for word in [24, 0, 0, 0, 1] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.push(0);
    Btf::parse(&bytes).expect("the header is complete")
}

#[test]
fn all_chains_of_a_hash_table_are_one_class() {
    let classes = Classes::new(Symbols::parse(SYMBOLS), no_types(), "", PLACES);
    let bit = |address| classes.bit(address, None);
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(bit(0xffff_ffff_82a0_0000), name("in_lookup_hashtable[]"));
    assert_eq!(bit(0xffff_ffff_82a0_1ff8), name("in_lookup_hashtable[]"));
    assert_eq!(bit(0xffff_ffff_82a0_2001), name("one_bit+0x1"));
    for address in [0xffff_8880_0010_0000, 0xffff_8880_0010_1ff8] {
        assert_eq!(bit(address), name("dentry_hashtable[]"));
        assert_eq!(classes.class(address, None), name("dentry_hashtable[]"));
    }
    assert_eq!(bit(0xffff_8880_0010_2000), None);
    assert_eq!(classes.lock(0xffff_ffff_82a0_1ff8, None), name("in_lookup_hashtable+0x1ff8"));
}

use super::*;

const START: u64 = 0xffff_ffff_8100_0000;

/// `__d_rehash` of Debian's Linux 6.1, shortened.
const CHAIN: [&[u8]; 8] = [
    &[0xf0, 0x48, 0x0f, 0xba, 0x28, 0x00], // lock btsq $0, (%rax)
    &[0x72, 0x06],                         // jb busy
    &[0x48, 0x0f, 0xba, 0x30, 0x00],       // btrq $0, (%rax)
    &[0xc3],                               // ret
    &[0x65, 0xff, 0x0c, 0x25, 0x00, 0x01, 0x00, 0x00], // busy: decl %gs:0x100
    &[0x74, 0x02],                         // je, over the pause to the jmp
    &[0xf3, 0x90],                         // pause
    &[0xeb, 0xe4],                         // jmp to the start
];

fn of(parts: &[&[u8]]) -> Option<Attempt> {
    let code = parts.concat();
    let read = |address: u64| Some(code.get((address - START) as usize..)?.to_vec());
    let first = Decoder::with_ip(64, &code, START, DecoderOptions::NONE).decode();
    attempt(&first, read)
}

#[test]
fn an_attempt_is_known_by_the_pause_after_its_failure() {
    let (site, taken, busy) = (START + 6, START + 8, START + 14);
    assert_eq!(of(&CHAIN), Some(Attempt { byte: 0, bit: 0, site, taken, busy }));
    let mut other = CHAIN;
    // lock btsq $0x16, (%rdi); jae taken; then the failure follows.
    other[0] = &[0xf0, 0x48, 0x0f, 0xba, 0x2f, 0x16];
    (other[1], other[2], other[3]) = (&[0x73, 0x20], &[], &[]);
    let (taken, busy) = (START + 8 + 0x20, START + 8);
    assert_eq!(of(&other), Some(Attempt { byte: 2, bit: 6, site, taken, busy }));
}

#[test]
fn other_bits_that_are_set_are_no_locks() {
    let changed = |at: usize, bytes: &'static [u8]| {
        let mut parts = CHAIN;
        parts[at] = bytes;
        of(&parts)
    };
    let no_pause = changed(6, &[0x90, 0xc3]);
    let not_atomic = changed(0, &[0x48, 0x0f, 0xba, 0x28, 0x00]);
    let by_register = changed(0, &[0xf0, 0x48, 0x0f, 0xab, 0x10, 0x90]);
    let other_jump = changed(1, &[0x74, 0x06]);
    let call_first = changed(4, &[0xe8, 0, 0, 0, 0, 0x90, 0x90, 0x90]);
    for found in [no_pause, not_atomic, by_register, other_jump, call_first, of(&CHAIN[..2])] {
        assert_eq!(found, None);
    }
}

#[test]
fn an_instruction_clears_the_bit_that_it_names() {
    for (bytes, bit) in [
        (&[0x48, 0x0f, 0xba, 0x30, 0x00][..], Some(0)), // btrq $0, (%rax)
        (&[0xf0, 0x48, 0x0f, 0xba, 0x37, 0x09], Some(9)), // lock btrq $9, (%rdi)
        (&[0xf0, 0x80, 0x63, 0x02, 0xbf], Some(6)),     // lock andb $0xbf, 2(%rbx)
        (&[0x81, 0x27, 0xff, 0xff, 0xff, 0xef], Some(28)), // andl $0xefffffff, (%rdi)
        (&[0x48, 0x83, 0x27, 0xfe], Some(0)),           // andq $-2, (%rdi)
        (&[0x83, 0x27, 0xfc], None),                    // andl $-4, (%rdi)
        (&[0x48, 0x21, 0x07], None),                    // and %rax, (%rdi)
        (&[0x48, 0x83, 0xe0, 0xfe], None),              // and $-2, %rax
        (&[0x48, 0x0f, 0xba, 0x28, 0x00], None),        // btsq $0, (%rax)
    ] {
        let insn = Decoder::with_ip(64, bytes, START, DecoderOptions::NONE).decode();
        assert_eq!(cleared(&insn), bit, "{bytes:x?}");
    }
}

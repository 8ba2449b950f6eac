use super::*;

/// A trylock as Debian's Linux 6.1 has it: `lock cmpxchg %edx,(%rdi); je +2; ret; int3; ret`.
#[test]
fn a_try_tells_its_lock_and_where_it_has_succeeded() {
    let start = 0xffff_ffff_8100_0000;
    let mut plan = Plan::default();
    plan.add("spin.try", (start, start + 0x20));
    let code = Code::new(&plan);
    let bytes: [&[u8]; 3] = [&[0xf0, 0x0f, 0xb1, 0x17], &[0x74, 0x02], &[0xc3]];
    let at = [start + 4, start + 8, start + 10];
    let block = at.into_iter().zip(bytes);
    let meanings = code.meanings(block, &|_| None, &mut InstructionInfoFactory::new());
    let role = Role { kind: Kind::Spin, shared: false, action: Action::Try };
    assert_eq!(meanings[0].mem, Some(Mem::Word(role)));
    assert_eq!(meanings[1].proof, Some((start + 12, role)));
    assert_eq!(meanings[2].exec[0], Some(Exec::Done(role)));
}

/// A chain's lock as Debian's Linux 6.1 takes and releases it.
#[test]
fn a_bit_that_is_waited_for_is_attempted_and_then_cleared() {
    let start = 0xffff_ffff_8100_0000;
    let code = Code::new(&Plan::default());
    let attempt: &[u8] = &[0xf0, 0x48, 0x0f, 0xba, 0x28, 0x00]; // lock btsq $0, (%rax)
    let clear: &[u8] = &[0x48, 0x0f, 0xba, 0x30, 0x00]; // btrq $0, (%rax)
    let atomic: &[u8] = &[0xf0, 0x80, 0x63, 0x02, 0xbf]; // lock andb $0xbf, 2(%rbx)
    let of_processor: &[u8] = &[0x65, 0x48, 0x0f, 0xba, 0x30, 0x00]; // btrq $0, %gs:(%rax)
    let behind = [0x72, 0x01, 0xc3, 0xf3, 0x90]; // jb to the pause
    let read = |address: u64| Some(behind[(address - start - 6) as usize..].to_vec());
    let block = [(start, attempt), (0, clear), (0, atomic), (0, of_processor)];
    let meanings = code.meanings(block.into_iter(), &read, &mut InstructionInfoFactory::new());
    let (site, taken, busy) = (start + 6, start + 8, start + 9);
    let expected = Attempt { byte: 0, bit: 0, site, taken, busy };
    assert_eq!(meanings[0].mem, Some(Mem::Attempt(expected)));
    assert_eq!(meanings[1].mem, Some(Mem::Clear { bit: 0, atomic: false }));
    assert_eq!(meanings[2].mem, Some(Mem::Clear { bit: 6, atomic: true }));
    assert_eq!(meanings[3].mem, None);
}

/// The end of `mutex_lock_io` as Debian's Linux 6.1 has it: `lock cmpxchg %rdx,(%rbx); jne +9;
/// mov %ebp,%edi; pop %rbx; pop %rbp; jmp io_schedule_finish`.
#[test]
fn a_lock_function_that_ends_with_a_jump_to_another_function_has_the_lock_then() {
    let (start, slow) = (0xffff_ffff_8100_0000, 0xffff_ffff_8100_0100);
    let mut plan = Plan::default();
    plan.add("mutex.lock", (start, start + 0x50));
    plan.add("mutex.slow", (slow, slow + 0x10));
    let code = Code::new(&plan);
    let role = Role { kind: Kind::Mutex, shared: false, action: Action::Lock };
    let exchange: &[u8] = &[0xf0, 0x48, 0x0f, 0xb1, 0x13];
    let jump = |to: u64| {
        let distance = (to as i64 - (start + 0x2c) as i64 - 5) as i32;
        [&[0xe9][..], &distance.to_le_bytes()].concat()
    };
    let meanings = |to: u64| {
        let jump = jump(to);
        let block: [(u64, &[u8]); 5] = [
            (start + 0x21, exchange),
            (start + 0x26, &[0x75, 0x09]),
            (start + 0x28, &[0x89, 0xef]),
            (start + 0x2a, &[0x5b]),
            (start + 0x2c, &jump),
        ];
        code.meanings(block.into_iter(), &|_| None, &mut InstructionInfoFactory::new())
    };
    let elsewhere = meanings(start - 0x93c700);
    assert_eq!(elsewhere[0].mem, Some(Mem::Word(role)));
    assert_eq!(elsewhere[1].exec[0], None, "the function goes on");
    assert_eq!(elsewhere[4].exec[0], Some(Exec::Done(role)));
    for inside in [start + 0x20, slow] {
        assert_eq!(meanings(inside)[4].exec[0], None, "{inside:x}");
    }
}

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

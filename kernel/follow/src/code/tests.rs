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

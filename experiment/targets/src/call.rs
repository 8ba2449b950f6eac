//! The call site of a stack, by name and by address in a file.

use syncline_analysis::model::Process;

/// The call site of a stack, and the address of its call: `file+0xaddress`. `None` if the stack has
/// no call site, or the call is in no known file.
pub fn call_of(process: &Process, stack: usize) -> Option<(String, String)> {
    let stack = &process.stacks[stack];
    let frame = stack.place?;
    let mut before = 0;
    let (at, _) = stack.addresses.iter().zip(&stack.frames_at).find(|&(_, &count)| {
        before += count;
        stack.frames[..before].contains(&frame)
    })?;
    let call = at - 1;
    let module = process.modules.iter().find(|m| (m.start..m.end).contains(&call))?;
    let offset = format!("{}+{:#x}", module.name(), call.wrapping_sub(module.bias));
    Some((process.frames[frame].place(), offset))
}

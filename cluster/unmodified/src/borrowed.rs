//! Memory of this rank alone that a system call at rank 0 needs: a library's variables, or a constant
//! of a library. Rank 0 has other memory at the same address. So the call gets a copy in global
//! memory, and what the call has changed is copied back.

use std::ptr::NonNull;

use crate::call::Call;
use crate::data;
use crate::system;
use crate::words::program;

/// Libraries, and what the system places by itself, lie above this address. The program lies below,
/// and so do all sizes and positions in files.
const LIBRARIES: usize = 0x7000_0000_0000;
const END: usize = 0x8000_0000_0000;
/// How much of the memory at an address is copied, unless the call says how much it needs.
const USUAL: usize = 4096;

/// A copy of the memory that an argument points to.
pub struct Borrowed {
    original: usize,
    block: NonNull<u8>,
    /// The bytes as they were before the call.
    before: Vec<u8>,
}

/// Replaces the arguments that point to memory of this rank by pointers to copies.
pub fn borrow(call: &mut Call) -> [Option<Borrowed>; 6] {
    let moved = data::moved(*call);
    std::array::from_fn(|number| {
        let original = call.arguments[number];
        if !(LIBRARIES..END).contains(&original) {
            return None;
        }
        let bytes = match moved {
            Some((at, bytes)) if at == number => bytes,
            _ => USUAL,
        };
        let before = read(original, bytes);
        // Without memory, the call gets an address at which it fails.
        let block = program().memory.allocate(before.len().max(1)).ok()?;
        call.arguments[number] = block.addr().get();
        // SAFETY: the block has this size, and is new.
        unsafe { block.as_ptr().copy_from_nonoverlapping(before.as_ptr(), before.len()) };
        Some(Borrowed { original, block, before })
    })
}

impl Borrowed {
    /// Copies back what the call has changed. Other bytes may have been changed by other threads.
    pub fn give_back(self) {
        for (number, before) in self.before.iter().enumerate() {
            // SAFETY: within the block, and within what was read at the original address.
            unsafe {
                let now = self.block.add(number).read();
                if now != *before {
                    (self.original as *mut u8).add(number).write(now);
                }
            }
        }
        // SAFETY: the call is over, and its fence has passed.
        unsafe { program().memory.free(self.block, self.before.len().max(1)) };
    }
}

/// Reads memory of this process as far as it is mapped.
fn read(at: usize, bytes: usize) -> Vec<u8> {
    let mut copy = vec![0; bytes];
    let mut done = 0;
    while done < bytes {
        // The call reads no part of a piece, so each piece ends with a page.
        let piece = (4096 - (at + done) % 4096).min(bytes - done);
        let (to, from) = ([copy[done..].as_mut_ptr().addr(), piece], [at + done, piece]);
        // SAFETY: the kernel checks the addresses; it writes into the copy.
        let read = unsafe {
            let process = system::direct(libc::SYS_getpid, [0; 6]) as usize;
            let arguments = [process, (&raw const to).addr(), 1, (&raw const from).addr(), 1, 0];
            system::direct(libc::SYS_process_vm_readv, arguments)
        };
        if read <= 0 {
            break;
        }
        done += read as usize;
    }
    copy.truncate(done);
    copy
}

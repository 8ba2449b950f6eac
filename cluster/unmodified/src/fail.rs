//! What can't work on ranks ends the program, with a message that names it.

use syncline_dsm::program::REFUSED;

use crate::system;

/// Ends the program, because it can't run on ranks.
pub fn cannot(why: &str) -> ! {
    say(&[b"the program can't run on ranks: ", why.as_bytes()]);
    end()
}

/// Ends the program, because it does something that can't work on ranks.
pub fn refuse(what: &str) -> ! {
    say(&[
        b"the program calls ",
        what.as_bytes(),
        b", which can't work on ranks (docs/dsm.md, What can't run)",
    ]);
    end()
}

/// The command ends the other ranks.
fn end() -> ! {
    system::exit(REFUSED as usize)
}

/// Prints a line on standard error.
pub fn say(text: &[&[u8]]) {
    let mut line = [0_u8; 512];
    let mut length = 0;
    let parts = [b"syncline: ".as_slice()]
        .into_iter()
        .chain(text.iter().copied())
        .chain([b"\n".as_slice()]);
    for part in parts {
        let part = &part[..part.len().min(line.len() - length)];
        line[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    let arguments = [2, line.as_ptr().cast::<u8>().addr(), length, 0, 0, 0];
    // SAFETY: writes our own bytes. An error is ignored: standard error may be closed.
    unsafe { system::direct(libc::SYS_write, arguments) };
}

//! Runs a load in several processes.

use std::io;

/// Runs this many processes, and waits for all of them, unless one can't be started.
pub fn processes(count: usize, work: &dyn Fn(usize) -> io::Result<()>) -> Result<(), String> {
    let mut children = Vec::new();
    for number in 0..count {
        // SAFETY: this process has one thread, so its child may call any function.
        match unsafe { libc::fork() } {
            -1 => return Err(format!("fork: {}", io::Error::last_os_error())),
            0 => {
                let failed = work(number).is_err();
                // SAFETY: ends this process and does nothing else.
                unsafe { libc::_exit(failed.into()) };
            }
            child => children.push(child),
        }
    }
    let mut failed = 0;
    for child in children {
        let mut status = 0;
        // SAFETY: the status is this function's own.
        unsafe { libc::waitpid(child, &mut status, 0) };
        failed += u32::from(status != 0);
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of the load's processes failed")) }
}

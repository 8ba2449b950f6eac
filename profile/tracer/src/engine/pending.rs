//! A system call that a section has made, until it is known what it did.

/// A system call that has been made.
#[derive(Clone, Copy)]
pub struct Pending {
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// When it was made, in the thread's own time.
    pub made: Option<u64>,
}

impl Pending {
    /// Whether code may be writable behind it that was not before.
    pub fn frees_code(&self) -> bool {
        let Pending { number, arguments, .. } = *self;
        let rights = (libc::PROT_WRITE | libc::PROT_EXEC) as u64;
        let protects = [libc::SYS_mprotect, libc::SYS_pkey_mprotect].contains(&(number as i64));
        protects && arguments[2] & rights == rights
    }
}

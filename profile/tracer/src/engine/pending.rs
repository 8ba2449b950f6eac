//! A system call that a traced section has made and that has not returned yet.

/// A system call that has been made.
#[derive(Clone, Copy)]
pub struct Pending {
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// The thread's processor time when the call was made, in nanoseconds; `None` if the section's
    /// cost is not measured.
    pub made: Option<u64>,
}

impl Pending {
    /// Whether the call asks for memory that is both writable and executable, so that code which
    /// could not change until now may change afterwards.
    pub fn frees_code(&self) -> bool {
        let Pending { number, arguments, .. } = *self;
        let rights = (libc::PROT_WRITE | libc::PROT_EXEC) as u64;
        let protects = [libc::SYS_mprotect, libc::SYS_pkey_mprotect].contains(&(number as i64));
        protects && arguments[2] & rights == rights
    }
}

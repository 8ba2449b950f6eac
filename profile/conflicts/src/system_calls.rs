//! Which system calls do input or output, and the names of system calls.

/// System calls that do input or output on a file, a socket, a terminal or a device. Their order
/// has effects outside of memory, so sections that make them may depend on each other even if they
/// share no byte.
const IO: [u32; 38] = [
    0,   // read
    1,   // write
    2,   // open
    3,   // close
    8,   // lseek
    16,  // ioctl
    17,  // pread64
    18,  // pwrite64
    19,  // readv
    20,  // writev
    32,  // dup
    33,  // dup2
    40,  // sendfile
    41,  // socket
    42,  // connect
    43,  // accept
    44,  // sendto
    45,  // recvfrom
    46,  // sendmsg
    47,  // recvmsg
    74,  // fsync
    75,  // fdatasync
    76,  // truncate
    77,  // ftruncate
    82,  // rename
    83,  // mkdir
    87,  // unlink
    257, // openat
    263, // unlinkat
    275, // splice
    288, // accept4
    295, // preadv
    296, // pwritev
    299, // recvmmsg
    307, // sendmmsg
    316, // renameat2
    326, // copy_file_range
    426, // io_uring_enter
];

/// Whether a system call of x86-64 Linux does input or output.
pub fn is_io(number: u32) -> bool {
    IO.binary_search(&number).is_ok()
}

/// The name of a system call. Only calls that critical sections often make have their name here;
/// for others, the result is a text with the number.
pub fn name(number: u32) -> String {
    let known = match number {
        0 => "read",
        1 => "write",
        2 => "open",
        3 => "close",
        5 => "fstat",
        7 => "poll",
        8 => "lseek",
        9 => "mmap",
        10 => "mprotect",
        11 => "munmap",
        12 => "brk",
        14 => "rt_sigprocmask",
        16 => "ioctl",
        17 => "pread64",
        18 => "pwrite64",
        19 => "readv",
        20 => "writev",
        24 => "sched_yield",
        28 => "madvise",
        35 => "nanosleep",
        39 => "getpid",
        44 => "sendto",
        45 => "recvfrom",
        46 => "sendmsg",
        47 => "recvmsg",
        56 => "clone",
        74 => "fsync",
        75 => "fdatasync",
        186 => "gettid",
        202 => "futex",
        228 => "clock_gettime",
        230 => "clock_nanosleep",
        232 => "epoll_wait",
        233 => "epoll_ctl",
        257 => "openat",
        318 => "getrandom",
        435 => "clone3",
        _ => return format!("system call {number}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_io_list_is_sorted_and_excludes_waiting() {
        assert!(IO.is_sorted());
        assert!(is_io(1) && is_io(426));
        assert!(!is_io(202), "a futex is no device");
        assert_eq!(name(1), "write");
        assert_eq!(name(9999), "system call 9999");
    }
}

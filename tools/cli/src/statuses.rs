//! The texts about exit statuses in `--help`. Most commands list their own statuses, and `syncline
//! --help` lists those of all commands except `cluster` and `kernel`.

macro_rules! running {
    () => {
        "  the program's own (0 with `record -p`), or 128 + N if signal N ended it, or:\n  \
         125  Syncline failed, or the disk was full and the recording is incomplete\n  \
         126  the program can't be run, or can't be recorded\n  \
         127  the program, its loader or the process was not found\n"
    };
}

macro_rules! comparing {
    () => {
        "  0    done\n  \
         125  Syncline failed, or the unmodified program did\n  \
         126  the program can't be run, or no library can be preloaded into it\n  \
         127  the program was not found\n"
    };
}

macro_rules! recorded {
    () => {
        "  1    with --from: the recording can't be read\n"
    };
}

macro_rules! reading {
    () => {
        "  0    done\n  \
         1    the recording can't be read, the output can't be written, or the machine\n       \
         can't be measured\n"
    };
}

macro_rules! attaching {
    () => {
        "  125  `top -p`: Syncline failed\n  \
         126  `top -p`: the process can't be recorded\n  \
         127  `top -p`: there is no such process\n"
    };
}

macro_rules! wrong {
    () => {
        "  2    the command line is wrong"
    };
}

/// For `record`, `exec` and `mpi`, which pass the program's exit status on.
pub const RUNNING: &str = concat!("Exit status:\n", running!(), wrong!());
/// For `cluster`, which runs several processes at the same time.
pub const CLUSTER: &str = concat!(
    "Exit status:\n",
    "  that of the first rank that failed, or 0 if none did, or:\n  \
     3    a signal ended that rank; it ended between syncline_dsm_init and\n       \
     syncline_dsm_finish; or it ended with status 0 and had not joined the\n       \
     shared memory that others had joined\n  \
     4    with --unmodified: the program does what can't work on ranks\n  \
     5    with --check: the program succeeded, and has data races\n",
    "  125  Syncline failed, or there was too little memory\n  126  the program can't be run\n  127  \
     the program was not found\n",
    wrong!()
);
/// For `kernel`.
pub const KERNEL: &str = concat!(
    "Exit status:\n",
    "  0    done\n  \
     1    the kernel can't be run, its load failed, the disk was full, or the recording\n       \
     can't be read or contradicts itself\n",
    wrong!()
);
/// For `inspect`, which runs a program or reads a trace.
pub const INSPECTING: &str = concat!(
    "Exit status:\n",
    running!(),
    "  1    the trace can't be read, or the report can't be written\n",
    wrong!()
);
/// For `try`, which runs the program unchanged and changed, and compares.
pub const TRYING: &str = concat!("Exit status:\n", comparing!(), wrong!());
/// For `tune` and `whatif`, which compare too, and can begin with a recording.
pub const COMPARING: &str = concat!("Exit status:\n", comparing!(), recorded!(), wrong!());
/// For commands that read a recording or measure the machine.
pub const READING: &str = concat!("Exit status:\n", reading!(), wrong!());
/// For `top`, which reads a recording or attaches to a process.
pub const TOP: &str = concat!("Exit status:\n", reading!(), attaching!(), wrong!());
/// For all commands except `cluster` and `kernel`.
pub const ALL: &str = concat!(
    "Exit status of `record`, `inspect`, `exec` and `mpi`:\n",
    running!(),
    "  1    `inspect`: the trace can't be read, or the report can't be written\n",
    "Exit status of `try`, `tune` and `whatif`:\n",
    comparing!(),
    "  1    `tune` and `whatif` with --from: the recording can't be read\n",
    "Exit status of `cluster` and `kernel`: see their `--help`\n",
    "Exit status of the other commands:\n",
    reading!(),
    attaching!(),
    "Exit status of all commands:\n",
    wrong!()
);

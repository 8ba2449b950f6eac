//! What `--help` says of exit statuses: of each command its own, and `syncline --help` of all.

macro_rules! running {
    () => {
        "  that of the program, or 128 + N if signal N ended it; and where it was not run, or not all of \
         it\n  was recorded:\n  \
         125  Syncline failed, or the disk was full\n  \
         126  the program can't be run, or can't be recorded\n  \
         127  the program was not found\n"
    };
}

macro_rules! comparing {
    () => {
        "  0    done\n  \
         125  Syncline failed, or the program did as it is\n  \
         126  the program can't be run, or no library can be preloaded into it\n  \
         127  the program was not found\n  \
         1    the recording can't be read\n"
    };
}

macro_rules! reading {
    () => {
        "  0    done\n  \
         1    the recording can't be read, the report can't be written, or nothing can be measured\n"
    };
}

macro_rules! wrong {
    () => {
        "  2    the command line is wrong"
    };
}

/// Of a command that runs the program once.
pub const RUNNING: &str = concat!("Exit status:\n", running!(), wrong!());
/// Of `cluster`, which runs several at once.
pub const CLUSTER: &str = concat!(
    "Exit status:\n",
    "  that of the program: of the ranks that failed, the first's\n  3    a rank died, or ended before \
     the others, or could not join them\n",
    "  125  Syncline failed, or there was not so much memory\n  126  the program can't be run\n  127  \
     the program was not found\n",
    wrong!()
);
/// Of `kernel`.
pub const KERNEL: &str = concat!(
    "Exit status:\n",
    "  0    done\n  \
     1    the kernel could not be run, its load failed, the recording can't be read, or it \
     contradicts itself\n",
    wrong!()
);
/// Of `inspect`, which also reads.
pub const INSPECTING: &str = concat!(
    "Exit status:\n",
    running!(),
    "  1    with --read: the trace can't be read, or the report can't be written\n",
    wrong!()
);
/// Of a command that runs the program as it is and changed.
pub const COMPARING: &str = concat!("Exit status:\n", comparing!(), wrong!());
/// Of a command that reads a recording, or measures the machine.
pub const READING: &str = concat!("Exit status:\n", reading!(), wrong!());
/// Of all.
pub const ALL: &str = concat!(
    "Exit status of `record`, `inspect`, `exec` and `mpi`:\n",
    running!(),
    "Exit status of `try`, `tune` and `whatif`:\n",
    comparing!(),
    "Exit status of `cluster` and `kernel`: see their `--help`\n",
    "Exit status of the other commands:\n",
    reading!(),
    "Exit status of all:\n",
    wrong!()
);

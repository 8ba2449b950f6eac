//! Recording must not change anything that the process can notice. At call sites that the recorder
//! knows already, it must make no system calls.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use syncline_conformance::{
    Case, Program, delay_library, inspect_library, preload_library, replace_library,
};

#[test]
fn recording_leaves_the_process_unchanged() {
    Case::new(&Program::compile_with("footprint.c", &["-lm"])).exact();
}

/// The kernel kills the program at any system call of its thread except write and exit.
#[test]
fn known_call_sites_need_no_system_call() {
    Case::new(&Program::compile("sandbox.c")).exact();
}

/// The functions and variables that the libraries of `record`, `inspect`, `exec` and `whatif` may
/// take from other libraries, and why they may. The program can replace all of these, so a function
/// must be examined before it is added here: it must not take a lock, allocate, call the loader, or
/// call the program. System calls bypass the program (`go_around`), and functions that the
/// libraries interpose are looked up (`real!`).
const BY_ALL: &[(&str, &str)] = &[
    (
        "__errno_location memcpy memmove memset bcmp strlen",
        "touches memory only, and the compiler calls it by itself",
    ),
    ("_r_debug __cxa_finalize __gmon_start__", "the loader's list, and what every library has"),
    ("_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable", "what every library has"),
    (
        "_Unwind_Backtrace _Unwind_GetDataRelBase _Unwind_GetIP _Unwind_GetIPInfo \
         _Unwind_GetLanguageSpecificData _Unwind_GetRegionStart _Unwind_GetTextRelBase \
         _Unwind_RaiseException _Unwind_Resume _Unwind_SetGR _Unwind_SetIP __cxa_thread_atexit_impl \
         __tls_get_addr abort dl_iterate_phdr free getcwd getenv malloc pthread_key_create \
         pthread_key_delete pthread_setspecific realloc realpath",
        "the standard library's, for a panic, which ends the program",
    ),
    ("getauxval environ", "reads what the kernel has passed to the process"),
    (
        "__pthread_mutex_lock __pthread_mutex_trylock __pthread_mutex_unlock",
        "the function that the program meant, by a name of the C library's own",
    ),
];
const BY_RECORDER: &[(&str, &str)] = &[("__libc_stack_end", "a variable of the loader's")];
const BY_INSPECTOR: &[(&str, &str)] = &[
    ("__register_atfork", "called once, when the program starts"),
    ("clock_gettime", "reads the kernel's page"),
    ("syscall", "makes a system call; the recorder stands in front of it, and passes it on"),
];
const BY_REPLACER: &[(&str, &str)] = &[
    ("_Unwind_GetCFA", "reads what the unwinder has worked out"),
    ("_pthread_cleanup_pop _pthread_cleanup_push pthread_setcanceltype", "of this thread only"),
    (
        "calloc posix_memalign memcmp sched_getaffinity sched_setaffinity",
        "when the program starts: the groups of processors, and where threads run",
    ),
    ("clock_gettime sched_getcpu", "reads the kernel's page"),
    ("syscall", "makes a system call; the recorder stands in front of it, and passes it on"),
];
const BY_DELAYER: &[(&str, &str)] = &[
    ("_Unwind_GetCFA", "reads what the unwinder has worked out"),
    ("calloc posix_memalign", "the standard library's, for a panic, which ends the program"),
    ("syscall", "the standard library's, for a panic as well"),
];

/// The symbols that a library takes from other libraries.
fn undefined(library: &Path) -> BTreeSet<String> {
    let listing = Command::new("nm").args(["-D", "--undefined-only"]).arg(library).output();
    let listing = listing.expect("nm");
    assert!(listing.status.success(), "nm of {}", library.display());
    let text = String::from_utf8_lossy(&listing.stdout).into_owned();
    let name = |line: &str| line.split_whitespace().last()?.split('@').next().map(str::to_owned);
    text.lines().filter_map(name).collect()
}

#[test]
fn libraries_call_only_reviewed_functions() {
    let libraries = [
        (preload_library(), BY_RECORDER),
        (inspect_library(), BY_INSPECTOR),
        (replace_library(), BY_REPLACER),
        (delay_library(), BY_DELAYER),
    ];
    for (library, of_its_own) in libraries {
        let lists = BY_ALL.iter().chain(of_its_own);
        let known: BTreeSet<&str> = lists.flat_map(|(names, _)| names.split_whitespace()).collect();
        let undefined = undefined(&library);
        let new: Vec<_> = undefined.iter().filter(|name| !known.contains(name.as_str())).collect();
        assert!(new.is_empty(), "{} calls {new:?}: see BY_ALL", library.display());
        assert!(undefined.contains("__errno_location"), "nm shows what there is");
    }
}

//! The plugin that QEMU loads, and its arguments.
//!
//! ```text
//!  translate   attaches callbacks to the guest's instructions, by their meaning
//!    cpu       one for each virtual processor: its task, levels, locks
//!    writer    a thread that writes the trace
//!    ledger    the locks' holders on all processors, and the order of the processors' clocks
//!    together  keeps the processors together
//!    memory    the kernel's own view of memory
//!    ram       the guest's memory in this process
//!    export    takes files from the guest
//!    qemu      QEMU's interface
//! ```
//!
//! Arguments: `out=FOLDER` for the output, `trace=FOLDER` if the trace goes elsewhere, `plan=FILE`
//! for the plan of the kernel; without a plan the plugin only takes files from the guest. With
//! `quantum=N`, a processor that is more than N instructions ahead of the slowest busy one waits
//! for it, a millisecond at most. `size=N` limits the trace, in bytes.

mod cpu;
mod export;
mod ledger;
mod memory;
mod qemu;
mod ram;
mod together;
mod translate;
mod writer;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::OnceLock;

use syncline_kernel_follow::code::Code;
use syncline_kernel_follow::plan::Plan;

use memory::Memory;
use qemu::{Id, Info};

/// The version of QEMU's interface that this plugin is written for.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "QEMU looks for this name")]
pub static qemu_plugin_version: c_int = 1;

/// The size limit of a trace without the argument `size`, in bytes.
const LARGEST: u64 = 4 << 30;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Entry of the plugin, which QEMU calls after loading it.
///
/// # Safety
/// Called by QEMU, as its interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    count: c_int,
    words: *const *const c_char,
) -> c_int {
    // SAFETY: the system is QEMU's own structure, and there are this many strings.
    let (system, words) = unsafe {
        let words = (0..count as usize).map(|at| CStr::from_ptr(*words.add(at)));
        let words = words.map(|word| word.to_string_lossy().into_owned());
        ((*info).system, words.collect::<Vec<String>>())
    };
    match install(id, system, &words) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("syncline's plugin: {why}");
            1
        }
    }
}

/// The kernel's memory.
fn memory(plan: &Plan) -> Result<Memory, String> {
    let ram = ram::ram().ok_or("QEMU runs without memory-backend-memfd,share=on")?;
    Memory::new(plan, ram)
        .ok_or_else(|| "the plan lacks what finds the kernel's allocations".to_owned())
}

fn install(id: Id, system: bool, words: &[String]) -> Result<(), String> {
    if !system {
        return Err("this plugin follows a kernel, but this QEMU emulates a single program: load \
                    the plugin into qemu-system-x86_64, as `syncline kernel` does"
            .to_owned());
    }
    let value = |name: &str| words.iter().find_map(|w| w.strip_prefix(name)?.strip_prefix('='));
    let number = |name: &str| value(name).and_then(|word| word.parse::<u64>().ok());
    let folder = Path::new(value("out").ok_or("it needs out=FOLDER")?);
    export::into(folder.to_owned());
    let _ = FOLDER.set(folder.to_owned());
    if let Some(path) = value("plan") {
        let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let plan =
            Plan::parse(&text).ok_or("the plan was written by another version of Syncline")?;
        cpu::prepare(&plan, memory(&plan)?)?;
        let trace = value("trace").map_or(folder, Path::new);
        writer::start(trace, folder, number("size").unwrap_or(LARGEST), memory(&plan)?)?;
        translate::follow(Code::new(&plan));
        together::set_quantum(number("quantum").unwrap_or(0));
    }
    // SAFETY: QEMU gave the number, and calls back from its own threads.
    unsafe {
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, translate::on_translation);
        if value("plan").is_some() {
            qemu::qemu_plugin_register_vcpu_idle_cb(id, cpu::callbacks::on_idle);
            qemu::qemu_plugin_register_vcpu_resume_cb(id, cpu::callbacks::on_resume);
            qemu::qemu_plugin_register_atexit_cb(id, on_exit, null_mut());
        }
    }
    Ok(())
}

/// Called when QEMU ends: writes the counts to the output folder, a name and a number per line, and
/// the violations that were kept.
extern "C" fn on_exit(_: Id, _: *mut c_void) {
    let (now, broken) = cpu::outcome();
    let Some(summary) = writer::finish(now) else { return };
    let (waits, given_up) = together::waits();
    let lines = [
        ("sections", summary.sections),
        ("dropped", summary.dropped),
        ("unknown_releases", broken.unknown_releases),
        ("other_levels", broken.other_levels),
        ("held_by_user", broken.held_by_user),
        ("contradictions", broken.contradictions),
        ("lost", broken.lost),
        ("waits", waits),
        ("waits_given_up", given_up),
        ("instructions", now),
    ];
    let text: String = lines.iter().map(|(name, number)| format!("{name} {number}\n")).collect();
    if let Some(folder) = FOLDER.get() {
        // If this fails, the command reports that the counts are missing.
        let _ = fs::write(folder.join("counts"), text);
        let _ = fs::write(folder.join("breaches"), cpu::breaches());
    }
}

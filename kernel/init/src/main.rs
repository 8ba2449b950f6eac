//! The first process of the guest.
//!
//! The process mounts the usual file systems, does what the kernel's command line asks for, and
//! switches the machine off:
//!
//! - `syncline.learn`: hands the kernel's symbols, types and list of modules to the plugin;
//! - `syncline.load=WORD`: runs a load between two markers: `small`, `fs`, or `script`, which is
//!   `/load.sh`. `syncline.scale=N` makes the first two N times as long.

mod load;
mod machine;
mod marker;
mod options;
mod outcome;

use options::Options;

fn main() {
    machine::mount_all();
    let options = Options::of_kernel();
    let outcome = if options.learn { learn() } else { load::run(&options) };
    outcome::tell(&outcome);
    machine::switch_off();
}

/// Hands over what the host needs to know about this kernel.
fn learn() -> Result<(), String> {
    for (name, path) in [("kallsyms", "/proc/kallsyms"), ("btf", "/sys/kernel/btf/vmlinux")] {
        let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        marker::export(name, &bytes);
    }
    let modules = std::fs::read("/proc/modules").unwrap_or_default();
    marker::export("modules", &modules);
    Ok(())
}

//! Properties of the system that affect measurements.

use std::path::Path;
use std::{fs, thread};

use nix::unistd::{SysconfVar, sysconf};
use syncline_sim::Machine;
use syncline_sim::machine::Protocol;

/// Properties of the system that affect measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Whether the measured machine is this one; otherwise it is a simulated one.
    pub native: bool,
    /// The hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// Whether the process runs in a container.
    pub container: bool,
    /// The number of the machine's processors that are online.
    pub online: usize,
    /// The number of processors that this process may use at the same time, by its affinity and its
    /// quota.
    pub parallelism: usize,
    /// The fault of the processor's clock, in words, if it has one.
    pub clock_fault: Option<&'static str>,
    /// Whether a changed line stays with its owner when others read it (MOESI); `None` if that is
    /// unknown.
    pub owned: Option<bool>,
    /// The unit that answers a request for a line.
    pub protocol: Protocol,
    /// The number of stores that can wait in a thread's buffer; `None` if unknown.
    pub store_buffer: Option<usize>,
}

/// The size of the store buffer of an x86-64 core. This is the size in Nehalem (2008). Zen has 44
/// and Skylake 56, but larger buffers hardly make a difference.
const STORES: usize = 32;

impl Surroundings {
    /// The properties of the system that this process runs on. The caller passes the clock's fault,
    /// since the caller's code reads the clock.
    pub fn here(clock_fault: Option<&'static str>) -> Surroundings {
        let online = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten().unwrap_or(1);
        // According to their manuals, AMD's processors have MOESI, and a directory at a line's
        // memory. Intel's have no state Owned, and ask the caches that have the line (SSYNC,
        // section 3). For other makers nothing is known, and the protocol is called snooping.
        let (owned, protocol) = match maker() {
            Maker::Amd => (Some(true), Protocol::Directory),
            Maker::Intel => (Some(false), Protocol::Snooping),
            Maker::Other => (None, Protocol::Snooping),
        };
        Surroundings {
            native: true,
            hypervisor: hypervisor(Path::new("/")),
            container: container(Path::new("/")),
            online: usize::try_from(online).unwrap_or(1),
            parallelism: thread::available_parallelism().map_or(1, usize::from),
            clock_fault,
            owned,
            protocol,
            store_buffer: cfg!(target_arch = "x86_64").then_some(STORES),
        }
    }

    /// The properties of a simulated machine, which nothing disturbs.
    pub fn simulated(machine: &Machine) -> Surroundings {
        Surroundings {
            native: false,
            hypervisor: None,
            container: false,
            online: machine.threads(),
            parallelism: machine.threads(),
            clock_fault: None,
            owned: Some(machine.has_owned()),
            protocol: machine.description.protocol,
            store_buffer: machine.description.store_buffer,
        }
    }
}

/// The maker of the processor.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "it is not asked for"))]
enum Maker {
    Amd,
    Intel,
    Other,
}

#[cfg(target_arch = "x86_64")]
fn maker() -> Maker {
    let vendor = raw_cpuid::CpuId::new().get_vendor_info();
    match vendor.as_ref().map(|vendor| vendor.as_str()) {
        // Hygon's processors have AMD's design.
        Some("AuthenticAMD" | "HygonGenuine") => Maker::Amd,
        Some("GenuineIntel") => Maker::Intel,
        _ => Maker::Other,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn maker() -> Maker {
    Maker::Other
}

/// The name of the hypervisor, or "unknown" if the processor reports a hypervisor without a name.
/// If the processor reports none, the name comes from the firmware. `None` if neither reports one.
fn hypervisor(root: &Path) -> Option<String> {
    processor_says().or_else(|| firmware_says(root))
}

#[cfg(target_arch = "x86_64")]
fn processor_says() -> Option<String> {
    let cpuid = raw_cpuid::CpuId::new();
    cpuid.get_feature_info()?.has_hypervisor().then(|| {
        let known = cpuid.get_hypervisor_info().map(|info| format!("{:?}", info.identify()));
        known.filter(|name| !name.starts_with("Unknown")).unwrap_or("unknown".to_owned())
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_says() -> Option<String> {
    None
}

/// Makers of virtual machines, by the names in the firmware's tables.
const VIRTUAL: [&str; 7] =
    ["QEMU", "KVM", "VMware", "VirtualBox", "Xen", "Amazon EC2", "Google Compute Engine"];

fn firmware_says(root: &Path) -> Option<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let kind =
        read("sys/hypervisor/type").or_else(|| read("proc/device-tree/hypervisor/compatible"));
    let named = || {
        let tables = ["sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"];
        let texts: Vec<String> = tables.into_iter().filter_map(read).collect();
        let bare = texts.iter().any(|text| text.contains(".metal"));
        let found = VIRTUAL.iter().find(|name| texts.iter().any(|text| text.contains(**name)));
        found.filter(|_| !bare).map(|name| (*name).to_owned())
    };
    kind.map(|kind| kind.trim_end_matches(['\0', '\n']).to_owned()).or_else(named)
}

/// Whether a file exists that Docker, Podman or systemd makes in containers.
fn container(root: &Path) -> bool {
    let marks = [".dockerenv", "run/.containerenv", "run/systemd/container"];
    marks.iter().any(|mark| root.join(mark).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(path: &str, text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        root
    }

    #[test]
    fn a_virtual_machine_is_recognised_by_its_firmware() {
        let told = |path: &str, text: &str| firmware_says(with_file(path, text).path());
        assert_eq!(told("sys/hypervisor/type", "xen\n"), Some("xen".to_owned()));
        assert_eq!(told("sys/class/dmi/id/sys_vendor", "QEMU\n"), Some("QEMU".to_owned()));
        assert_eq!(
            told("proc/device-tree/hypervisor/compatible", "linux,kvm\0"),
            Some("linux,kvm".to_owned())
        );
        assert_eq!(told("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"), None);
        assert_eq!(told("sys/class/dmi/id/sys_vendor", "Amazon EC2 .metal\n"), None);
    }

    #[test]
    fn a_container_is_recognised_by_its_marker_files() {
        assert!(container(with_file(".dockerenv", "").path()));
        assert!(container(with_file("run/.containerenv", "").path()));
        assert!(!container(with_file("run/other", "").path()));
    }

    #[test]
    fn this_process_has_processors() {
        let here = Surroundings::here(None);
        assert!(here.online >= 1 && here.parallelism >= 1);
    }
}

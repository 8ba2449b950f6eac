//! Mounts file systems, opens the console, and switches the machine off.

use std::ffi::CString;
use std::fs;

/// Mounts the file systems that programs expect, and opens the console. Ignores errors: a program
/// that needs a missing one will report it.
pub fn mount_all() {
    for (kind, on) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/tmp"),
        ("tracefs", "/sys/kernel/tracing"),
    ] {
        let _ = fs::create_dir_all(on);
        let _ = mount(kind, kind, on);
    }
    // The image has no device file for the console, so the kernel has opened no descriptors for
    // this process.
    let console = fs::OpenOptions::new().read(true).write(true).open("/dev/console");
    if let Ok(console) = console {
        use std::os::fd::AsRawFd;
        for descriptor in 0..3 {
            // SAFETY: plain system call on descriptors of this process.
            unsafe { libc::dup2(console.as_raw_fd(), descriptor) };
        }
    }
}

/// Mounts a file system.
///
/// # Errors
/// The system's error.
pub fn mount(source: &str, kind: &str, on: &str) -> std::io::Result<()> {
    let [source, kind, on] = [source, kind, on].map(|text| CString::new(text).expect("no zero"));
    // SAFETY: three strings that end in a zero byte, and no data.
    let failed =
        unsafe { libc::mount(source.as_ptr(), on.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Ends the guest. QEMU is configured to exit when the machine reboots.
pub fn switch_off() -> ! {
    // SAFETY: plain system calls.
    unsafe {
        libc::sync();
        libc::reboot(libc::LINUX_REBOOT_CMD_RESTART);
    }
    unreachable!("the machine has been switched off")
}

//! Receives files from the guest, page by page.
//!
//! For each page, the guest's first process executes a marker and then reads one byte of the page.
//! QEMU then gives the page's physical address, and the page is copied from the guest's memory. The
//! first page of a file has the file's length and name.

use std::ffi::{c_uint, c_void};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::qemu::{self, MemInfo};
use crate::ram::ram;

const PAGE: usize = 4096;
const MAGIC: &[u8] = b"SYNCLINE";
const LONGEST_NAME: usize = 64;

struct Export {
    folder: PathBuf,
    /// The file that is being written, and how many bytes are still missing.
    open: Option<(File, u64)>,
}

static EXPORT: Mutex<Option<Export>> = Mutex::new(None);

/// Sets the folder for the files.
pub fn into(folder: PathBuf) {
    *EXPORT.lock().expect("nothing panics with it") = Some(Export { folder, open: None });
}

/// Receives a page.
pub extern "C" fn on_page(_: c_uint, info: MemInfo, address: u64, _: *mut c_void) {
    // SAFETY: QEMU calls this function from the callback for an access, as required.
    let physical = unsafe {
        let place = qemu::qemu_plugin_get_hwaddr(info, address);
        if place.is_null() || qemu::qemu_plugin_hwaddr_is_io(place) {
            return;
        }
        qemu::qemu_plugin_hwaddr_phys_addr(place)
    };
    let mut page = [0; PAGE];
    if ram().is_some_and(|ram| ram.copy(physical / PAGE as u64 * PAGE as u64, &mut page)) {
        let mut export = EXPORT.lock().expect("nothing panics with it");
        if let Some(export) = export.as_mut() {
            export.page(&page);
        }
    }
}

impl Export {
    fn page(&mut self, page: &[u8; PAGE]) {
        match self.open.take() {
            Some((mut file, left)) => {
                let part = (left as usize).min(PAGE);
                let written = file.write_all(&page[..part]).is_ok();
                self.open = (written && left > part as u64).then(|| (file, left - part as u64));
            }
            None if page.starts_with(MAGIC) => {
                let length =
                    u64::from_le_bytes(*page[8..].first_chunk().expect("a page is longer"));
                let name = &page[16..16 + LONGEST_NAME];
                let end = name.iter().position(|&b| b == 0).unwrap_or(LONGEST_NAME);
                let name = String::from_utf8_lossy(&name[..end]);
                // A name from the guest must not lead out of the folder.
                if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric()) {
                    let file = File::create(self.folder.join(&*name)).ok();
                    self.open = file.filter(|_| length > 0).map(|file| (file, length));
                }
            }
            None => {}
        }
    }
}

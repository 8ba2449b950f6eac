//! The kernel's own view of memory: virtual addresses, and the allocation that contains an address.
//!
//! All of it is read from the guest's memory while the guest runs, so an answer may be out of date.
//! Such an answer may be wrong, but it never causes a crash.

use syncline_kernel_follow::bits::LONGEST;
use syncline_kernel_follow::plan::Plan;
use syncline_trace::layout::ObjectRecord;

use crate::ram::Ram;
use crate::together;

const PAGE: u64 = 4096;
/// The direct map of the machine's memory, without a randomized layout (`nokaslr`) and with four
/// levels of page tables.
const DIRECT: std::ops::Range<u64> = 0xffff_8880_0000_0000..0xffff_c880_0000_0000;
/// The array of `struct page`, one for each page of memory.
const PAGES: u64 = 0xffff_ea00_0000_0000;
/// The kernel's image.
const IMAGE: std::ops::Range<u64> = 0xffff_ffff_8000_0000..0xffff_ffff_a000_0000;
/// Memory that is mapped page by page: stacks, large allocations, devices.
pub const MAPPED: std::ops::Range<u64> = 0xffff_c900_0000_0000..0xffff_e900_0000_0000;
/// Stacks and tables of each processor's entry area.
pub const ENTRY_AREA: std::ops::Range<u64> = 0xffff_fe00_0000_0000..0xffff_fe80_0000_0000;
/// Bits of a page table's entry that hold the physical address.
const FRAME: u64 = 0x000f_ffff_ffff_f000;
const LONGEST_NAME: usize = 64;

/// Offsets in the kernel's structures, and the kernel's page table.
pub struct Memory {
    ram: &'static Ram,
    top: u64,
    page_size: u64,
    slab_cache: u64,
    slab_bit: Option<u64>,
    page_type: Option<(u64, u64)>,
    cache_size: u64,
    cache_object_size: u64,
    cache_name: u64,
    per_cpu: Option<u64>,
    nodes: Option<u64>,
    /// The addresses of two variables: the pointer to the hash table of directory entries, and the
    /// number of bits by which a hash is shifted to get an index into the table.
    dentries: Option<(u64, u64)>,
}

impl Memory {
    /// Reads the offsets in a plan; `None` if the plan lacks a part.
    pub fn new(plan: &Plan, ram: &'static Ram) -> Option<Memory> {
        let page_type = plan.value("offset.page.page_type").zip(plan.value("value.slab_type"));
        Some(Memory {
            ram,
            top: plan.value("init_top_pgt")?.checked_sub(IMAGE.start)?,
            page_size: plan.value("size.page")?,
            slab_cache: plan.value("offset.slab.slab_cache")?,
            slab_bit: plan.value("value.slab_bit"),
            page_type,
            cache_size: plan.value("offset.kmem_cache.size")?,
            cache_object_size: plan.value("offset.kmem_cache.object_size")?,
            cache_name: plan.value("offset.kmem_cache.name")?,
            per_cpu: plan.value("per_cpu_offsets"),
            nodes: plan.value("nodes"),
            dentries: plan.value("dentries").zip(plan.value("dentries_shift")),
        })
    }

    /// The physical address of a kernel address. `None` if the page tables map no memory there.
    /// Addresses of the direct map and of the image are calculated, without the page tables.
    pub fn physical(&self, address: u64) -> Option<u64> {
        if DIRECT.contains(&address) {
            return Some(address - DIRECT.start);
        }
        if IMAGE.contains(&address) {
            return Some(address - IMAGE.start);
        }
        let mut table = self.top;
        for level in (0..4).rev() {
            let shift = 12 + 9 * level;
            let entry = self.ram.u64(table + 8 * (address >> shift & 511))?;
            let (present, large) = (entry & 1 != 0, entry & 0x80 != 0);
            if !present {
                return None;
            }
            if level == 0 || large && level < 3 {
                let inside = (1 << shift) - 1;
                return Some(entry & FRAME & !inside | address & inside);
            }
            table = entry & FRAME;
        }
        None
    }

    /// Reads eight bytes at a kernel address that is a multiple of 8.
    pub fn u64(&self, address: u64) -> Option<u64> {
        self.ram.u64(self.physical(address)?)
    }

    /// Reads four bytes at a kernel address that is a multiple of 4.
    pub fn u32(&self, address: u64) -> Option<u32> {
        self.ram.u32(self.physical(address)?)
    }

    /// Reads one byte at a kernel address.
    pub fn byte(&self, address: u64) -> Option<u8> {
        let mut byte = [0];
        self.ram.copy(self.physical(address)?, &mut byte).then_some(byte[0])
    }

    /// Reads the code at a kernel address, up to the length of the longest instruction; less at the
    /// end of what is mapped.
    pub fn code(&self, address: u64) -> Option<Vec<u8>> {
        let bytes = (0..LONGEST as u64).map_while(|at| self.byte(address + at));
        Some(bytes.collect::<Vec<u8>>()).filter(|bytes| !bytes.is_empty())
    }

    /// Reads a string that ends in a zero byte, or its first [`LONGEST_NAME`] bytes.
    pub fn text(&self, address: u64) -> Option<String> {
        let mut text = Vec::new();
        for at in address..address + LONGEST_NAME as u64 {
            match self.byte(at)? {
                0 => break,
                byte => text.push(byte),
            }
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// The slab object that contains an address. The record's site is the address of the object's
    /// cache.
    pub fn object(&self, address: u64) -> Option<ObjectRecord> {
        if !DIRECT.contains(&address) {
            return None;
        }
        let descriptor = |frame: u64| PAGES + frame * self.page_size;
        let mut page = descriptor((address - DIRECT.start) / PAGE);
        let head = self.u64(page + 8)?;
        if head & 1 != 0 {
            page = head - 1;
        }
        if !self.is_slab(page)? {
            return None;
        }
        let cache = self.u64(page + self.slab_cache)?;
        let size = u64::from(self.u32(cache + self.cache_size)?);
        let object_size = u64::from(self.u32(cache + self.cache_object_size)?);
        let base = DIRECT.start + page.checked_sub(PAGES)? / self.page_size * PAGE;
        let inside = address.checked_sub(base)?.checked_rem(size)?;
        let start = address - inside;
        Some(ObjectRecord { start, size: object_size, site: cache, serial: 0 })
    }

    /// The name of a cache.
    pub fn cache_name(&self, cache: u64) -> Option<String> {
        self.text(self.u64(cache + self.cache_name)?)
    }

    /// The addresses of per-processor variables, of the nodes' structures and of the hash table of
    /// directory entries, one per line. A line has the kind, the number of the processor or node
    /// (for the table, its size in bytes), and the address.
    pub fn places(&self) -> String {
        let mut text = String::new();
        for (what, array) in [("cpu", self.per_cpu), ("node", self.nodes)] {
            let Some(array) = array else { continue };
            let elements = (0..together::MOST as u64).map_while(|at| self.u64(array + 8 * at));
            // The first processor's area moves to its final position before there is a second
            // processor.
            for (at, address) in
                elements.take_while(|&address| DIRECT.contains(&address)).enumerate()
            {
                text.push_str(&format!("{what} {at} {address:x}\n"));
            }
        }
        if let Some((pointer, shift)) = self.dentries
            && let (Some(table), Some(shift)) = (self.u64(pointer), self.u32(shift))
            && let Some(entries) = 1_u64.checked_shl(32_u32.saturating_sub(shift))
        {
            text.push_str(&format!("dentries {} {table:x}\n", 8 * entries));
        }
        text
    }

    fn is_slab(&self, page: u64) -> Option<bool> {
        if let Some((offset, slab)) = self.page_type {
            return Some(u64::from(self.u32(page + offset)?) >> 24 == slab);
        }
        Some(self.u64(page)? >> self.slab_bit? & 1 != 0)
    }
}

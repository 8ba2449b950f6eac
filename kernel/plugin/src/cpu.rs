//! A virtual processor: the task that runs on it, and what QEMU calls when it executes.
//!
//! Each processor is one thread of QEMU, and only this thread accesses its state. When the kernel
//! switches tasks, a task's state moves from one processor to another through a table.

pub mod bits;
pub mod callbacks;

use std::cell::UnsafeCell;
use std::ffi::c_uint;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use rustc_hash::FxHashMap;
use syncline_kernel_follow::code::Source;
use syncline_kernel_follow::context::{
    Access, Breach, Broken, Call, Finished, Held, LevelKind, Task,
};
use syncline_kernel_follow::plan::Plan;
use syncline_kernel_follow::role::{Action, Kind, Role};

use crate::ledger;
use crate::memory::{ENTRY_AREA, MAPPED, Memory};
use crate::qemu::{self, MemInfo};
use crate::ram::ram;
use crate::together;
use crate::writer::{self, Message};

/// The kernel's half of the address space.
const KERNEL: u64 = 0xffff_8000_0000_0000;
/// Size of a task's stack in bytes. The stack is aligned to this size.
const STACK: u64 = 16 << 10;

static ON: AtomicBool = AtomicBool::new(false);
/// How many times recording has begun.
static EPOCH: AtomicU32 = AtomicU32::new(0);
static ORDER: AtomicU64 = AtomicU64::new(1);
static THREADS: AtomicU32 = AtomicU32::new(0);
static LATEST: AtomicU64 = AtomicU64::new(0);
static BROKEN: Mutex<Broken> = Mutex::new(Broken {
    unknown_releases: 0,
    other_levels: 0,
    held_by_user: 0,
    contradictions: 0,
    lost: 0,
});
static BREACHES: Mutex<Vec<Breach>> = Mutex::new(Vec::new());
static TASKS: Mutex<Option<FxHashMap<u64, Box<Known>>>> = Mutex::new(None);
static KERNEL_MEMORY: OnceLock<Memory> = OnceLock::new();
static OFFSETS: OnceLock<Offsets> = OnceLock::new();
static CPUS: [Cell; together::MOST] = [const { Cell(UnsafeCell::new(None)) }; together::MOST];

struct Cell(UnsafeCell<Option<Box<Cpu>>>);

// SAFETY: each cell is accessed only by the one thread that emulates its processor.
unsafe impl Sync for Cell {}

struct Offsets {
    stack_pointer: u64,
    pid: u64,
    comm: u64,
}

/// A task with its identity.
struct Known {
    address: u64,
    pid: u32,
    thread: u32,
    name: u64,
    epoch: u32,
    task: Task,
    /// The locks that it held when recording began, without those that it has released since.
    before: Vec<u64>,
}

struct Cpu {
    number: usize,
    current: Box<Known>,
    /// Locks that the outgoing task still held and that pass to the incoming one.
    between: Vec<Held>,
    in_user: bool,
    /// Whether accesses count: recording is on, and a lock is held at the current level.
    active: bool,
    /// Whether the outcome of an attempt to take a bit spinlock at the current level is still to
    /// come.
    attempts: bool,
    /// Whether the release of a bit spinlock at the current level is in doubt.
    doubts: bool,
    call: Call,
    executed: u64,
    ask_at: u64,
    /// The trace's thread for interrupts of this processor; `None` until the first.
    interrupts: Option<u32>,
}

/// Prepares the data about the kernel. `memory` is the kernel's.
///
/// # Errors
///
/// A message, if the plan lacks an offset, or if this was called before.
pub fn prepare(plan: &Plan, memory: Memory) -> Result<(), String> {
    let offsets = Offsets::of(plan)?;
    if KERNEL_MEMORY.set(memory).is_err() || OFFSETS.set(offsets).is_err() {
        return Err("the plugin is loaded twice: pass it to QEMU once".to_owned());
    }
    Ok(())
}

impl Offsets {
    fn of(plan: &Plan) -> Result<Offsets, String> {
        let offset = |name: &str| {
            let value = plan.value(&format!("offset.task_struct.{name}"));
            value.ok_or_else(|| format!("the plan lacks the offset of task_struct's {name}"))
        };
        let (stack_pointer, pid, comm) = (offset("thread.sp")?, offset("pid")?, offset("comm")?);
        Ok(Offsets { stack_pointer, pid, comm })
    }
}

fn offsets() -> &'static Offsets {
    OFFSETS.get().expect("callbacks come after the start")
}

fn memory() -> &'static Memory {
    KERNEL_MEMORY.get().expect("callbacks come after the start")
}

/// Begins recording, with the locks that are acquired from now on.
pub fn start() {
    *BROKEN.lock().expect("nothing panics with it") = Broken::default();
    EPOCH.fetch_add(1, Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
}

/// Ends recording.
pub fn stop() {
    ON.store(false, Ordering::Relaxed);
}

/// The latest tick that any processor has reported, and the violations during the recording.
pub fn outcome() -> (u64, Broken) {
    (LATEST.load(Ordering::Relaxed), *BROKEN.lock().expect("nothing panics with it"))
}

/// The violations that tasks have kept one by one, one per line.
pub fn breaches() -> String {
    let told = BREACHES.lock().expect("nothing panics with it");
    let line = |breach: &Breach| {
        let Breach { what, lock, role, site } = *breach;
        format!("{what}: lock {lock:x} {role:?} taken at {site:x}\n")
    };
    told.iter().map(line).collect()
}

fn cpu(number: c_uint) -> &'static mut Cpu {
    // SAFETY: QEMU calls from the thread of this processor, and never during another such call. The
    // reference ends with the callback.
    let cell = unsafe { &mut *CPUS[number as usize % together::MOST].0.get() };
    cell.get_or_insert_with(|| Box::new(Cpu::new(number as usize)))
}

impl Known {
    fn new(address: u64, pid: u32) -> Box<Known> {
        let thread = THREADS.fetch_add(1, Ordering::Relaxed);
        writer::send(Message::Thread(thread, pid, 0));
        let (task, before) = (Task::default(), Vec::new());
        let epoch = EPOCH.load(Ordering::Relaxed);
        Box::new(Known { address, pid, thread, name: 0, epoch, task, before })
    }

    /// Forgets the locks that were acquired before recording began, but remembers that they will be
    /// released.
    fn catch_up(&mut self) {
        let epoch = EPOCH.load(Ordering::Relaxed);
        if self.epoch != epoch {
            self.epoch = epoch;
            self.before = self.task.forget().iter().map(|held| held.lock).collect();
        }
    }

    fn name(&mut self) {
        let at = self.address + offsets().comm;
        let Some(first) = memory().u64(at) else { return };
        let name = first ^ memory().u64(at + 8).unwrap_or(0).rotate_left(1);
        if name != self.name
            && let Some(text) = memory().text(at)
        {
            self.name = name;
            let mut bytes = [0; 16];
            let n = text.len().min(15);
            bytes[..n].copy_from_slice(&text.as_bytes()[..n]);
            writer::send(Message::Name(self.thread, bytes));
        }
    }
}

impl Cpu {
    fn new(number: usize) -> Cpu {
        Cpu {
            number,
            current: Known::new(0, 0),
            between: Vec::new(),
            in_user: false,
            active: false,
            attempts: false,
            doubts: false,
            call: Call::default(),
            executed: 0,
            ask_at: 0,
            interrupts: None,
        }
    }

    fn refresh(&mut self) {
        self.active = self.current.task.holds() && ON.load(Ordering::Relaxed);
        self.attempts = self.current.task.attempts();
        self.doubts = self.current.task.doubts();
    }

    fn add_broken(&mut self) {
        let broken = std::mem::take(&mut self.current.task.broken);
        if broken != Broken::default() && ON.load(Ordering::Relaxed) {
            let mut all = BROKEN.lock().expect("nothing panics with it");
            *all = all.plus(broken);
            let mut told = BREACHES.lock().expect("nothing panics with it");
            told.append(&mut self.current.task.breaches);
        }
    }

    /// The trace's thread for a section of this level.
    fn thread(&mut self, level: LevelKind) -> u32 {
        if level == LevelKind::Task {
            return self.current.thread;
        }
        let number = self.number;
        *self.interrupts.get_or_insert_with(|| {
            let thread = THREADS.fetch_add(1, Ordering::Relaxed);
            let mut name = [0; 16];
            let text = format!("interrupts/{number}");
            name[..text.len()].copy_from_slice(text.as_bytes());
            writer::send(Message::Thread(thread, 1 << 22 | number as u32, 0));
            writer::send(Message::Name(thread, name));
            thread
        })
    }

    fn execute(&mut self, instructions: u64) {
        self.executed += instructions;
        if self.executed >= self.ask_at {
            self.ask_at = together::advance(self.number, self.executed);
            LATEST.fetch_max(self.executed, Ordering::Relaxed);
        }
    }

    fn enter(&mut self, source: Source) {
        let interrupt = source == Source::Interrupt;
        let from_user = std::mem::take(&mut self.in_user);
        if from_user {
            self.current.task.to_user();
        }
        if interrupt || !from_user {
            self.current.task.enter(interrupt, self.call);
        }
        self.refresh();
    }

    fn leave(&mut self) {
        self.settle(true);
        if let Some(call) = self.current.task.leave() {
            self.call = call;
        }
        self.refresh();
    }

    fn user_space(&mut self) {
        self.current.catch_up();
        self.settle(true);
        self.current.task.to_user();
        self.add_broken();
        self.in_user = true;
        self.refresh();
    }

    fn done(&mut self, role: Role) {
        self.current.catch_up();
        let level = self.current.task.kind();
        let thread = self.thread(level);
        let (now, address) = (self.executed, self.current.address);
        let mut contradicts = false;
        let owned = |role: Role, physical: u64| {
            let ram = ram()?;
            match role.kind {
                Kind::Mutex => Some(ram.u64(physical)? & !7 == address),
                // A reader also writes itself as the owner, but other readers may overwrite that.
                // So among readers, only a try is checked this way, since a try may have failed.
                Kind::Rwsem if !role.shared || role.action == Action::Try => {
                    Some(ram.u64(physical + 8)? & !7 == address)
                }
                _ => None,
            }
        };
        let order = || ORDER.fetch_add(1, Ordering::Relaxed);
        if let Some(held) = self.current.task.done(role, now, order, owned) {
            self.executed = ledger::acquired(held.lock, held.order, thread, now);
            let set = match held.role.kind {
                Kind::Spin => 0xff,
                Kind::Bit(bit) => 1 << bit,
                _ => 0,
            };
            contradicts = set != 0 && memory().byte(held.lock).is_some_and(|byte| byte & set == 0);
        }
        self.current.task.broken.contradictions += u64::from(contradicts);
        self.add_broken();
        self.refresh();
    }

    fn slow(&mut self, role: Role) {
        if let Some(lock) = self.current.task.pending_lock(role) {
            let (holder, now) = ledger::waits(lock, self.executed);
            self.executed = now;
            self.current.task.slow(role, self.executed, holder);
        }
    }

    fn release(&mut self, role: Role, lock: u64) {
        self.current.catch_up();
        self.executed = ledger::released(lock, self.executed);
        if !self.current.task.has(role, lock)
            && let Some(at) = self.current.before.iter().position(|&before| before == lock)
        {
            // After a downgrade a reader still holds the lock, so its entry stays.
            if role.action != Action::Downgrade {
                self.current.before.swap_remove(at);
            }
            return;
        }
        let now = self.executed;
        let finished = match role.action {
            Action::Downgrade => {
                let order = || ORDER.fetch_add(1, Ordering::Relaxed);
                self.current.task.downgrade(role, lock, now, order)
            }
            _ => self.current.task.release(role, lock, now),
        };
        if let Some(finished) = finished {
            self.finish(finished);
        }
        self.add_broken();
        self.refresh();
    }

    fn finish(&mut self, finished: Finished) {
        if ON.load(Ordering::Relaxed) {
            let thread = self.thread(finished.level);
            writer::send(Message::Section(thread, Box::new(finished)));
        }
    }

    fn switch_out(&mut self, address: u64) {
        let address = address.wrapping_sub(offsets().stack_pointer);
        self.current.catch_up();
        if self.current.address == 0 {
            self.current.address = address;
            self.current.pid = memory().u32(address + offsets().pid).unwrap_or(0);
        }
        self.settle(true);
        self.between = self.current.task.switch_out();
        self.current.name();
    }

    fn switch_in(&mut self, address: u64) {
        let address = address.wrapping_sub(offsets().stack_pointer);
        let pid = memory().u32(address + offsets().pid).unwrap_or(0);
        let mut tasks = TASKS.lock().expect("nothing panics with it");
        let tasks = tasks.get_or_insert_default();
        let known = tasks.remove(&address).filter(|known| known.pid == pid);
        let next = known.unwrap_or_else(|| Known::new(address, pid));
        let last = std::mem::replace(&mut self.current, next);
        tasks.insert(last.address, last);
        self.current.catch_up();
        self.current.task.switch_in(std::mem::take(&mut self.between));
        self.refresh();
    }

    fn access(&mut self, insn: u64, info: MemInfo, address: u64) {
        if address < KERNEL || self.is_stack(address) || ENTRY_AREA.contains(&address) {
            return;
        }
        // SAFETY: called from the callback for this access.
        let (store, shift) = unsafe {
            (qemu::qemu_plugin_mem_is_store(info), qemu::qemu_plugin_mem_size_shift(info))
        };
        if MAPPED.contains(&address) {
            // SAFETY: as above.
            let device = unsafe {
                let place = qemu::qemu_plugin_get_hwaddr(info, address);
                !place.is_null() && qemu::qemu_plugin_hwaddr_is_io(place)
            };
            if device {
                self.current.task.io();
                return;
            }
        }
        let size = 1_u8 << shift.min(6);
        let (insn, atomic) = (insn as u32, insn >> 32 != 0);
        self.current.task.access(Access { address, insn, size, store, atomic });
        if store {
            self.stored(address, u64::from(size));
        }
    }

    /// Whether an address lies on the stack. A task's stack is aligned to its size; an interrupt's
    /// is not.
    fn is_stack(&self, address: u64) -> bool {
        (address ^ self.call.stack) < STACK
            || self.current.task.depth() > 0 && address.abs_diff(self.call.stack) < STACK
    }
}

fn physical(info: MemInfo, address: u64) -> Option<u64> {
    // SAFETY: called from the callback for this access.
    unsafe {
        let place = qemu::qemu_plugin_get_hwaddr(info, address);
        if place.is_null() || qemu::qemu_plugin_hwaddr_is_io(place) {
            return None;
        }
        Some(qemu::qemu_plugin_hwaddr_phys_addr(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_offset_is_named() {
        let mut plan = Plan::default();
        for (name, next) in [("thread.sp", "pid"), ("pid", "comm")] {
            plan.set(&format!("offset.task_struct.{name}"), 8);
            let error = Offsets::of(&plan).err().expect("an offset is missing");
            assert_eq!(error, format!("the plan lacks the offset of task_struct's {next}"));
        }
        plan.set("offset.task_struct.comm", 8);
        assert!(Offsets::of(&plan).is_ok());
    }
}

//! Makes the plugin's plan from a kernel's symbols and types.

use syncline_kernel_follow::plan::Plan;
use syncline_kernel_follow::role::name_of;

use crate::Error;
use crate::btf::Btf;
use crate::symbols::Symbols;

/// The error for a kernel that hides its symbols.
pub(crate) const NO_SYMBOLS: Error = Error::Lacks { what: "symbols", option: "CONFIG_KALLSYMS" };
/// The error for a kernel without types.
pub(crate) const NO_TYPES: Error = Error::Lacks { what: "types", option: "CONFIG_DEBUG_INFO_BTF" };

/// Makes the plan.
///
/// # Errors
/// [`Error::Lacks`], if the kernel lacks something without which its locks can't be followed.
pub fn plan(symbols: &Symbols, types: &Btf) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    for (start, end, name) in symbols.with_name(|name| name_of(name).is_some()) {
        plan.add(name_of(name).unwrap_or_default(), (start, end));
    }
    entries(symbols, &mut plan);
    structures(types, &mut plan)?;
    let at = |name| symbols.address(name).ok_or(NO_SYMBOLS);
    plan.set("init_top_pgt", at("init_top_pgt")?);
    plan.add("switch", symbols.range("__switch_to_asm").ok_or(NO_SYMBOLS)?);
    let softirq = symbols.range("handle_softirqs").or_else(|| symbols.range("__do_softirq"));
    plan.add("softirq", softirq.ok_or(NO_SYMBOLS)?);
    for (name, symbol) in [
        ("per_cpu_offsets", "__per_cpu_offset"),
        ("nodes", "node_data"),
        ("dentries", "dentry_hashtable"),
        ("dentries_shift", "d_hash_shift"),
    ] {
        if let Some(address) = symbols.address(symbol) {
            plan.set(name, address);
        }
    }
    if let Some(thunk) = symbols.address("__x86_return_thunk") {
        plan.set("thunk", thunk);
    }
    match plan.ranges("spin.lock").is_empty() || plan.ranges("spin.unlock").is_empty() {
        true => Err(Error::Lacks {
            what: "functions for its spinlocks",
            option: "CONFIG_SMP and CONFIG_UNINLINE_SPIN_UNLOCK",
        }),
        false => Ok(plan),
    }
}

/// Adds the entries and exits of the kernel.
fn entries(symbols: &Symbols, plan: &mut Plan) {
    let kind = |name: &str| match name {
        // Non-maskable interrupts return in a way of their own, and are not used here.
        "asm_exc_nmi" | "asm_exc_nmi_noist" => None,
        "asm_common_interrupt" | "asm_spurious_interrupt" => Some("enter.interrupt"),
        "entry_SYSCALL_64" | "entry_SYSCALL_compat" | "asm_int80_emulation" => Some("enter.call"),
        "restore_regs_and_return_to_kernel" => Some("leave.kernel"),
        "swapgs_restore_regs_and_return_to_usermode" | "syscall_return_via_sysret" => {
            Some("leave.user")
        }
        _ if name.starts_with("asm_exc_") => Some("enter.exception"),
        _ if name.starts_with("asm_sysvec_") => Some("enter.interrupt"),
        _ => None,
    };
    for (start, end, name) in symbols.with_name(|name| kind(name).is_some()) {
        plan.add(kind(name).unwrap_or_default(), (start, end));
    }
}

/// Adds offsets of members of the kernel's structures, for the plugin.
fn structures(types: &Btf, plan: &mut Plan) -> Result<(), Error> {
    for (structure, member) in [
        ("task_struct", "thread.sp"),
        ("task_struct", "pid"),
        ("task_struct", "comm"),
        ("slab", "slab_cache"),
        ("kmem_cache", "size"),
        ("kmem_cache", "object_size"),
        ("kmem_cache", "name"),
    ] {
        let offset = types.offset(structure, member).ok_or(NO_TYPES)?;
        plan.set(&format!("offset.{structure}.{member}"), offset);
    }
    plan.set("size.page", types.size("page").ok_or(NO_TYPES)?);
    // From Linux 6.12 on a page's type says that the page belongs to the allocator; before, a flag
    // did.
    if let Some(slab) = types.value("PGTY_slab") {
        plan.set("value.slab_type", slab);
        plan.set("offset.page.page_type", types.offset("page", "page_type").ok_or(NO_TYPES)?);
    } else {
        plan.set("value.slab_bit", types.value("PG_slab").ok_or(NO_TYPES)?);
    }
    Ok(())
}

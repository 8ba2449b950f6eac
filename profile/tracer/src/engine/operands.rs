//! The operands in memory of an instruction, and the values that must be noted when it runs so that
//! their addresses can be computed later.

use iced_x86::{
    Code, EncodingKind, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};

use super::emit::{Memory, Reg};
use super::processor;

/// One operand in memory.
pub struct Operand {
    /// Whether the instruction reads it.
    pub read: bool,
    /// Whether the instruction writes it.
    pub write: bool,
    /// Whether the base of the FS segment is to be added to its address.
    pub in_fs: bool,
    /// The address of its first byte, or how that is computed.
    pub place: Place,
    /// Which bytes it covers, counted from that address.
    pub extent: Extent,
}

/// The first address of an operand.
#[derive(Clone, Copy)]
pub enum Place {
    /// An address that the instruction itself contains.
    Known(u64),
    /// An address that is computed when the instruction runs.
    Computed(Memory),
}

/// The bytes that an operand covers, and what they depend on.
#[derive(Clone, Copy)]
pub enum Extent {
    /// A fixed number of bytes.
    Plain(u32),
    /// For string instructions: from this register's value before the instruction to its value
    /// afterwards, in elements of this many bytes.
    String(Reg, u32),
    /// For the write of `cmpxchg`: a number of bytes, which are written only if the zero flag is
    /// set afterwards.
    Exchange(u32),
    /// The operand, of this many bytes, that contains the bit whose number is in this register.
    Bit(Reg, u32),
    /// The elements that this mask selects, in the way that [`By`] says.
    Masked(Mask, By),
    /// The elements that a vector of indices and a mask select.
    Gather {
        /// The mask of the elements that are accessed.
        mask: Mask,
        /// The vector register with the indices.
        indices: Register,
        /// The size of an index in bytes.
        index_size: u32,
        /// The factor by which an index is multiplied.
        scale: u32,
        /// The size of an element in bytes.
        size: u32,
        /// The number of elements.
        count: u32,
    },
}

/// Where a mask comes from.
#[derive(Clone, Copy)]
pub enum Mask {
    /// The mask register of this number.
    Register(u8),
    /// The signs of a vector's elements: the vector register's number, the bytes of an element, and
    /// whether the register has 256 bits (otherwise 128).
    Signs(u8, u32, bool),
    /// The signs of a vector's bytes: the vector register's number, and whether it is an MMX
    /// register.
    ByteSigns(u8, bool),
}

/// Which elements a mask selects.
#[derive(Clone, Copy)]
pub enum By {
    /// Those whose bit is set. The numbers are the bytes of an element and how many elements there
    /// are.
    Elements(u32, u32),
    /// As many as there are set bits, from the first element on. The numbers are the bytes of an
    /// element and how many of the mask's bits count.
    Packed(u32, u32),
    /// All if any bit is set, otherwise none. The numbers are the bytes in all and how many of the
    /// mask's bits count.
    IfAny(u32, u32),
}

/// The error for an instruction whose operands this module can't describe. Tracing stops at such an
/// instruction.
pub struct Unknown;

/// A register's number in machine code.
pub fn number(register: Register) -> Reg {
    register.number() as Reg
}

/// The operands in memory of an instruction, in the order in which it accesses them.
pub fn operands(
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
) -> Result<Vec<Operand>, Unknown> {
    let used: Vec<UsedMemory> = factory.info(instruction).used_memory().to_vec();
    let mut operands = Vec::new();
    for memory in used {
        let (read, write) = match memory.access() {
            OpAccess::Read | OpAccess::CondRead => (true, false),
            OpAccess::Write | OpAccess::CondWrite => (false, true),
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
            _ => continue,
        };
        let in_fs = match memory.segment() {
            Register::FS => true,
            Register::GS => return Err(Unknown),
            _ => false,
        };
        let place = place(&memory)?;
        let extent = extent(instruction, &memory)?;
        if matches!(extent, Extent::Exchange(_)) {
            let Extent::Exchange(size) = extent else { continue };
            let extent = Extent::Plain(size);
            operands.push(Operand { read: true, write: false, in_fs, place, extent });
            let extent = Extent::Exchange(size);
            operands.push(Operand { read: false, write: true, in_fs, place, extent });
            continue;
        }
        operands.push(Operand { read, write, in_fs, place, extent });
    }
    Ok(operands)
}

fn place(memory: &UsedMemory) -> Result<Place, Unknown> {
    let (base, index) = (memory.base(), memory.index());
    let general = |r: Register| r.is_gpr64();
    if base == Register::None && (index == Register::None || index.is_vector_register()) {
        return Ok(Place::Known(memory.displacement()));
    }
    if base != Register::None && !general(base) {
        return Err(Unknown);
    }
    let index = match index {
        Register::None => None,
        index if index.is_vector_register() => None,
        index if general(index) => Some((number(index), memory.scale())),
        _ => return Err(Unknown),
    };
    Ok(Place::Computed(Memory {
        base: (base != Register::None).then(|| number(base)),
        index,
        displacement: i32::try_from(memory.displacement() as i64).map_err(|_| Unknown)?,
    }))
}

fn extent(instruction: &Instruction, memory: &UsedMemory) -> Result<Extent, Unknown> {
    use Mnemonic as M;
    let size = memory.memory_size().size() as u32;
    let element = memory.memory_size().element_size() as u32;
    if instruction.is_string_instruction() {
        // If there is a repeat prefix, `memory` does not have the size of an element, but the
        // instruction has.
        let size = instruction.memory_size().size() as u32;
        return Ok(Extent::String(number(memory.base()), size));
    }
    let vector = |n: u32| instruction.op_register(n);
    Ok(match instruction.mnemonic() {
        M::Cmpxchg | M::Cmpxchg8b | M::Cmpxchg16b => Extent::Exchange(size),
        M::Bt | M::Bts | M::Btr | M::Btc if instruction.op1_kind() == OpKind::Register => {
            Extent::Bit(number(instruction.op1_register().full_register()), size)
        }
        M::Vmaskmovps | M::Vmaskmovpd | M::Vpmaskmovd | M::Vpmaskmovq => {
            let mask = vector(1);
            let wide = matches!(instruction.mnemonic(), M::Vmaskmovpd | M::Vpmaskmovq);
            let element = if wide { 8 } else { 4 };
            let bytes = mask.size() as u32;
            let signs = Mask::Signs(number(mask), element, bytes == 32);
            Extent::Masked(signs, By::Elements(element, bytes / element))
        }
        M::Maskmovdqu | M::Vmaskmovdqu => {
            Extent::Masked(Mask::ByteSigns(number(vector(2)), false), By::Elements(1, 16))
        }
        M::Maskmovq => Extent::Masked(Mask::ByteSigns(number(vector(2)), true), By::Elements(1, 8)),
        M::Xsave | M::Xsave64 | M::Xsaveopt | M::Xsaveopt64 => {
            Extent::Plain(processor::xsave_bytes(false))
        }
        // Most states that `xrstor` restores were saved by the loader, which uses the compact form.
        M::Xsavec | M::Xsavec64 | M::Xrstor | M::Xrstor64 => {
            Extent::Plain(processor::xsave_bytes(true))
        }
        M::Xlatb => return Err(Unknown),
        _ if memory.index().is_vector_register() => gather(instruction, memory)?,
        _ if instruction.has_op_mask() => masked(instruction, size, element)?,
        _ if size == 0 => return Err(Unknown),
        _ => Extent::Plain(size),
    })
}

fn gather(instruction: &Instruction, memory: &UsedMemory) -> Result<Extent, Unknown> {
    let is_evex = instruction.encoding() == EncodingKind::EVEX;
    let indices = memory.index();
    let index_size = memory.vsib_size();
    let size = memory.memory_size().element_size() as u32;
    let stored = instruction.op0_kind() == OpKind::Memory;
    let data = instruction.op_register(u32::from(stored));
    if is_evex && (instruction.op_count() < 2 || !data.is_vector_register()) {
        return Err(Unknown); // A gather or scatter that only prefetches.
    }
    let count = (indices.size() as u32 / index_size).min(data.size() as u32 / size);
    let mask = if is_evex {
        mask_register(instruction)?
    } else {
        let mask = instruction.op_register(2);
        Mask::Signs(number(mask), size, mask.size() == 32)
    };
    Ok(Extent::Gather { mask, indices, index_size, scale: memory.scale(), size, count })
}

fn mask_register(instruction: &Instruction) -> Result<Mask, Unknown> {
    if !processor::has_avx512bw() {
        return Err(Unknown);
    }
    Ok(Mask::Register(number(instruction.op_mask())))
}

fn masked(instruction: &Instruction, size: u32, element: u32) -> Result<Extent, Unknown> {
    let name = format!("{:?}", instruction.mnemonic());
    let starts = |names: &[&str]| names.iter().any(|n| name.starts_with(n));
    let mask = mask_register(instruction)?;
    // The mask of a broadcast has as many bits as the widest vector has elements.
    let widest = (0..instruction.op_count())
        .filter(|&n| instruction.op_kind(n) == OpKind::Register)
        .map(|n| instruction.op_register(n))
        .filter(|r| r.is_vector_register())
        .map(|r| r.size() as u32)
        .max()
        .unwrap_or(size);
    let by = if starts(&["Vpcompress", "Vcompress", "Vpexpand", "Vexpand"]) {
        By::Packed(element, size / element)
    } else if instruction.is_broadcast() || starts(&["Vbroadcast", "Vpbroadcast"]) {
        By::IfAny(size, widest / element)
    } else if starts(&[
        "Vperm",
        "Vpermi",
        "Vpshuf",
        "Vshuf",
        "Vunpck",
        "Vpunpck",
        "Valign",
        "Vpalign",
        "Vinsert",
        "Vpmadd",
        "Vdbpsad",
        "Vpmultishift",
        "Vpack",
    ]) {
        // Even a masked result may depend on each element in memory, so all count as read.
        return Ok(Extent::Plain(size));
    } else {
        By::Elements(element, size / element)
    };
    Ok(Extent::Masked(mask, by))
}

/// The instruction that stores a vector register, to copy the indices of a gather.
pub fn store_vector(register: Register, is_evex: bool) -> Code {
    match (register.size(), is_evex) {
        (16, false) => Code::VEX_Vmovdqu_xmmm128_xmm,
        (32, false) => Code::VEX_Vmovdqu_ymmm256_ymm,
        (16, true) => Code::EVEX_Vmovdqu64_xmmm128_k1z_xmm,
        (32, true) => Code::EVEX_Vmovdqu64_ymmm256_k1z_ymm,
        _ => Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
    }
}

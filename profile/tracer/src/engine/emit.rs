//! Writes machine code into a context's cache.
//!
//! Only instructions that the engine adds are made here. None of them changes a flag, since the
//! program's flags stay in the processor from one of the program's instructions to the next.
//! Registers are numbers as in the encoding (0 = rax, 1 = rcx, 2 = rdx, 3 = rbx, 4 = rsp, ...).

/// A general register's number.
pub type Reg = u8;
/// The numbers of registers that are used by name.
pub const RAX: Reg = 0;
/// See [`RAX`].
pub const RCX: Reg = 1;
/// See [`RAX`].
pub const RDX: Reg = 2;
/// See [`RAX`].
pub const RSP: Reg = 4;

/// A position in the cache at which code is written.
#[derive(Clone, Copy)]
pub struct Emitter {
    /// The address of the context. Its fields are addressed relative to the instruction.
    pub context: u64,
    /// The position of the next byte.
    pub at: u64,
}

impl Emitter {
    /// Writes the given bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        // SAFETY: there is room, which is checked before each block is translated, and only the
        // thread that owns the context writes to its cache.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at as *mut u8, bytes.len()) };
        self.at += bytes.len() as u64;
    }

    fn word(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Writes the displacement of a field of the context, relative to the end of the instruction.
    /// `behind` is the number of the instruction's bytes after the displacement.
    fn field(&mut self, offset: usize, behind: u64) {
        let end = self.at + 4 + behind;
        self.word((self.context + offset as u64).wrapping_sub(end) as u32);
    }

    /// `mov [context + offset], reg`
    pub fn store_field(&mut self, offset: usize, reg: Reg) {
        self.bytes(&[0x48 | (reg >> 3) << 2, 0x89, (reg & 7) << 3 | 5]);
        self.field(offset, 0);
    }

    /// `mov reg, [context + offset]`
    pub fn load_field(&mut self, reg: Reg, offset: usize) {
        self.bytes(&[0x48 | (reg >> 3) << 2, 0x8b, (reg & 7) << 3 | 5]);
        self.field(offset, 0);
    }

    /// `lea reg, [context + offset]`
    pub fn address_of_field(&mut self, reg: Reg, offset: usize) {
        self.bytes(&[0x48 | (reg >> 3) << 2, 0x8d, (reg & 7) << 3 | 5]);
        self.field(offset, 0);
    }

    /// `mov qword ptr [context + offset], value`
    pub fn set_field(&mut self, offset: usize, value: u32) {
        self.bytes(&[0x48, 0xc7, 0x05]);
        self.field(offset, 4);
        self.word(value);
    }

    /// `jmp qword ptr [context + offset]`
    pub fn jump_field(&mut self, offset: usize) {
        self.bytes(&[0xff, 0x25]);
        self.field(offset, 0);
    }

    /// `movzx ecx, byte ptr [context + offset]`
    pub fn load_byte_field_to_rcx(&mut self, offset: usize) {
        self.bytes(&[0x0f, 0xb6, 0x0d]);
        self.field(offset, 0);
    }

    /// `mov byte ptr [context + offset], 0`
    pub fn clear_byte_field(&mut self, offset: usize) {
        self.bytes(&[0xc6, 0x05]);
        self.field(offset, 1);
        self.bytes(&[0]);
    }

    /// `mov reg, value`
    pub fn set(&mut self, reg: Reg, value: u64) {
        self.bytes(&[0x48 | reg >> 3, 0xb8 | reg & 7]);
        self.bytes(&value.to_le_bytes());
    }

    /// `mov to, from`
    pub fn copy(&mut self, to: Reg, from: Reg) {
        self.bytes(&[0x48 | (from >> 3) << 2 | to >> 3, 0x89, 0xc0 | (from & 7) << 3 | to & 7]);
    }

    fn with_base(&mut self, opcode: u8, reg: Reg, base: Reg, displacement: i32) {
        self.bytes(&[0x48 | (reg >> 3) << 2 | base >> 3, opcode, 0x80 | (reg & 7) << 3 | base & 7]);
        if base & 7 == RSP {
            self.bytes(&[0x24]);
        }
        self.word(displacement as u32);
    }

    /// `mov [base + displacement], reg`
    pub fn store(&mut self, base: Reg, displacement: i32, reg: Reg) {
        self.with_base(0x89, reg, base, displacement);
    }

    /// `mov reg, [base + displacement]`
    pub fn load(&mut self, reg: Reg, base: Reg, displacement: i32) {
        self.with_base(0x8b, reg, base, displacement);
    }

    /// `lea reg, [base + displacement]`
    pub fn lea(&mut self, reg: Reg, base: Reg, displacement: i32) {
        self.with_base(0x8d, reg, base, displacement);
    }

    /// `mov qword ptr [base + displacement], value`
    pub fn store_value(&mut self, base: Reg, displacement: i32, value: u32) {
        self.with_base(0xc7, 0, base, displacement);
        self.word(value);
    }

    /// `push reg`
    pub fn push(&mut self, reg: Reg) {
        self.bytes(&[0x40 | reg >> 3, 0x50 | reg & 7]);
    }

    /// `setz reg`: sets the low byte and keeps the others.
    pub fn set_if_zero(&mut self, reg: Reg) {
        self.bytes(&[0x40 | reg >> 3, 0x0f, 0x94, 0xc0 | reg & 7]);
    }

    /// `kmovq reg, k`
    pub fn load_mask(&mut self, reg: Reg, mask: u8) {
        let r = if reg >= 8 { 0x61 } else { 0xe1 };
        self.bytes(&[0xc4, r, 0xfb, 0x93, 0xc0 | (reg & 7) << 3 | mask]);
    }

    /// `vmovmskps` or `vmovmskpd reg, vector`, for the highest bit of each element of 4 or 8 bytes.
    pub fn load_signs(&mut self, reg: Reg, vector: u8, element: u32, is_256: bool) {
        let r = if reg >= 8 { 0 } else { 0x80 };
        let b = if vector >= 8 { 0 } else { 0x20 };
        let pp = u8::from(element == 8);
        let l = u8::from(is_256) << 2;
        self.bytes(&[0xc4, r | 0x40 | b | 1, 0x78 | l | pp, 0x50]);
        self.bytes(&[0xc0 | (reg & 7) << 3 | vector & 7]);
    }

    /// `pmovmskb reg, vector`, for the highest bit of each byte of an xmm or an mm register.
    pub fn load_byte_signs(&mut self, reg: Reg, vector: u8, is_mmx: bool) {
        if !is_mmx {
            self.bytes(&[0x66]);
        }
        self.bytes(&[0x40 | (reg >> 3) << 2 | vector >> 3, 0x0f, 0xd7]);
        self.bytes(&[0xc0 | (reg & 7) << 3 | vector & 7]);
    }

    /// `jmp target`, which must be within 2 GiB.
    pub fn jump(&mut self, target: u64) {
        self.bytes(&[0xe9]);
        self.word(target.wrapping_sub(self.at + 4) as u32);
    }

    /// `jmp [rip]`, followed by the target's address, which may be anywhere.
    pub fn jump_far(&mut self, target: u64) {
        self.bytes(&[0xff, 0x25, 0, 0, 0, 0]);
        self.bytes(&target.to_le_bytes());
    }

    /// Jumps to `target` unless rcx is 0.
    pub fn jump_unless_rcx_zero(&mut self, target: u64) {
        self.bytes(&[0xe3, 5]);
        self.jump(target);
    }

    /// `not rcx`
    pub fn complement_rcx(&mut self) {
        self.bytes(&[0x48, 0xf7, 0xd1]);
    }

    /// `lea rcx, [rcx + rax + 1]`. If rcx has the complement of a number, the result is rax minus
    /// that number.
    pub fn difference_to_rcx(&mut self) {
        self.bytes(&[0x48, 0x8d, 0x4c, 0x01, 0x01]);
    }

    /// `movzx ecx, ax`
    pub fn low_half_to_rcx(&mut self) {
        self.bytes(&[0x0f, 0xb7, 0xc8]);
    }

    /// `lea rcx, [rcx + rcx]` and `lea rdx, [rdx + rcx * 8]`, which add 16 times rcx to rdx.
    pub fn add_16_rcx_to_rdx(&mut self) {
        self.bytes(&[0x48, 0x8d, 0x0c, 0x09, 0x48, 0x8d, 0x14, 0xca]);
    }

    /// Loads `bytes` bytes (1, 2, 4 or 8) from [rax + displacement] to rax, and clears the bits
    /// above.
    pub fn load_rax_small(&mut self, bytes: u32, displacement: i8) {
        match bytes {
            1 => self.bytes(&[0x0f, 0xb6, 0x40]),
            2 => self.bytes(&[0x0f, 0xb7, 0x40]),
            4 => self.bytes(&[0x8b, 0x40]),
            _ => self.bytes(&[0x48, 0x8b, 0x40]),
        }
        self.bytes(&[displacement as u8]);
    }
}

/// A memory operand without its segment: base, index with its scale, displacement.
#[derive(Clone, Copy, Default)]
pub struct Memory {
    /// The base register.
    pub base: Option<Reg>,
    /// The index register (never rsp) and its scale.
    pub index: Option<(Reg, u32)>,
    /// The displacement, which is added to them.
    pub displacement: i32,
}

impl Emitter {
    fn with_memory(&mut self, opcode: u8, reg: Reg, memory: Memory) {
        let (index, scale) = memory.index.unwrap_or((RSP, 1));
        let base = memory.base.unwrap_or(5);
        let rex = 0x48 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3;
        let mode = if memory.base.is_some() { 0x80 } else { 0 };
        let sib = (scale.trailing_zeros() as u8) << 6 | (index & 7) << 3 | base & 7;
        self.bytes(&[rex, opcode, mode | (reg & 7) << 3 | 4, sib]);
        self.word(memory.displacement as u32);
    }

    /// `lea reg, memory`
    pub fn lea_memory(&mut self, reg: Reg, memory: Memory) {
        self.with_memory(0x8d, reg, memory);
    }

    /// `mov reg, memory`, in the segment FS if `in_fs`.
    pub fn load_memory(&mut self, reg: Reg, memory: Memory, in_fs: bool) {
        if in_fs {
            self.bytes(&[0x64]);
        }
        self.with_memory(0x8b, reg, memory);
    }
}

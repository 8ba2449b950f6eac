// Critical sections whose address sets are known by construction.
//
// A section is a function in assembly. `driver` takes a lock, calls the section, and releases the
// lock. The section touches only what its instructions name, and one word of the driver's stack: it
// has the return address of the section's call, and then that of the unlocking call. The program
// prints these lines:
//
//   @case PROCESS NAME LOCK  the section under this lock (if there are several, the next one)
//   @read ADDRESS BYTES      memory that the section reads
//   @write ADDRESS BYTES     memory that the section writes
#include "truth.h"

#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void section(void *data);

// The stack pointer at the call of the section, for sections that use the stack.
uint64_t stack_in_section;

void driver(pthread_mutex_t *lock, section *body, void *data, void *lock_it, void *unlock_it);
__asm__(
    ".text\n"
    "driver:\n"
    "  push %rbx; push %r12; push %r13; push %r14; push %rbp\n"
    "  mov %rdi, %rbx; mov %rsi, %r12; mov %rdx, %r13; mov %r8, %r14\n"
    "  lea -8(%rsp), %rax; mov %rax, stack_in_section(%rip)\n"
    "  call *%rcx\n"
    "  mov %r13, %rdi\n"
    "  call *%r12\n"
    "  mov %rbx, %rdi\n"
    "  call *%r14\n"
    "  pop %rbp; pop %r14; pop %r13; pop %r12; pop %rbx\n"
    "  ret\n");

static char bytes[8192] __attribute__((aligned(64)));
__thread uint64_t own[8];

#define BODY(name, text)                                                                        \
    void name(void *);                                                                          \
    __asm__(".text\n" #name ":\n" text "\n ret\n");

static void reads(const void *at, size_t n) {
    say("@read %p %zu", at, n);
}

static void writes(const void *at, size_t n) {
    say("@write %p %zu", at, n);
}

static void both(const void *at, size_t n) {
    reads(at, n);
    writes(at, n);
}

// Prints that a section has run. The lines for its accesses come afterwards.
static void begin(const char *name, pthread_mutex_t *lock) {
    say("@case %d %s %p", (int)getpid(), name, (void *)lock);
    both((void *)stack_in_section, 8);
}

// Runs a section under its own lock.
static void run(const char *name, section *body, void *data) {
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, NULL);
    driver(lock, body, data, pthread_mutex_lock, pthread_mutex_unlock);
    begin(name, lock);
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        sum = sum * 31 + (unsigned char)bytes[i];
    }
    say("%s %u", name, sum);
}

static char *at(size_t n) {
    return bytes + n;
}

// --- plain loads and stores

BODY(plain, "movb (%rdi), %al\n movb %al, 1(%rdi)\n movw 2(%rdi), %ax\n movw %ax, 7(%rdi)\n"
            "movl 64(%rdi), %eax\n movl %eax, 93(%rdi)\n movq 128(%rdi), %rax\n"
            "movq %rax, 203(%rdi)\n mov $3, %ecx\n movl $7, 256(%rdi,%rcx,8)\n"
            "movzbl 300(%rdi), %edx\n movslq 304(%rdi), %rdx\n lea 400(%rdi), %rdx\n"
            "nopw 500(%rdi)\n prefetcht0 600(%rdi)\n cmpq $1, 320(%rdi)\n testb $1, 331(%rdi)")

static void test_plain(const char *name) {
    run(name, plain, bytes);
    reads(at(0), 1), writes(at(1), 1), reads(at(2), 2), writes(at(7), 2);
    reads(at(64), 4), writes(at(93), 4), reads(at(128), 8), writes(at(203), 8);
    writes(at(280), 4), reads(at(300), 1), reads(at(304), 4), reads(at(320), 8), reads(at(331), 1);
}

// --- read, modify and write

BODY(modify, "incl (%rdi)\n addq $5, 8(%rdi)\n mov $1, %eax\n lock xaddl %eax, 16(%rdi)\n"
             "xchgq %rax, 24(%rdi)\n negb 32(%rdi)\n shlw $3, 34(%rdi)\n"
             // A compare-and-exchange that succeeds, and one that fails.
             "movl 40(%rdi), %eax\n mov $9, %ecx\n lock cmpxchgl %ecx, 40(%rdi)\n"
             "mov 48(%rdi), %rax\n not %rax\n lock cmpxchgq %rcx, 48(%rdi)\n"
             "push %rbx\n mov 64(%rdi), %rax\n mov 72(%rdi), %rdx\n xor %ebx, %ebx\n xor %ecx, %ecx\n"
             "lock cmpxchg16b 64(%rdi)\n pop %rbx\n"
             // Distant bits: 1000 is bit 8 of the four bytes at 124; -17 is in the operand before.
             "mov $1000, %eax\n bts %eax, 1024(%rdi)\n mov $-17, %rax\n btq %rax, 1024(%rdi)\n"
             "btcl $3, 1100(%rdi)\n setc 1105(%rdi)\n cmovzl 1108(%rdi), %eax")

static void test_modify(void) {
    run("modify", modify, bytes);
    char *stack = (char *)stack_in_section;
    both(stack - 8, 8); // rbx
    both(at(0), 4), both(at(8), 8), both(at(16), 4), both(at(24), 8), both(at(32), 1), both(at(34), 2);
    both(at(40), 4), reads(at(48), 8), both(at(64), 16);
    both(at(1024 + 124), 4), reads(at(1024 - 8), 8), both(at(1100), 4), writes(at(1105), 1);
    reads(at(1108), 4);
}

// --- string instructions

BODY(strings, "mov %rdi, %r8\n cld\n"
              "lea (%r8), %rsi\n lea 100(%r8), %rdi\n mov $13, %ecx\n rep movsb\n"
              "lea 200(%r8), %rdi\n mov $3, %ecx\n mov $7, %eax\n rep stosq\n"
              // It finds the byte at 305.
              "movb $77, 305(%r8)\n lea 300(%r8), %rdi\n mov $77, %eax\n mov $100, %ecx\n repne scasb\n"
              // The texts differ at 402 and 502.
              "movw $9, 400(%r8)\n movw $9, 500(%r8)\n movb $1, 402(%r8)\n movb $2, 502(%r8)\n lea 400(%r8), %rsi\n lea 500(%r8), %rdi\n"
              "mov $50, %ecx\n repe cmpsb\n"
              "lea 600(%r8), %rsi\n lodsw\n lodsl\n lea 640(%r8), %rdi\n stosb\n movsl\n"
              // Four words are copied backwards; they end at 720 and 760.
              "std\n lea 712(%r8), %rsi\n lea 752(%r8), %rdi\n mov $4, %ecx\n rep movsq\n"
              "lea 800(%r8), %rdi\n stosl\n cld\n"
              // Nothing is written.
              "lea 900(%r8), %rdi\n xor %ecx, %ecx\n rep stosb")

static void test_strings(void) {
    run("strings", strings, bytes);
    reads(at(0), 13), writes(at(100), 13), writes(at(200), 24);
    writes(at(305), 1), reads(at(300), 6), writes(at(400), 3), writes(at(500), 3);
    reads(at(400), 3), reads(at(500), 3), reads(at(600), 6), writes(at(640), 1);
    reads(at(606), 4), writes(at(641), 4);
    reads(at(688), 32), writes(at(728), 32), writes(at(800), 4);
}

// --- vectors

BODY(vectors, "xor %eax, %eax\n pxor %xmm1, %xmm1\n pxor %xmm2, %xmm2\n pxor %mm0, %mm0\n"
              "movups (%rdi), %xmm0\n movaps %xmm0, 64(%rdi)\n movsd 100(%rdi), %xmm1\n"
              "movss %xmm1, 113(%rdi)\n movhps 120(%rdi), %xmm1\n movnti %rax, 128(%rdi)\n"
              "pinsrb $3, 150(%rdi), %xmm2\n pextrw $1, %xmm2, 160(%rdi)\n"
              "paddd 176(%rdi), %xmm2\n cvtsi2sdl 200(%rdi), %xmm3\n"
              // The mask has bytes 1, 2 and 8 of sixteen.
              "mov %rdi, %r8\n movdqu 8000(%r8), %xmm4\n lea 300(%r8), %rdi\n maskmovdqu %xmm4, %xmm2\n"
              "movq %mm0, 8(%r8)\n emms")

static void test_vectors(void) {
    memset(at(8000), 0, 16);
    bytes[8001] = bytes[8002] = bytes[8008] = (char)0x80;
    run("vectors", vectors, bytes);
    reads(at(0), 16), writes(at(64), 16), reads(at(100), 8), writes(at(113), 4), reads(at(120), 8);
    writes(at(128), 8), reads(at(150), 1), writes(at(160), 2), reads(at(176), 16), reads(at(200), 4);
    reads(at(8000), 16), writes(at(301), 2), writes(at(308), 1), writes(at(8), 8);
}

BODY(avx, "vmovups (%rdi), %ymm0\n vmovdqa %ymm0, 64(%rdi)\n vaddps 128(%rdi), %ymm0, %ymm0\n"
          // The masks have elements 0, 3 and 7 of eight, and element 1 of two.
          "vmovdqu 8000(%rdi), %ymm1\n vmaskmovps 200(%rdi), %ymm1, %ymm2\n"
          "vmaskmovps %ymm2, %ymm1, 300(%rdi)\n vmovdqu 8032(%rdi), %xmm9\n"
          "vpmaskmovq %xmm9, %xmm9, 400(%rdi)\n"
          // The indices of four bytes are 5, -2, 0, 100; the mask omits the second.
          "vmovdqu 8048(%rdi), %xmm3\n vmovdqu 8064(%rdi), %xmm4\n"
          "vpgatherdd %xmm4, 1000(%rdi,%xmm3,4), %xmm5\n"
          // The indices of eight bytes are 3 and -1.
          "vmovdqu 8080(%rdi), %xmm13\n vpcmpeqd %xmm4, %xmm4, %xmm4\n"
          "vgatherqpd %xmm4, 2000(%rdi,%xmm13,8), %xmm6\n"
          "vbroadcastss 2100(%rdi), %ymm7\n vextracti128 $1, %ymm7, 2110(%rdi)\n"
          "vpmovzxbd 2200(%rdi), %ymm7\n vzeroupper")

static void test_avx(void) {
    int32_t mask[8] = {-1, 0, 0, -1, 0, 0, 0, -1}, gather[4] = {5, -2, 0, 100};
    int32_t masked[4] = {-1, 0, -1, -1};
    int64_t pair[2] = {0, -1}, far[2] = {3, -1};
    memcpy(at(8000), mask, 32), memcpy(at(8032), pair, 16), memcpy(at(8048), gather, 16);
    memcpy(at(8064), masked, 16), memcpy(at(8080), far, 16);
    run("avx", avx, bytes);
    reads(at(0), 32), writes(at(64), 32), reads(at(128), 32), reads(at(8000), 96);
    for (int i = 0; i < 8; i += i == 0 ? 3 : 4) {
        reads(at(200 + 4 * i), 4), writes(at(300 + 4 * i), 4);
    }
    writes(at(408), 8);
    reads(at(1020), 4), reads(at(1000), 4), reads(at(1400), 4);
    reads(at(2024), 8), reads(at(1992), 8);
    reads(at(2100), 4), writes(at(2110), 16), reads(at(2200), 8);
}

BODY(avx512, "vpxorq %zmm30, %zmm30, %zmm30\n mov $0x8000000000000011, %rax\n kmovq %rax, %k1\n"
             "vmovdqu8 (%rdi), %zmm0{%k1}{z}\n vmovdqu8 %zmm0, 100(%rdi){%k1}\n"
             "mov $0x8005, %eax\n kmovd %eax, %k2\n vmovdqu32 %zmm0, 200(%rdi){%k2}\n"
             "vaddps 300(%rdi), %zmm0, %zmm17{%k2}\n"
             "vaddps 400(%rdi){1to16}, %zmm0, %zmm17{%k2}\n"
             "vaddpd 408(%rdi){1to8}, %zmm0, %zmm17\n"
             "vpcompressd %zmm17, 500(%rdi){%k2}\n vpexpandd 600(%rdi), %zmm18{%k2}{z}\n"
             "kxorq %k3, %k3, %k3\n vmovups 700(%rdi), %zmm0{%k3}\n vbroadcastss 700(%rdi), %zmm0{%k3}\n"
             "vbroadcastss 720(%rdi), %zmm0{%k2}\n"
             // The indices are 1, -1, 2, ...; k4 has the first and the third.
             "vmovdqu32 8000(%rdi), %zmm20\n mov $5, %eax\n kmovd %eax, %k4\n"
             "vpscatterdd %zmm17, 1000(%rdi,%zmm20,4){%k4}\n mov $2, %eax\n kmovd %eax, %k4\n"
             "vpgatherdd 2000(%rdi,%zmm20,8), %zmm19{%k4}\n"
             "vpmovdb %zmm17, 900(%rdi){%k2}\n vmovss 940(%rdi), %xmm1{%k4}{z}\n"
             "vmovups %zmm30, 1200(%rdi)\n kmovw %k2, 1300(%rdi)\n vpcmpd $0, 1320(%rdi), %zmm0, %k5{%k2}\n"
             "vcvtps2pd 1500(%rdi), %zmm0{%k2}\n vzeroupper")

static void test_avx512(void) {
    int32_t indices[16] = {1, -1, 2};
    memcpy(at(8000), indices, 64);
    run("avx512", avx512, bytes);
    const int by_byte[] = {0, 4, 63}, by_word[] = {0, 2, 15};
    for (int i = 0; i < 3; i++) {
        reads(at(by_byte[i]), 1), writes(at(100 + by_byte[i]), 1);
        writes(at(200 + 4 * by_word[i]), 4), reads(at(300 + 4 * by_word[i]), 4);
        writes(at(900 + by_word[i]), 1), reads(at(1320 + 4 * by_word[i]), 4);
    }
    reads(at(400), 4), reads(at(408), 8), writes(at(500), 12), reads(at(600), 12), reads(at(720), 4);
    reads(at(8000), 64), writes(at(1004), 4), writes(at(1008), 4), reads(at(1992), 4);
    writes(at(1200), 64), writes(at(1300), 2), reads(at(1500), 4), reads(at(1508), 4);
}

// --- the stack, calls, jumps

BODY(stack, "push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n movl $1, -4(%rbp)\n call 1f\n pushfq\n popfq\n"
            "pushq 8(%rdi)\n popq 16(%rdi)\n push $3\n pushq $4\n popq 8(%rsp)\n add $8, %rsp\n leave\n jmp 2f\n"
            "1: movq %rax, -8(%rsp)\n movq -8(%rsp), %rax\n ret\n"
            "2: lea 3f(%rip), %rax\n call *%rax\n lea 4f(%rip), %rax\n mov %rax, 24(%rdi)\n"
            "call *24(%rdi)\n lea 5f(%rip), %rax\n mov %rax, 32(%rdi)\n jmp *32(%rdi)\n"
            "3: ret\n 4: ret\n 5: movq $0, 24(%rdi)\n movq $0, 32(%rdi)")

static void test_stack(void) {
    run("stack", stack, bytes);
    char *s = (char *)stack_in_section - 8; // rbp
    both(s, 8), writes(s - 4, 4), both(s - 40, 8), both(s - 48, 8), writes(s - 32, 8);
    // Label 1 is called with the stack at s - 32: its return address and the word below.
    reads(at(8), 8), writes(at(16), 8);
    both(at(24), 8), both(at(32), 8);
}

BODY(jumps, "xor %eax, %eax\n mov $5, %ecx\n 1: addl $1, (%rdi)\n loop 1b\n jrcxz 2f\n movb $1, 100(%rdi)\n"
            "2: mov $3, %ecx\n cmp $3, %ecx\n jne 3f\n movb $2, 108(%rdi)\n 3: jle 4f\n movb $3, 116(%rdi)\n"
            "4: stc\n jnc 5f\n jc 6f\n 5: movb $4, 124(%rdi)\n 6: mov $0x7fffffff, %edx\n add $1, %edx\n"
            "jo 7f\n movb $5, 132(%rdi)\n 7: js 8f\n movb $6, 140(%rdi)\n 8: jp 9f\n movb $7, 148(%rdi)\n"
            "9: mov $2, %ecx\n test %ecx, %ecx\n 1: loopne 1b\n movb $8, 156(%rdi)\n"
            // The flags are used after several blocks, at whose beginnings the tracer runs.
            "sub $1, %rax\n movl 200(%rdi), %edx\n mov %edx, 204(%rdi)\n jmp 1f\n 1: adcl $0, 208(%rdi)\n"
            "jmp 1f\n 1: sbbl $0, 212(%rdi)\n setb 216(%rdi)")

static void test_jumps(void) {
    run("jumps", jumps, bytes);
    both(at(0), 4), writes(at(108), 1), writes(at(156), 1);
    reads(at(200), 4), writes(at(204), 4), both(at(208), 4), both(at(212), 4), writes(at(216), 1);
}

// --- addresses of other kinds

uint64_t global[8];
BODY(places, "movq global(%rip), %rax\n addl $1, global+8(%rip)\n movb %ah, global+17(%rip)\n"
             "movb global+18(%rip), %ch\n cmpb $7, global+25(%rip)\n movups global+32(%rip), %xmm0\n"
             "mov %fs:0, %rax\n mov %fs:own@tpoff, %rdx\n mov $own@tpoff, %rcx\n movl $1, %fs:12(%rcx)\n"
             "lea global(%rip), %rdx\n movb $5, 63(%rdx)\n"
             "fldt global(%rip)\n fstpl 64(%rdi)\n fildq 72(%rdi)\n fistpl 80(%rdi)\n fnstcw 90(%rdi)\n"
             "stmxcsr 96(%rdi)\n ldmxcsr 96(%rdi)")

static void test_places(void) {
    run("places", places, bytes);
    reads(&global[0], 8), both((char *)global + 8, 4), writes((char *)global + 17, 1);
    reads((char *)global + 18, 1), reads((char *)global + 25, 1), reads(&global[4], 16);
    reads(__builtin_thread_pointer(), 8), reads(&own[0], 8), writes((char *)own + 12, 4);
    writes((char *)global + 63, 1), reads(global, 10), writes(at(64), 8), reads(at(72), 8);
    writes(at(80), 4), writes(at(90), 2), both(at(96), 4);
}

// A block that uses all registers, so the tracer has no free register.
BODY(crowded, "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
              "mov (%rdi), %rax\n mov 8(%rdi), %rcx\n mov 16(%rdi), %rdx\n mov 24(%rdi), %rbx\n"
              "mov 32(%rdi), %rsi\n mov 40(%rdi), %rbp\n mov 48(%rdi), %r8\n mov 56(%rdi), %r9\n"
              "mov 64(%rdi), %r10\n mov 72(%rdi), %r11\n mov 80(%rdi), %r12\n mov 88(%rdi), %r13\n"
              "mov 96(%rdi), %r14\n mov 104(%rdi), %r15\n xor %rax, global(%rip)\n add %rcx, %rdx\n"
              "adc %rbx, %rsi\n adc %rbp, %r8\n adc %r9, %r10\n adc %r11, %r12\n adc %r13, %r14\n"
              "sbb %r15, %rax\n mov %rax, 112(%rdi)\n mov %r14, 120(%rdi)\n setc 128(%rdi)\n"
              "mov %ah, global+9(%rip)\n"
              "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx")

static void test_crowded(void) {
    run("crowded", crowded, bytes);
    char *s = (char *)stack_in_section;
    both(s - 48, 48), reads(at(0), 112), writes(at(112), 17), both(global, 8);
    writes((char *)global + 9, 1);
}

// --- library and system calls

BODY(copy, "mov %rdi, %rsi\n lea 1000(%rdi), %rdi\n mov 4000(%rsi), %rdx\n jmp *4008(%rsi)\n")

// Every variant of memcpy that a machine may use reads and writes exactly these bytes. It is called
// through a pointer, because calls through the linker's tables are not tested here.
static void test_library(void) {
    size_t sizes[] = {1, 13, 30, 60};
    for (int i = 0; i < 4; i++) {
        void *(*function)(void *, const void *, size_t) = memcpy;
        memcpy(at(4000), &sizes[i], 8);
        memcpy(at(4008), &function, 8);
        memset(at(1000), 0, 500);
        pthread_mutex_t *lock = malloc(sizeof *lock);
        pthread_mutex_init(lock, NULL);
        driver(lock, copy, bytes, pthread_mutex_lock, pthread_mutex_unlock);
        memset(at(4000), 0, 16);
        begin("library", lock);
        reads(at(4000), 16), reads(at(0), sizes[i]), writes(at(1000), sizes[i]);
    }
}

BODY(calls, "mov %rdi, %r8\n mov (%r8), %edi\n lea 64(%r8), %rsi\n mov $21, %edx\n mov $1, %eax\n syscall\n"
            "mov 4(%r8), %edi\n lea 128(%r8), %rsi\n mov $100, %edx\n xor %eax, %eax\n syscall\n"
            "mov $228, %eax\n mov $1, %edi\n lea 304(%r8), %rsi\n syscall\n mov $39, %eax\n syscall\n"
            // This call fails, so nothing is written.
            "mov $-1, %edi\n lea 400(%r8), %rsi\n mov $9, %edx\n xor %eax, %eax\n syscall\n"
            "mov %eax, 500(%r8)\n movq $0, (%r8)\n movq $0, 304(%r8)\n movq $0, 312(%r8)")

static void test_calls(void) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    ((int *)bytes)[0] = ends[1];
    ((int *)bytes)[1] = ends[0];
    run("calls", calls, bytes);
    both(at(0), 8), reads(at(64), 21), writes(at(128), 21), writes(at(304), 16), writes(at(500), 4);
    close(ends[0]), close(ends[1]);
}

// Further memory that the kernel reads and writes: a name, those parts of a vector that are filled,
// structures.
char results[512] __attribute__((aligned(64)));
BODY(more_calls,
     "mov %rdi, %r8\n lea 16(%r8), %rdi\n xor %esi, %esi\n mov $21, %eax\n syscall\n"
     "mov (%r8), %edi\n lea results+400(%rip), %rsi\n mov $2, %edx\n mov $19, %eax\n syscall\n"
     "xor %edi, %edi\n mov $7, %esi\n xor %edx, %edx\n lea results(%rip), %r10\n mov $302, %eax\n syscall\n"
     "mov (%r8), %edi\n lea results+64(%rip), %rsi\n mov $5, %eax\n syscall\n"
     "lea results+432(%rip), %rdi\n mov $2, %esi\n xor %edx, %edx\n mov $7, %eax\n syscall\n"
     "mov 4(%r8), %edi\n lea results+256(%rip), %rsi\n mov $4, %edx\n xor %r10d, %r10d\n mov $232, %eax\n"
     "syscall\n movq $0, (%r8)")

static void test_more_calls(void) {
    int ends[2], events = epoll_create1(0);
    struct epoll_event writable = {.events = EPOLLOUT};
    REQUIRE(pipe(ends) == 0 && events >= 0);
    REQUIRE(epoll_ctl(events, EPOLL_CTL_ADD, ends[1], &writable) == 0);
    REQUIRE(write(ends[1], "sixteen of bytes", 16) == 16);
    ((int *)bytes)[0] = ends[0];
    ((int *)bytes)[1] = events;
    strcpy(at(16), "/dev/null");
    struct iovec parts[2] = {{at(700), 10}, {at(720), 30}};
    memcpy(results + 400, parts, sizeof parts);
    struct pollfd polled[2] = {{.fd = ends[1], .events = POLLOUT}, {.fd = -1}};
    memcpy(results + 432, polled, sizeof polled);
    run("more_calls", more_calls, bytes);
    reads(at(16), 10), reads(at(0), 8), writes(at(0), 8);
    reads(results + 400, 32), writes(at(700), 10), writes(at(720), 6);
    reads(results + 432, 16), writes(results + 438, 2), writes(results + 446, 2);
    writes(results, sizeof(struct rlimit)), writes(results + 64, sizeof(struct stat));
    writes(results + 256, sizeof(struct epoll_event));
    close(ends[0]), close(ends[1]), close(events);
}

// --- code that changes

void *protected_page;
BODY(protected, "mov %rdi, %r8\n mov protected_page(%rip), %r9\n call *%r9\n"
                "mov %r9, %rdi\n mov $4096, %esi\n mov $7, %edx\n mov $10, %eax\n syscall\n"
                "mov %r8, %rdi\n movb $0x20, 2(%r9)\n call *%r9\n")

// Code in a page that can't be written to when it runs first, but is writable before it runs again.
static void test_protected(void) {
    // movb %al, 0x10(%rdi); ret
    const unsigned char code[] = {0x88, 0x47, 0x10, 0xc3};
    int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    protected_page = mmap(NULL, 4096, access, kind, -1, 0);
    REQUIRE(protected_page != MAP_FAILED);
    memcpy(protected_page, code, sizeof code);
    REQUIRE(mprotect(protected_page, 4096, PROT_READ | PROT_EXEC) == 0);
    run("protected", protected, bytes);
    writes(at(0x10), 1), writes(at(0x20), 1), both((char *)stack_in_section - 8, 8);
    reads(&protected_page, 8), writes((char *)protected_page + 2, 1);
    munmap(protected_page, 4096);
}

static void test_changing(void) {
    // The code is: mov $1, %al; movb %al, 0x10(%rdi); a nop of eight bytes; movb %al, N(%rdi); ret.
    // Only N, which comes after the first eight bytes, is changed.
    unsigned char code[] = {0xb0, 1, 0x88, 0x47, 0x10, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x88, 0x47, 0, 0xc3};
    int access = PROT_READ | PROT_WRITE | PROT_EXEC;
    unsigned char *page = mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    for (int i = 0; i < 6; i++) {
        code[15] = (unsigned char)(0x20 + 8 * (i % 3));
        memcpy(page, code, sizeof code);
        run("changing", (section *)(void *)page, bytes);
        writes(at(0x10), 1), writes(at(code[15]), 1);
    }
    munmap(page, 4096);
}

// --- signals and forks in the middle

static volatile int handled;
static pthread_mutex_t handlers_lock = PTHREAD_MUTEX_INITIALIZER;

static void handler(int number) {
    handled += number;
    pthread_mutex_lock(&handlers_lock);
    bytes[5000]++;
    pthread_mutex_unlock(&handlers_lock);
}

BODY(signals, "mov $10, %r8d\n mov %rdi, %r9\n movl (%r9), %edi\n movl 4(%r9), %esi\n mov $10, %edx\n"
              "mov $0x123456789, %r10\n stc\n mov $234, %eax\n syscall\n"
              "movq %r10, 8(%r9)\n addl $1, 16(%r9)\n movq $0, (%r9)")

static void test_signals(void) {
    signal(SIGUSR1, handler);
    ((int *)bytes)[0] = getpid();
    ((int *)bytes)[1] = gettid();
    handled = 0;
    run("signals", signals, bytes);
    both(at(0), 8), writes(at(8), 8), both(at(16), 4);
    REQUIRE(handled == SIGUSR1);
}

// Tracing stops at the fork. The accesses before it are in the set.
BODY(forks, "movb $1, 1(%rdi)\n mov %rdi, %r8\n mov $57, %eax\n syscall\n mov %eax, 8(%r8)")

static void test_fork(void) {
    pid_t parent = getpid();
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    driver(&lock, forks, bytes, pthread_mutex_lock, pthread_mutex_unlock);
    pid_t child = *(pid_t *)at(8);
    if (getpid() != parent) {
        // In the child, tracing starts again.
        *(pid_t *)at(8) = 0;
        test_plain("child");
        exit(child == 0 ? 7 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    *(pid_t *)at(8) = 0;
    say("@case %d fork %p", (int)parent, (void *)&lock);
    writes((char *)stack_in_section, 8), writes(at(1), 1);
}

int main(void) {
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 37 + i / 256);
    }
    test_plain("plain"), test_modify(), test_strings(), test_vectors();
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) {
        test_avx();
    }
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        test_avx512();
    }
    test_stack(), test_jumps(), test_places(), test_crowded(), test_library(), test_calls();
    test_more_calls(), test_protected();
    test_changing(), test_signals(), test_fork();
    return 0;
}

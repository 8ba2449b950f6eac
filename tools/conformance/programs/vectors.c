// A thread waits in a system call and has values in all vector registers. The kernel does not
// change them, and code with inline system calls, such as that of Go, may rely on that. For each
// byte of standard input, the program prints "same", or the number of the first register that has
// changed.
#include <stdio.h>
#include <string.h>

#define EACH(DO)                                                                                   \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) \
        DO(15)
#define LOAD_AVX(n) "vmovdqu " #n "*32(%[put]), %%ymm" #n "\n"
#define STORE_AVX(n) "vmovdqu %%ymm" #n ", " #n "*32(%[got])\n"
#define LOAD_SSE(n) "movdqu " #n "*32(%[put]), %%xmm" #n "\n"
#define STORE_SSE(n) "movdqu %%xmm" #n ", " #n "*32(%[got])\n"
#define REGISTER(n) "xmm" #n,

static unsigned char put[16][32], got[16][32];

// Reads a byte; false at the end of the input.
#define READ(LOAD, STORE, AFTER)                                                                   \
    __asm__ volatile(EACH(LOAD) "syscall\n" EACH(STORE) AFTER                                      \
                     : "+a"(result)                                                                \
                     : "D"(0L), "S"(&byte), "d"(1L), [put] "r"(put), [got] "r"(got)                \
                     : EACH(REGISTER) "rcx", "r11", "memory")

static int wait_with_avx(void) {
    long result = 0;
    char byte;
    READ(LOAD_AVX, STORE_AVX, "vzeroupper\n");
    return result == 1;
}

static int wait_with_sse(void) {
    long result = 0;
    char byte;
    READ(LOAD_SSE, STORE_SSE, "");
    return result == 1;
}

int main(void) {
    int avx = __builtin_cpu_supports("avx");
    for (int n = 0; n < 16; n++)
        memset(put[n], 17 * (n + 1), avx ? 32 : 16);
    while (avx ? wait_with_avx() : wait_with_sse()) {
        int n = 0;
        while (n < 16 && memcmp(put[n], got[n], 32) == 0)
            n++;
        n == 16 ? printf("same\n") : printf("%d\n", n);
        fflush(stdout);
    }
    return 0;
}

// The program's only thread waits. Its stack pointer is in the lowest stack page that the thread
// has touched, far below the part of the stack that the kernel maps at first. It prints each byte
// of standard input on a separate line.
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    static char line[2] = {0, '\n'};
    long result;
    do {
        // Touches 64 pages, from higher to lower addresses, and waits in the last one. The system
        // call is inline, so nothing below its stack pointer is touched.
        __asm__ volatile("mov %%rsp, %%rbx\n"
                         "and $-4096, %%rsp\n"
                         "mov $64, %%ecx\n"
                         "1: sub $4096, %%rsp\n"
                         "orq $0, (%%rsp)\n"
                         "dec %%ecx\n"
                         "jnz 1b\n"
                         "add $256, %%rsp\n"
                         "syscall\n"
                         "mov %%rbx, %%rsp\n"
                         : "=a"(result)
                         : "a"(SYS_read), "D"(0L), "S"(line), "d"(1L)
                         : "rbx", "rcx", "r11", "memory", "cc");
    } while (result == 1 && write(1, line, 2) == 2);
    return 0;
}

/* Transactions of GCC's libitm: begin, run, commit. gcc -fgnu-tm would make these calls for
 * __transaction_atomic. Here it would leave them out, because it can't see that the body reads
 * and writes (through _ITM_RU8 and _ITM_WU8). */

#include <stdint.h>

/* From the ABI ("Intel Transactional Memory Compiler and Runtime ABI", 5.1, and libitm.h). */
#define INSTRUMENTED_CODE 0x0001
#define HAS_NO_ABORT 0x0008
uint32_t _ITM_beginTransaction(uint32_t properties, ...) __attribute__((returns_twice));
void _ITM_commitTransaction(void);

void itm_atomically(void (*body)(void *), void *argument);

void itm_atomically(void (*body)(void *), void *argument)
{
    _ITM_beginTransaction(INSTRUMENTED_CODE | HAS_NO_ABORT);
    body(argument);
    _ITM_commitTransaction();
}

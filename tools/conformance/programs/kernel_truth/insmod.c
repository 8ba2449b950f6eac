/* Loads a module into the kernel. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **words)
{
	int file = count == 2 ? open(words[1], O_RDONLY) : -1;

	if (file < 0 || syscall(SYS_finit_module, file, "", 0) != 0) {
		perror("insmod");
		return 1;
	}
	return 0;
}

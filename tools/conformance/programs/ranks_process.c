/* An ordinary program with threads, for `syncline cluster --unmodified`. Each mode uses something
 * that the threads of a process have in common, and prints the same lines in every run. */
#include "ranks.h"

static char name[64];

/* Memory that one thread allocates and another one frees; blocks grow; large blocks and mmap. */
static char *blocks[64];

static void *allocates(void *argument) {
    long me = (long)argument;
    for (int round = 0; round < 40; round++) {
        pthread_mutex_lock(&lock);
        for (long i = me; i < 64; i += THREADS) {
            long from = (i + 1) % 64;
            if (blocks[from]) {
                check(blocks[from][0] == blocks[from][99], "content");
                free(blocks[from]);
            }
            blocks[from] = malloc(100 + (size_t)i * 200);
            memset(blocks[from], (int)('a' + me), 100 + (size_t)i * 200);
            if (i % 8 == 0) {
                blocks[from] = realloc(blocks[from], 60000);
                check(blocks[from][99] == (char)('a' + me), "moved");
            }
        }
        pthread_mutex_unlock(&lock);
    }
    char *zero = calloc(3, 5000), *aligned = NULL;
    for (int i = 0; i < 15000; i++) check(zero[i] == 0, "zero");
    check(posix_memalign((void **)&aligned, 8192, 100) == 0 && (size_t)aligned % 8192 == 0, "aligned");
    char *mapped = mmap(NULL, 50000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(mapped != MAP_FAILED && mapped[49999] == 0, "mapped");
    check(munmap(mapped, 50000) == 0, "unmapped");
    free(zero);
    free(aligned);
    return (void *)(me * 3);
}

static void allocations(void) {
    run(allocates);
    check(malloc((size_t)1 << 50) == NULL && errno == ENOMEM, "too much");
    for (int i = 0; i < 64; i++) check(blocks[i] != NULL, "left");
    printf("allocated\n");
}

/* Files: a thread reads and writes what another one has opened, and opens files of its own. */
static int file;

static void *uses_files(void *argument) {
    long me = (long)argument;
    char *large = malloc(200000), path[96];
    for (int i = 0; i < 200000; i++) large[i] = (char)('a' + (i + me) % 26);
    pthread_mutex_lock(&lock);
    check(pwrite(file, large, 200000, me * 200000) == 200000, "pwrite");
    pthread_mutex_unlock(&lock);
    memset(large, 0, 200000);
    check(pread(file, large, 200000, me * 200000) == 200000, "pread");
    for (int i = 0; i < 200000; i++) check(large[i] == (char)('a' + (i + me) % 26), "read back");
    snprintf(path, sizeof path, "%s.%ld", name, me);
    FILE *text = fopen(path, "w+");
    check(text != NULL, "fopen");
    for (int i = 0; i < 1000; i++) fprintf(text, "line %d of %ld\n", i, me);
    rewind(text);
    char line[64];
    int lines = 0;
    while (fgets(line, sizeof line, text)) lines++;
    check(lines == 1000, "lines");
    fclose(text);
    struct stat status;
    check(stat(path, &status) == 0 && status.st_size > 13000, "stat");
    check(unlink(path) == 0, "unlink");
    check(open("/nonexistent", O_RDONLY) == -1 && errno == ENOENT, "errno");
    free(large);
    return (void *)(me * 3);
}

static void files(void) {
    file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    check(file >= 0, "open");
    run(uses_files);
    struct stat status;
    fstat(file, &status);
    printf("%ld bytes\n", (long)status.st_size);
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    check(write(ends[1], "over", 5) == 5, "write to a pipe");
    char *text = malloc(8192);
    check(read(ends[0], text + 4090, 5) == 5 && strcmp(text + 4090, "over") == 0, "over two pages");
    unlink(name);
}

/* Lines of several threads, in the order in which they synchronize. */
static int printed;

static void *prints(void *argument) {
    long me = (long)argument;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        while (printed % THREADS != me) {
            pthread_mutex_unlock(&lock);
            sched_yield();
            pthread_mutex_lock(&lock);
        }
        printf("line %d\n", printed++);
        pthread_mutex_unlock(&lock);
    }
    return (void *)(me * 3);
}

static void output(void) {
    printf("first\n");
    run(prints);
    printf("last\n");
}

/* Handlers of signals, on a thread that uses memory which is global. */
static volatile sig_atomic_t handled;

static void handler(int signal) {
    char room[3000];
    memset(room, signal, sizeof room);
    handled += room[2999] == (char)signal;
}

/* A signal for a thread, which may be on another rank than the one that has set the action. */
static __thread volatile sig_atomic_t handled_here;

static void handler_here(int signal) { handled_here = signal; }

static void *awaits_signal(void *started) {
    sem_post(started);
    struct timespec moment = {.tv_nsec = 1000000};
    while (!handled_here) nanosleep(&moment, NULL);
    return (void *)(long)handled_here;
}

static void signal_for_each_thread(void) {
    sem_t started;
    sem_init(&started, 0, 0);
    signal(SIGUSR2, handler_here);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_create(&threads[0], NULL, awaits_signal, &started);
        sem_wait(&started);
        check(pthread_kill(threads[0], SIGUSR2) == 0, "kill");
        pthread_join(threads[0], &result);
        check(result == (void *)SIGUSR2, "the signal");
    }
}

static void signals(void) {
    signal_for_each_thread();
    struct sigaction action = {.sa_handler = handler}, before;
    check(sigaction(SIGUSR1, &action, NULL) == 0, "action");
    check(sigaction(SIGUSR1, NULL, &before) == 0 && before.sa_handler == handler, "kept");
    for (int i = 0; i < 10; i++) raise(SIGUSR1);
    sigset_t set, old;
    sigfillset(&set);
    check(pthread_sigmask(SIG_SETMASK, &set, &old) == 0, "block");
    raise(SIGUSR1);
    check(handled == 10, "blocked");
    /* A page that is absent, with all signals blocked. */
    char *fresh = malloc(1 << 20);
    memset(fresh, 1, 1 << 20);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    check(handled == 11, "delivered");
    signal(SIGALRM, handler);
    struct timespec rest = {.tv_nsec = 50000000};
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer");
    struct itimerspec soon = {.it_value = {.tv_nsec = 5000000}};
    timer_settime(timer, 0, &soon, NULL);
    check(nanosleep(&rest, NULL) == -1 && errno == EINTR, "interrupted");
    printf("%d handled\n", (int)handled);
}

/* The end of the program from a thread: functions of `atexit`, buffers and the status. */
static void at_the_end(void) { printf("at the end\n"); }

static void *ends_all(void *argument) {
    pthread_mutex_lock(&lock);
    printf("ends\n");
    if (argument == (void *)1) exit(7);
    pthread_mutex_unlock(&lock);
    pause();
    return NULL;
}

static void ends(int which) {
    atexit(at_the_end);
    printf("begins\n");
    pthread_create(&threads[0], NULL, ends_all, (void *)(long)which);
    pthread_join(threads[0], NULL);
}

extern char **environ;

static void *reads_arguments(void *argument) {
    char **words = argument;
    check(strcmp(words[1], "arguments") == 0, "argument");
    check(getenv("SYNCLINE_TEST") && strcmp(getenv("SYNCLINE_TEST"), "set") == 0, "variable");
    return NULL;
}

/* Functions of the C library that use variables of the library, and map files. */
static void *uses_the_library(void *argument) {
    long me = (long)argument;
    pthread_mutex_lock(&lock);
    struct passwd *root = getpwuid(0);
    check(root && !strcmp(root->pw_dir, "/root"), "getpwuid");
    check(setlocale(LC_ALL, "C.UTF-8") != NULL, "setlocale");
    wchar_t wide[8];
    check(mbstowcs(wide, "\xc3\xa4", 8) == 1 && wide[0] == 0xe4, "wide characters");
    char *directory = realpath("/usr/./bin/..", NULL);
    check(directory && !strcmp(directory, "/usr"), "realpath");
    free(directory);
    struct utsname system;
    check(uname(&system) == 0 && !strcmp(system.sysname, "Linux"), "uname");
    static __thread struct stat status;
    check(stat("/", &status) == 0 && S_ISDIR(status.st_mode), "stat into a thread's own variable");
    pthread_mutex_unlock(&lock);
    return (void *)(me * 3);
}

static void libraries(void) {
    run(uses_the_library);
    printf("libraries used\n");
}

/* Stacks: deep recursion, and variables of a stack that other threads write. */
static long deep(int levels) {
    volatile char room[4000];
    room[0] = (char)levels;
    return levels ? deep(levels - 1) + room[0] % 2 : 0;
}

static void *writes_to_stack(void *argument) {
    long *cell = argument;
    deep(200);
    for (int i = 0; i < 1000; i++) ++*cell;
    return NULL;
}

static void stacks(void) {
    long on_stack[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, writes_to_stack, &on_stack[i]);
    long levels = deep(1500);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) check(on_stack[i] == 1000, "on the stack");
    printf("%ld\n", levels);
}

static void *overflows(void *unused) {
    printf("%ld\n", deep(1 << 20));
    return unused;
}

static void *aborts(void *unused) {
    abort();
    return unused;
}

static void *kills(void *unused) {
    pthread_kill(pthread_self(), SIGKILL);
    return unused;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    snprintf(name, sizeof name, "%s", argc > 2 ? argv[2] : "");
    if (!strcmp(mode, "allocations")) allocations();
    else if (!strcmp(mode, "files")) files();
    else if (!strcmp(mode, "output")) output();
    else if (!strcmp(mode, "signals")) signals();
    else if (!strcmp(mode, "exit")) ends(1);
    else if (!strcmp(mode, "stacks")) stacks();
    else if (!strcmp(mode, "libraries")) libraries();
    else if (!strcmp(mode, "arguments") || !strcmp(mode, "overflow") || !strcmp(mode, "killed") ||
             !strcmp(mode, "aborted")) {
        void *(*body)(void *) = !strcmp(mode, "arguments") ? reads_arguments
                                : *mode == 'o'             ? overflows
                                : *mode == 'k'             ? kills
                                                           : aborts;
        pthread_create(&threads[0], NULL, body, argv);
        pthread_join(threads[0], NULL);
        printf("%d arguments\n", argc);
    } else return 2;
    return 0;
}

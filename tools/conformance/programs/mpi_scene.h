/* Helpers of programs that play scenes with all ranks:
 * PROGRAM SCENE [ROUNDS] [SCENE [ROUNDS]]... */
#pragma once
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, rounds = 20;

struct scene {
    const char *name;
    void (*play)(void);
};

static void require(int good, const char *what)
{
    if (good) return;
    printf("rank %d: %s\n", rank, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* An Info with this key. Its value is this rank's word in KEYS; "-" stands for no key. */
static MPI_Info info_with(const char *key)
{
    char keys[256], *word;
    MPI_Info info;
    snprintf(keys, sizeof keys, "%s", getenv("KEYS"));
    word = strtok(keys, " ");
    for (int i = 0; i < rank; i++) word = strtok(NULL, " ");
    MPI_Info_create(&info);
    if (strcmp(word, "-")) MPI_Info_set(info, key, word);
    return info;
}

/* The value of a hint that the window uses. */
static inline const char *used(MPI_Win win, const char *hint)
{
    static char value[64];
    MPI_Info all;
    int found = 0;
    MPI_Win_get_info(win, &all);
    MPI_Info_get(all, hint, 63, value, &found);
    MPI_Info_free(&all);
    return found ? value : "nothing";
}

/* Plays the scenes on the command line, and ends MPI. MPI must be initialised. */
static void play(const struct scene *scenes, size_t number, int count, char **words)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int word = 1; word < count; word++)
        for (size_t i = 0; i < number; i++)
            if (!strcmp(words[word], scenes[i].name)) {
                if (word + 1 < count && atoi(words[word + 1])) rounds = atoi(words[word + 1]);
                scenes[i].play();
            }
    MPI_Finalize();
}

/* SPDX-License-Identifier: MIT */
/* The helper of shell_words.py, in two roles.
 *
 *     split            reads lines ended by NUL and writes what command_split made of each: "-1",
 * or the number of commands; per command the number of words; per word its length and its bytes.
 * Numbers stand in lines of their own. any other name   appends its own name and arguments to the
 * file $OUT as one record, the way the function in shell_words.py does, and exits with $STATUS
 */
#include "base/buf.h"
#include "tools/command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void put_commands(const struct commands *list)
{
    printf("%zu\n", list->n);
    for (size_t i = 0; i < list->n; i++) {
        printf("%zu\n", list->v[i].n);
        for (size_t w = 0; w < list->v[i].n; w++) {
            struct str word = list->v[i].words[w];
            printf("%zu\n", word.n);
            fwrite(word.p, 1, word.n, stdout);
        }
    }
}

static int split_lines(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getdelim(&line, &room, '\0', stdin)) > 0) {
        struct arena a = ARENA_INIT;
        struct commands list;
        if (command_split(&a, str_n(line, (size_t)n - 1), &list))
            put_commands(&list);
        else
            puts("-1");
        arena_clear(&a);
    }
    free(line);
    return 0;
}

static int say_words(const char *name, char **words)
{
    AUTO(buf) struct buf record = BUF_INIT;
    const char *status = getenv("STATUS");
    buf_addf(&record, "%s\036", name);
    for (; *words; words++)
        buf_addf(&record, "%s\036", *words);
    buf_addc(&record, '\035');
    int fd = open(getenv("OUT"), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write(fd, record.p, record.n) != (ssize_t)record.n)
        return 99;
    close(fd);
    return status ? atoi(status) : 0;
}

int main(int argc, char **argv)
{
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argv[0];
    return strcmp(name, "split") == 0 ? split_lines() : say_words(name, argv + 1);
}

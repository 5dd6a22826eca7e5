/* Checks that are counted. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <kinformer.h>

static unsigned passed, failed;

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

static inline void check(bool good, const char *what, const char *file, int line)
{
    if (good) {
        __atomic_add_fetch(&passed, 1, __ATOMIC_SEQ_CST);
    } else {
        __atomic_add_fetch(&failed, 1, __ATOMIC_SEQ_CST);
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
    }
}

/* For what a test cannot go on without. */
#define MUST(call) must((call), &error, #call, __FILE__, __LINE__)

static inline void must(kinf_status status, kinf_error **error, const char *what, const char *file, int line)
{
    if (status != KINF_OK) {
        fprintf(stderr, "%s:%d: %s: %d %s\n", file, line, what, (int)status, kinf_error_message(*error, NULL));
        exit(2);
    }
}

static inline int report(void)
{
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}

#endif

/* A race between a callback and the program, for ThreadSanitizer to find: what finds nothing elsewhere must find this. */
#include <unistd.h>
#include "cluster.h"

static unsigned unguarded, written, seen;

static void racing(void *user, const kinf_event *event)
{
    (void)user, (void)event;
    unguarded++;
    __atomic_store_n(&written, 1, __ATOMIC_RELAXED); /* which orders nothing */
    while (!__atomic_load_n(&seen, __ATOMIC_RELAXED))
        usleep(1000);
}

int main(void)
{
    struct cluster cluster = start_cluster(1);
    kinf_informer *informer = NULL;
    kinf_error *error = NULL;
    kinf_factory *factory = start_factory(&cluster, &informer);
    MUST(kinf_informer_on_event(informer, racing, NULL, NULL, -1, NULL, &error));
    MUST(kinf_factory_start(factory, &error));
    while (!__atomic_load_n(&written, __ATOMIC_RELAXED))
        usleep(1000);
    unguarded++;
    __atomic_store_n(&seen, 1, __ATOMIC_RELAXED);
    kinf_factory_free(factory);
    kinf_informer_free(informer);
    end_cluster(&cluster);
    return 0;
}

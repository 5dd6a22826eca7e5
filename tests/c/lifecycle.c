/* Everything made and freed, over and over: threads, file descriptors and memory stay where they were.
 * The argument says how often; without one, 1000 times. */
#include <dirent.h>
#include <unistd.h>
#include "cluster.h"

static unsigned entries(const char *path)
{
    unsigned count = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static long resident_kilobytes(void)
{
    long pages = 0, size = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void counting(void *user, const kinf_event *event)
{
    if (kinf_event_get_type(event) != KINF_SYNCED)
        add(user);
}

static void cycle(struct cluster *cluster, unsigned number)
{
    struct count events = NO_COUNT;
    kinf_error *error = NULL;
    kinf_client *client = NULL;
    kinf_factory *factory = NULL, *clone = NULL;
    kinf_informer *informer = NULL;
    kinf_events *queue = NULL;
    kinf_event *event = NULL;
    kinf_list *list = NULL;
    MUST(kinf_client_new(cluster->config, &client, &error));
    MUST(kinf_factory_new(client, NULL, &factory, &error));
    MUST(kinf_factory_clone(factory, &clone, &error));
    MUST(kinf_factory_informer(factory, cluster->maps, NULL, &informer, &error));
    MUST(kinf_events_new(&queue, &error));
    MUST(kinf_events_add(queue, informer, NULL, NULL, &error));
    MUST(kinf_informer_on_event(informer, counting, &events, NULL, -1, NULL, &error));
    MUST(kinf_factory_start(factory, &error));
    MUST(kinf_factory_wait_for_sync(factory, 60000, &error));
    MUST(kinf_informer_list(informer, NULL, 0, NULL, 0, &list, &error));
    CHECK(kinf_list_count(list) == 3 && value_of(&events) == 3);
    CHECK(strlen(kinf_object_name(kinf_list_at(list, 0), NULL)) == 5);
    MUST(kinf_events_next(queue, 60000, &event, &error));
    kinf_event_free(event);
    kinf_list_free(list);
    /* In several orders. */
    if (number % 2)
        kinf_events_free(queue);
    kinf_client_free(client);
    kinf_factory_free(factory);
    if (number % 3)
        kinf_informer_free(informer);
    kinf_factory_free(clone);
    if (number % 3 == 0)
        kinf_informer_free(informer);
    if (number % 2 == 0)
        kinf_events_free(queue);
}

/* The server in this process notices a while later that a connection was closed. */
static bool comes_down_to(const char *path, unsigned wanted)
{
    for (int wait = 0; wait < 6000 && entries(path) > wanted; wait++)
        usleep(10000);
    return entries(path) <= wanted;
}

int main(int count, char **arguments)
{
    unsigned cycles = count > 1 ? (unsigned)atoi(arguments[1]) : 1000;
    struct cluster cluster = start_cluster(3);
    unsigned threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
    /* As often before it counts: connections that the server in this process has not seen the end of pile up, to
       some number. What leaks goes on. */
    for (unsigned number = 0; number < cycles; number++)
        cycle(&cluster, number);
    long memory = resident_kilobytes();
    for (unsigned number = 0; number < cycles; number++)
        cycle(&cluster, number);
    CHECK(comes_down_to("/proc/self/task", threads));
    CHECK(comes_down_to("/proc/self/fd", files));
    printf("%u cycles: threads %u -> %u, files %u -> %u, resident %ld -> %ld KB\n", cycles, threads,
           entries("/proc/self/task"), files, entries("/proc/self/fd"), memory, resident_kilobytes());
    /* The server in this process keeps a log of the last 10,000 requests. */
    CHECK(cycles < 100 || resident_kilobytes() < memory + 8 * 1024);
    end_cluster(&cluster);
    return report();
}

/* 16 threads read the cache while it is changed, cut off and listed anew; handlers come and go meanwhile.
 * The arguments say for how many rounds, and how many threads; without them, 200 and 16. */
#include <unistd.h>
#include "cluster.h"

enum { MAPS = 50, MOST_READERS = 16 };

struct shared {
    struct cluster cluster;
    kinf_factory *factory;
    kinf_informer *informer;
    bool over;
    unsigned long reads;
};

static bool is_over(struct shared *shared) { return __atomic_load_n(&shared->over, __ATOMIC_SEQ_CST); }

static void on_event(void *user, const kinf_event *event)
{
    const kinf_object *object = kinf_event_object(event);
    (void)user;
    if (kinf_event_get_type(event) != KINF_SYNCED && strncmp(kinf_object_key(object, NULL), "default/map-", 12) != 0)
        CHECK(!"an event of a map");
}

static void index_by_value(void *user, const kinf_object *object, kinf_index_values *values)
{
    kinf_text *value = NULL;
    (void)user;
    if (kinf_object_get_string(object, KINF_STR("/data/k"), &value, NULL) == KINF_OK)
        kinf_index_values_add(values, KINF_STR(kinf_text_data(value, NULL)), NULL);
    kinf_text_free(value);
}

static void read_list(kinf_list *list)
{
    for (size_t at = 0; at < kinf_list_count(list); at++) {
        const kinf_object *object = kinf_list_at(list, at);
        kinf_object *kept = kinf_object_clone(object);
        size_t length = 0;
        const char *json = kinf_object_json(kept, &length), *app = NULL;
        if (json[length] != 0 || json[0] != '{' || json[length - 1] != '}')
            CHECK(!"whole JSON");
        if (kinf_object_label(object, KINF_STR("app"), &app, NULL, NULL) != KINF_OK || strcmp(app, "a") != 0)
            CHECK(!"the label");
        if (strcmp(kinf_object_namespace(kept, NULL), "default") != 0 || !*kinf_object_uid(object, NULL))
            CHECK(!"the metadata");
        kinf_object_free(kept);
    }
    kinf_list_free(list);
}

static void *reader(void *user)
{
    struct shared *shared = user;
    unsigned long reads = 0;
    char key[32];
    while (!is_over(shared)) {
        kinf_list *list = NULL;
        kinf_strings *values = NULL;
        kinf_object *object = NULL;
        if (kinf_informer_list(shared->informer, KINF_STR("default"), KINF_STR("app=a"), &list, NULL) == KINF_OK)
            read_list(list);
        snprintf(key, sizeof key, "default/map-%lu", reads % MAPS);
        if (kinf_informer_get(shared->informer, KINF_STR(key), &object, NULL) == KINF_OK)
            kinf_object_free(object);
        if (kinf_informer_index_values(shared->informer, KINF_STR("value"), &values, NULL) == KINF_OK
            && kinf_strings_count(values) > 0
            && kinf_informer_by_index(shared->informer, KINF_STR("value"), KINF_STR(kinf_strings_at(values, 0, NULL)),
                                      &list, NULL) == KINF_OK)
            read_list(list);
        kinf_strings_free(values);
        reads++;
    }
    __atomic_add_fetch(&shared->reads, reads, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *come_and_go(void *user)
{
    struct shared *shared = user;
    while (!is_over(shared)) {
        kinf_registration *registration = NULL;
        if (kinf_informer_on_event(shared->informer, on_event, NULL, NULL, -1, &registration, NULL) == KINF_OK)
            kinf_registration_remove(registration);
        kinf_registration_free(registration);
        usleep(1000);
    }
    return NULL;
}

/* The watch is too old when it comes back: everything is listed anew. */
static void cut_off(struct shared *shared)
{
    kinf_test_server_fail(shared->cluster.server, 410, 1);
    kinf_test_server_drop_connections(shared->cluster.server);
}

/* The informer notices in its own time that it was cut off; and the answer that says so may itself be cut off, where
 * the informer was just asking. A minute is a failure. */
static kinf_informer_status wait_for_relist(struct shared *shared)
{
    kinf_error *error = NULL;
    kinf_informer_status status;
    for (unsigned waited = 1; waited <= 60000; waited++) {
        MUST(kinf_informer_read_status(shared->informer, &status, sizeof status, &error));
        if (status.lists > 1 && status.watches > 1) /* the list is there before the watch after it */
            break;
        if (waited % 5000 == 0)
            cut_off(shared);
        usleep(1000);
    }
    return status;
}

int main(int count, char **arguments)
{
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 200;
    unsigned readers = count > 2 ? (unsigned)atoi(arguments[2]) % (MOST_READERS + 1) : MOST_READERS;
    struct shared shared = {.cluster = start_cluster(MAPS)};
    kinf_error *error = NULL;
    kinf_informer_status status;
    kinf_object *last = NULL;
    pthread_t threads[MOST_READERS + 1];
    char name[32];
    shared.factory = start_factory(&shared.cluster, &shared.informer);
    MUST(kinf_informer_add_index_callback(shared.informer, KINF_STR("value"), index_by_value, NULL, NULL, &error));
    MUST(kinf_informer_on_event(shared.informer, on_event, NULL, NULL, 1000, NULL, &error));
    MUST(kinf_factory_start(shared.factory, &error));
    MUST(kinf_factory_wait_for_sync(shared.factory, 60000, &error));
    for (unsigned at = 0; at < readers; at++)
        CHECK(pthread_create(&threads[at], NULL, reader, &shared) == 0);
    CHECK(pthread_create(&threads[readers], NULL, come_and_go, &shared) == 0);

    for (unsigned round = 0; round < rounds; round++) {
        snprintf(name, sizeof name, "map-%u", round % MAPS);
        touch_map(&shared.cluster, name, round);
        if (round % 10 == 9) {
            delete_map(&shared.cluster, name);
            make_map(&shared.cluster, name);
        }
        if (round % 20 == 19)
            cut_off(&shared);
    }
    make_map(&shared.cluster, "map-last");
    MUST(kinf_client_get(shared.cluster.client, shared.cluster.maps, KINF_STR("default"), KINF_STR("map-last"), &last,
                         &error));
    MUST(kinf_informer_wait_for_resource_version(
        shared.informer, KINF_STR(kinf_object_resource_version(last, NULL)), 60000, &error));
    kinf_object_free(last);
    status = wait_for_relist(&shared);
    __atomic_store_n(&shared.over, true, __ATOMIC_SEQ_CST);
    for (unsigned at = 0; at <= readers; at++)
        pthread_join(threads[at], NULL);
    CHECK(kinf_informer_count(shared.informer) == MAPS + 1);
    CHECK(status.lists > 1 && status.watches > 1 && shared.reads > 0);
    printf("%lu rounds of reads, %u lists, %u watches\n", shared.reads, (unsigned)status.lists, (unsigned)status.watches);
    kinf_informer_free(shared.informer);
    kinf_factory_free(shared.factory);
    end_cluster(&shared.cluster);
    return report();
}

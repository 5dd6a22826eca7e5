/* Ends of all kinds, and scarcity: from callbacks, by several at once, from atexit(); signals, children, no descriptors
 * left, numbers and texts beyond reason. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include "cluster.h"

struct owner {
    struct count events, freed;
    kinf_factory *factory;
    kinf_informer *informer;
    kinf_registration *registration;
    kinf_events *queue;
};

#define NO_OWNER {.events = NO_COUNT, .freed = NO_COUNT}

static void gone(void *user) { add(&((struct owner *)user)->freed); }

static void nothing(void *user, const kinf_event *event) { (void)user, (void)event; }

static void start_and_sync(kinf_factory *factory)
{
    kinf_error *error = NULL;
    MUST(kinf_factory_start(factory, &error));
    MUST(kinf_factory_wait_for_sync(factory, 60000, &error));
}

static void freeing_a_queue(void *user, const kinf_event *event)
{
    struct owner *owner = user;
    (void)event;
    kinf_events_free(owner->queue);
    owner->queue = NULL;
    add(&owner->events);
}

static void test_a_callback_frees_the_queue_beside_it(struct cluster *cluster)
{
    struct owner owner = NO_OWNER;
    kinf_error *error = NULL;
    owner.factory = start_factory(cluster, &owner.informer);
    MUST(kinf_events_new(&owner.queue, &error));
    MUST(kinf_events_add(owner.queue, owner.informer, NULL, NULL, &error));
    MUST(kinf_informer_on_event(owner.informer, freeing_a_queue, &owner, gone, -1, NULL, &error));
    start_and_sync(owner.factory);
    CHECK(reaches(&owner.events, 3));
    kinf_factory_free(owner.factory);
    kinf_informer_free(owner.informer);
    CHECK(value_of(&owner.freed) == 1);
}

static void test_what_was_given_outlives_what_gave_it(struct cluster *cluster)
{
    kinf_error *error = NULL;
    kinf_informer *informer = NULL;
    kinf_events *queue = NULL;
    kinf_event *event = NULL;
    kinf_list *list = NULL;
    kinf_strings *keys = NULL;
    kinf_factory *factory = start_factory(cluster, &informer);
    MUST(kinf_events_new(&queue, &error));
    MUST(kinf_events_add(queue, informer, NULL, NULL, &error));
    start_and_sync(factory);
    MUST(kinf_events_next(queue, 60000, &event, &error));
    MUST(kinf_informer_list(informer, NULL, 0, NULL, 0, &list, &error));
    MUST(kinf_informer_keys(informer, &keys, &error));
    kinf_object *kept = kinf_object_clone(kinf_list_at(list, 2));
    kinf_events_free(queue);
    kinf_factory_free(factory);
    kinf_informer_free(informer);
    CHECK(strncmp(kinf_object_name(kinf_event_object(event), NULL), "map-", 4) == 0);
    CHECK(kinf_list_count(list) == 3 && *kinf_object_json(kinf_list_at(list, 0), NULL) == '{');
    CHECK(kinf_strings_count(keys) == 3 && strncmp(kinf_strings_at(keys, 0, NULL), "default/map-", 12) == 0);
    kinf_list_free(list);
    CHECK(*kinf_object_json(kept, NULL) == '{');
    kinf_object_free(kept);
    kinf_event_free(event);
    kinf_strings_free(keys);
}

/* What frees a user pointer may call anything, too. */
static void ending_all(void *user)
{
    struct owner *owner = user;
    kinf_text *text = NULL;
    kinf_registration_remove(owner->registration);
    CHECK(kinf_factory_status_json(owner->factory, &text, NULL) == KINF_OK);
    kinf_text_free(text);
    CHECK(kinf_factory_shutdown(owner->factory, -1, NULL) == KINF_OK);
    kinf_informer_stop(owner->informer);
    add(&owner->freed);
}

static void test_what_frees_a_user_pointer_ends_all(struct cluster *cluster)
{
    for (int at = 0; at < 8; at++) {
        struct owner owner = NO_OWNER;
        kinf_error *error = NULL;
        owner.factory = start_factory(cluster, &owner.informer);
        MUST(kinf_informer_on_event(owner.informer, nothing, &owner, ending_all, -1, &owner.registration, &error));
        if (at / 4)
            start_and_sync(owner.factory);
        switch (at % 4) {
        case 0: kinf_registration_remove(owner.registration); break;
        case 1: MUST(kinf_factory_shutdown(owner.factory, -1, &error)); break;
        case 2: kinf_informer_stop(owner.informer); break;
        default: MUST(kinf_factory_stop_informer(owner.factory, owner.informer, &error));
        }
        CHECK(reaches(&owner.freed, 1));
        kinf_factory_free(owner.factory);
        kinf_informer_free(owner.informer);
        kinf_registration_free(owner.registration);
    }
}

static void *shut_down(void *user)
{
    CHECK(kinf_factory_shutdown(user, -1, NULL) == KINF_OK);
    return NULL;
}

static void *free_factory(void *user)
{
    kinf_factory_free(user);
    return NULL;
}

static void test_several_end_everything_at_once(struct cluster *cluster)
{
    for (int round = 0; round < 10; round++) {
        struct owner owner = NO_OWNER;
        kinf_error *error = NULL;
        pthread_t threads[8];
        owner.factory = start_factory(cluster, &owner.informer);
        MUST(kinf_informer_on_event(owner.informer, nothing, &owner, gone, -1, NULL, &error));
        MUST(kinf_factory_start(owner.factory, &error));
        for (int at = 0; at < 8; at++) {
            kinf_factory *clone = owner.factory;
            if (at % 2)
                MUST(kinf_factory_clone(owner.factory, &clone, &error));
            CHECK(pthread_create(&threads[at], NULL, at % 2 ? free_factory : shut_down, clone) == 0);
        }
        for (int at = 0; at < 8; at++)
            pthread_join(threads[at], NULL);
        CHECK(value_of(&owner.freed) == 1);
        kinf_factory_free(owner.factory);
        kinf_informer_free(owner.informer);
    }
}

static void test_a_thousand_handlers(struct cluster *cluster)
{
    enum { HANDLERS = 1000 };
    struct owner owner = NO_OWNER;
    kinf_error *error = NULL;
    kinf_informer_status status;
    owner.factory = start_factory(cluster, &owner.informer);
    for (int at = 0; at < HANDLERS; at++)
        MUST(kinf_informer_on_event(owner.informer, nothing, &owner, gone, -1, NULL, &error));
    /* Under valgrind and the sanitizers there is little room for threads: there they come and go unstarted. */
    if (getenv("INSTRUMENTED") == NULL)
        start_and_sync(owner.factory);
    MUST(kinf_informer_read_status(owner.informer, &status, sizeof status, &error));
    CHECK(status.handlers == HANDLERS);
    kinf_factory_free(owner.factory);
    kinf_informer_free(owner.informer);
    CHECK(value_of(&owner.freed) == HANDLERS);
}

static unsigned alarms;

static void on_alarm(int signal)
{
    (void)signal;
    __atomic_add_fetch(&alarms, 1, __ATOMIC_SEQ_CST);
}

/* Signals that interrupt system calls, wherever they land. */
static void test_signals_interrupt_nothing(struct cluster *cluster)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    struct itimerval every = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
    for (unsigned round = 0; round < 10; round++) {
        kinf_error *error = NULL;
        kinf_client *client = NULL;
        kinf_list *list = NULL;
        kinf_object *object = NULL;
        kinf_informer *informer = NULL;
        kinf_informer_status status;
        kinf_factory *factory = start_factory(cluster, &informer);
        MUST(kinf_client_new(cluster->config, &client, &error));
        MUST(kinf_client_list(client, cluster->maps, NULL, &list, &error));
        CHECK(kinf_list_count(list) == 3);
        start_and_sync(factory);
        touch_map(cluster, "map-0", round);
        MUST(kinf_client_get(client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, &error));
        MUST(kinf_informer_wait_for_resource_version(informer, KINF_STR(kinf_object_resource_version(object, NULL)),
                                                     60000, &error));
        MUST(kinf_informer_read_status(informer, &status, sizeof status, &error));
        CHECK(status.all_failures == 0);
        kinf_object_free(object);
        kinf_list_free(list);
        kinf_factory_free(factory);
        kinf_informer_free(informer);
        kinf_client_free(client);
    }
    while (__atomic_load_n(&alarms, __ATOMIC_SEQ_CST) == 0)
        pause();
    setitimer(ITIMER_REAL, &never, NULL);
}

/* How many descriptors a program has that is started by this one. */
static int descriptors_of_a_child(void)
{
    int count = -1;
    FILE *child = popen("ls /proc/self/fd | wc -l", "r");
    if (!child || fscanf(child, "%d", &count) != 1)
        count = -1;
    if (child)
        pclose(child);
    return count;
}

static void test_a_child_inherits_no_descriptor(struct cluster *cluster, int before)
{
    kinf_error *error = NULL;
    kinf_informer *informer = NULL;
    kinf_events *queue = NULL;
    kinf_factory *factory = start_factory(cluster, &informer);
    MUST(kinf_events_new(&queue, &error));
    MUST(kinf_events_add(queue, informer, NULL, NULL, &error));
    start_and_sync(factory);
    CHECK(before > 0 && descriptors_of_a_child() == before);
    kinf_events_free(queue);
    kinf_factory_free(factory);
    kinf_informer_free(informer);
}

static void test_no_descriptor_is_left(struct cluster *cluster)
{
    struct rlimit before, none;
    kinf_events *queue = NULL;
    kinf_client *client = NULL;
    kinf_object *object = NULL;
    kinf_error *error = NULL;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 3;
    MUST(kinf_client_new(cluster->config, &client, &error));
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK(kinf_events_new(&queue, &error) == KINF_OTHER && !queue);
    /* valgrind says that there is a pair of sockets, and there is none. */
    CHECK(getenv("INSTRUMENTED") || strstr(kinf_error_message(error, NULL), "open files"));
    kinf_error_free(error);
    CHECK(kinf_client_get(client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, &error) == KINF_TRANSPORT);
    CHECK(strstr(kinf_error_message(error, NULL), "open files"));
    kinf_error_free(error);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    MUST(kinf_client_get(client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, &error));
    kinf_object_free(object);
    kinf_client_free(client);
}

static void test_times_that_last_for_ever(struct cluster *cluster)
{
    kinf_error *error = NULL;
    kinf_config *config = NULL;
    kinf_client *client = NULL;
    kinf_factory_options *options = NULL;
    kinf_factory *factory = NULL;
    kinf_informer *informer = NULL;
    kinf_list *list = NULL;
    MUST(kinf_test_server_config(cluster->server, &config, &error));
    MUST(kinf_config_set_connect_timeout(config, UINT64_MAX, &error));
    MUST(kinf_config_set_request_timeout(config, UINT64_MAX, &error));
    MUST(kinf_client_new(config, &client, &error));
    MUST(kinf_factory_options_new(&options, &error));
    MUST(kinf_factory_options_set_resync(options, UINT64_MAX, &error));
    CHECK(kinf_factory_options_set_backoff(options, UINT64_MAX, UINT64_MAX, NULL) == KINF_INVALID_ARGUMENT);
    MUST(kinf_factory_new(client, options, &factory, &error));
    MUST(kinf_factory_informer(factory, cluster->maps, NULL, &informer, &error));
    MUST(kinf_informer_on_event(informer, nothing, NULL, NULL, INT64_MAX, NULL, &error));
    MUST(kinf_informer_on_event(informer, nothing, NULL, NULL, INT64_MIN, NULL, &error));
    MUST(kinf_factory_start(factory, &error));
    MUST(kinf_factory_wait_for_sync(factory, INT64_MAX, &error));
    MUST(kinf_informer_wait_for_sync(informer, INT64_MIN, &error));
    MUST(kinf_informer_list(informer, NULL, 0, NULL, 0, &list, &error));
    CHECK(kinf_list_at(list, 3) == NULL && kinf_list_at(list, SIZE_MAX) == NULL);
    kinf_list_free(list);
    MUST(kinf_factory_shutdown(factory, INT64_MAX, &error));
    kinf_factory_free(factory);
    kinf_informer_free(informer);
    kinf_factory_options_free(options);
    kinf_client_free(client);
    kinf_config_free(config);
}

static void test_names_beyond_reason(struct cluster *cluster)
{
    const size_t length = 1 << 20;
    char *name = malloc(4 * length);
    kinf_error *error = NULL;
    kinf_resource *resource = NULL;
    kinf_object *object = NULL;
    memset(name, 'a', 4 * length);
    CHECK(kinf_client_find(cluster->client, name, length, &resource, NULL) == KINF_NOT_FOUND && !resource);
    CHECK(kinf_client_find_kind(cluster->client, name, length, &resource, NULL) == KINF_NOT_FOUND && !resource);
    CHECK(kinf_client_find(cluster->client, name, 4 * length, &resource, &error) == KINF_INVALID_ARGUMENT);
    CHECK(strlen(kinf_error_message(error, NULL)) < 100);
    kinf_error_free(error);
    error = NULL;
    CHECK(kinf_client_get(cluster->client, cluster->maps, KINF_STR("default"), name, length, &object, &error)
          == KINF_API);
    CHECK(kinf_error_http_code(error) == 431 && strlen(kinf_error_message(error, NULL)) < 400);
    kinf_error_free(error);
    CHECK(kinf_client_create(cluster->client, cluster->maps, KINF_STR("default"), name, 4 * length, NULL, NULL)
          == KINF_INVALID_ARGUMENT); /* as it is not JSON */
    free(name);
}

/* JSON that would be deeper than any stack, if it was followed by one. */
static void test_depths_beyond_reason(struct cluster *cluster)
{
    const size_t depth = 1000000;
    char *json = malloc(2 * depth + 100), *end = json + sprintf(json, "{\"metadata\":{\"name\":\"deep\"},\"x\":");
    kinf_object *object = NULL;
    kinf_value value;
    memset(end, '[', depth);
    memset(end + depth, ']', depth);
    end += 2 * depth;
    *end++ = '}';
    kinf_status status = kinf_object_new(cluster->maps, json, (size_t)(end - json), &object, NULL);
    CHECK(status == KINF_OK || status == KINF_DECODE);
    kinf_object_get(object, KINF_STR("/x/0/0/0"), &value, NULL);
    kinf_object_free(object);
    CHECK(kinf_client_create(cluster->client, cluster->maps, KINF_STR("default"), json, (size_t)(end - json), NULL, NULL)
          != KINF_OK);
    object = NULL;
    CHECK(kinf_client_get(cluster->client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, NULL) == KINF_OK);
    kinf_object_free(object);
    free(json);
}

static struct cluster cluster;
static kinf_factory *last_factory;
static kinf_informer *last_informer;

/* After main() has returned and what is local to its thread is gone, everything still works. */
static void at_exit(void)
{
    kinf_error *error = NULL;
    kinf_object *object = NULL;
    kinf_events *queue = NULL;
    kinf_event *event = NULL;
    MUST(kinf_client_get(cluster.client, cluster.maps, KINF_STR("default"), KINF_STR("map-0"), &object, &error));
    MUST(kinf_events_new(&queue, &error));
    MUST(kinf_events_add(queue, last_informer, NULL, NULL, &error));
    MUST(kinf_events_next(queue, 60000, &event, &error));
    CHECK(kinf_test_panic(NULL) == KINF_PANIC);
    kinf_event_free(event);
    kinf_events_free(queue);
    kinf_object_free(object);
    kinf_factory_free(last_factory);
    kinf_informer_free(last_informer);
    end_cluster(&cluster);
    int status = report();
    fflush(stdout);
    if (status != 0)
        _exit(status);
}

int main(void)
{
    int descriptors = descriptors_of_a_child();
    cluster = start_cluster(3);
    test_a_callback_frees_the_queue_beside_it(&cluster);
    test_what_was_given_outlives_what_gave_it(&cluster);
    test_what_frees_a_user_pointer_ends_all(&cluster);
    test_several_end_everything_at_once(&cluster);
    test_a_thousand_handlers(&cluster);
    test_signals_interrupt_nothing(&cluster);
    test_a_child_inherits_no_descriptor(&cluster, descriptors);
    test_no_descriptor_is_left(&cluster);
    test_times_that_last_for_ever(&cluster);
    test_names_beyond_reason(&cluster);
    test_depths_beyond_reason(&cluster);
    last_factory = start_factory(&cluster, &last_informer);
    start_and_sync(last_factory);
    atexit(at_exit);
    return 0;
}

/* What callbacks may do, in which order things may be ended, and what is refused. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cluster.h"

struct watcher {
    struct count events, freed, release;
    kinf_factory *factory;
    kinf_informer *informer;
    kinf_registration *registration;
    kinf_object *kept;
    struct cluster *cluster;
    pthread_t thread;
    bool removes_itself;
};

#define NO_WATCHER {.events = NO_COUNT, .freed = NO_COUNT, .release = NO_COUNT}

static void gone(void *user) { add(&((struct watcher *)user)->freed); }

static void counting(void *user, const kinf_event *event)
{
    CHECK(event != NULL);
    if (kinf_event_get_type(event) != KINF_SYNCED)
        add(&((struct watcher *)user)->events);
}

/* Callbacks may call anything. */
static void calling_back(void *user, const kinf_event *event)
{
    struct watcher *watcher = user;
    kinf_list *list = NULL;
    kinf_text *text = NULL;
    kinf_object *object = NULL;
    kinf_informer *pods = NULL;
    if (kinf_event_get_type(event) == KINF_SYNCED)
        return;
    watcher->thread = pthread_self();
    CHECK(kinf_informer_list(watcher->informer, NULL, 0, KINF_STR("app=a"), &list, NULL) == KINF_OK);
    CHECK(kinf_list_count(list) > 0);
    CHECK(kinf_factory_status_json(watcher->factory, &text, NULL) == KINF_OK);
    CHECK(kinf_informer_get(watcher->informer, KINF_STR(kinf_event_key(event, NULL)), &object, NULL) == KINF_OK);
    CHECK(kinf_object_is_same(object, kinf_event_object(event)));
    CHECK(kinf_factory_informer_for(watcher->factory, NULL, 0, KINF_STR("v1"), KINF_STR("pods"), NULL, &pods, NULL)
          == KINF_OK);
    CHECK(kinf_factory_start(watcher->factory, NULL) == KINF_OK);
    kinf_informer_free(pods);
    kinf_object_free(object);
    kinf_text_free(text);
    kinf_list_free(list);
    if (!watcher->kept)
        watcher->kept = kinf_object_clone(kinf_event_object(event));
    add(&watcher->events);
}

static void test_callbacks_may_call_back(struct cluster *cluster)
{
    struct watcher watcher = NO_WATCHER;
    kinf_error *error = NULL;
    watcher.factory = start_factory(cluster, &watcher.informer);
    MUST(kinf_informer_on_event(watcher.informer, calling_back, &watcher, gone, -1, NULL, &error));
    MUST(kinf_factory_start(watcher.factory, &error));
    CHECK(reaches(&watcher.events, 3));
    CHECK(!pthread_equal(watcher.thread, pthread_self()));
    MUST(kinf_factory_shutdown(watcher.factory, -1, &error));
    MUST(kinf_factory_shutdown(watcher.factory, -1, &error)); /* twice is fine */
    CHECK(kinf_factory_start(watcher.factory, NULL) == KINF_INVALID_ARGUMENT);
    kinf_informer_stop(watcher.informer);
    kinf_informer_stop(watcher.informer);
    CHECK(kinf_informer_is_stopped(watcher.informer));
    CHECK(value_of(&watcher.freed) == 1);
    kinf_factory_free(watcher.factory);
    /* An informer outlives its factory, an object its informer. */
    CHECK(kinf_informer_count(watcher.informer) == 3);
    kinf_informer_free(watcher.informer);
    CHECK(strncmp(kinf_object_key(watcher.kept, NULL), "default/map-", 12) == 0);
    CHECK(strlen(kinf_object_json(watcher.kept, NULL)) > 20);
    kinf_object_free(watcher.kept);
}

static void removing_itself(void *user, const kinf_event *event)
{
    struct watcher *watcher = user;
    (void)event;
    kinf_registration_remove(watcher->registration);
    kinf_registration_remove(watcher->registration);
    CHECK(value_of(&watcher->freed) == 0); /* not while it runs */
    add(&watcher->events);
}

static void test_a_callback_removes_itself(struct cluster *cluster)
{
    struct watcher watcher = NO_WATCHER, other = NO_WATCHER;
    kinf_error *error = NULL;
    watcher.factory = start_factory(cluster, &watcher.informer);
    MUST(kinf_informer_on_event(watcher.informer, removing_itself, &watcher, gone, -1, &watcher.registration, &error));
    MUST(kinf_informer_on_event(watcher.informer, counting, &other, gone, 0, &other.registration, &error));
    MUST(kinf_factory_start(watcher.factory, &error));
    CHECK(reaches(&other.events, 3));
    CHECK(reaches(&watcher.freed, 1));
    CHECK(value_of(&watcher.events) == 1); /* and no more */
    MUST(kinf_factory_wait_for_sync(watcher.factory, 60000, &error));
    CHECK(!kinf_registration_has_synced(watcher.registration));
    CHECK(kinf_registration_has_synced(other.registration));
    CHECK(kinf_registration_pending(other.registration) == 0);
    kinf_registration_remove(other.registration); /* waits: after it nothing of it is left */
    CHECK(value_of(&other.freed) == 1);
    kinf_registration_free(watcher.registration);
    kinf_registration_free(other.registration);
    kinf_informer_free(watcher.informer);
    kinf_factory_free(watcher.factory);
}

/* Goes on for a while after somebody wants it gone. */
static void lingering(void *user, const kinf_event *event)
{
    struct watcher *watcher = user;
    struct timespec pause = {0, 100000000};
    (void)event;
    if (watcher->removes_itself)
        kinf_registration_remove(watcher->registration);
    add(&watcher->events);
    CHECK(reaches(&watcher->release, 1));
    nanosleep(&pause, NULL);
    CHECK(value_of(&watcher->freed) == 0);
}

static void *remove_elsewhere(void *user)
{
    kinf_registration_remove(user);
    return NULL;
}

static void test_everybody_who_removes_a_callback_waits_for_it(struct cluster *cluster)
{
    for (int itself = 0; itself < 2; itself++) {
        struct watcher watcher = NO_WATCHER;
        kinf_error *error = NULL;
        pthread_t threads[2];
        watcher.removes_itself = itself;
        watcher.factory = start_factory(cluster, &watcher.informer);
        MUST(kinf_informer_on_event(watcher.informer, lingering, &watcher, gone, -1, &watcher.registration, &error));
        MUST(kinf_factory_start(watcher.factory, &error));
        CHECK(reaches(&watcher.events, 1));
        for (int at = 0; at < 2; at++)
            CHECK(pthread_create(&threads[at], NULL, remove_elsewhere, watcher.registration) == 0);
        add(&watcher.release);
        kinf_registration_remove(watcher.registration);
        CHECK(value_of(&watcher.freed) == 1);
        unsigned told = value_of(&watcher.events); /* more than once if this thread had to wait for its turn */
        CHECK(told == 1 || !itself);
        for (int at = 0; at < 2; at++)
            pthread_join(threads[at], NULL);
        kinf_registration_remove(watcher.registration);
        CHECK(value_of(&watcher.freed) == 1 && value_of(&watcher.events) == told);
        kinf_registration_free(watcher.registration);
        kinf_informer_free(watcher.informer);
        kinf_factory_free(watcher.factory);
    }
}

static void test_a_length_is_cleared_when_there_is_nothing(struct cluster *cluster)
{
    kinf_object *object = NULL;
    kinf_error *error = NULL;
    const char *value = "before";
    size_t length = 77;
    MUST(kinf_client_get(cluster->client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, &error));
    CHECK(kinf_object_label(object, KINF_STR("none"), &value, &length, NULL) == KINF_NOT_FOUND && !value && length == 0);
    length = 77;
    CHECK(kinf_object_annotation(object, KINF_STR("none"), &value, &length, NULL) == KINF_NOT_FOUND && length == 0);
    CHECK(kinf_object_label(object, KINF_STR("app"), &value, &length, NULL) == KINF_OK && length == 1 && *value == 'a');
    kinf_object_free(object);
}

static void stopping_all(void *user, const kinf_event *event)
{
    struct watcher *watcher = user;
    (void)event;
    CHECK(kinf_factory_shutdown(watcher->factory, -1, NULL) == KINF_OK);
    add(&watcher->events);
}

static void test_a_callback_stops_the_factory(struct cluster *cluster)
{
    struct watcher watcher = NO_WATCHER;
    kinf_error *error = NULL;
    watcher.factory = start_factory(cluster, &watcher.informer);
    MUST(kinf_informer_on_event(watcher.informer, stopping_all, &watcher, gone, -1, NULL, &error));
    MUST(kinf_factory_start(watcher.factory, &error));
    CHECK(reaches(&watcher.freed, 1));
    CHECK(value_of(&watcher.events) == 1);
    kinf_informer_free(watcher.informer);
    kinf_factory_free(watcher.factory);
}

static void freeing_all(void *user, const kinf_event *event)
{
    struct watcher *watcher = user;
    (void)event;
    kinf_registration_free(watcher->registration);
    kinf_informer_free(watcher->informer);
    kinf_factory_free(watcher->factory);
    add(&watcher->events);
}

static void test_a_callback_frees_the_factory(struct cluster *cluster)
{
    struct watcher watcher = NO_WATCHER;
    kinf_error *error = NULL;
    watcher.factory = start_factory(cluster, &watcher.informer);
    MUST(kinf_informer_on_event(watcher.informer, freeing_all, &watcher, gone, -1, &watcher.registration, &error));
    MUST(kinf_factory_start(watcher.factory, &error));
    CHECK(reaches(&watcher.freed, 1));
    CHECK(value_of(&watcher.events) == 1);
}

/* Goes on until it may end, and a while longer. */
static void slow(void *user, const kinf_event *event)
{
    struct watcher *watcher = user;
    struct timespec pause = {0, 100000000};
    kinf_text *text = NULL;
    (void)event;
    add(&watcher->events);
    CHECK(reaches(&watcher->release, 1));
    nanosleep(&pause, NULL);
    CHECK(kinf_factory_status_json(watcher->factory, &text, NULL) == KINF_OK); /* being freed, and still there */
    kinf_text_free(text);
    CHECK(value_of(&watcher->freed) == 0);
}

static void test_the_factory_is_freed_while_a_callback_runs(struct cluster *cluster)
{
    struct watcher watcher = NO_WATCHER;
    kinf_error *error = NULL;
    watcher.factory = start_factory(cluster, &watcher.informer);
    MUST(kinf_informer_on_event(watcher.informer, slow, &watcher, gone, -1, NULL, &error));
    MUST(kinf_factory_start(watcher.factory, &error));
    CHECK(reaches(&watcher.events, 1));
    CHECK(kinf_factory_shutdown(watcher.factory, 1, &error) == KINF_TIMEOUT); /* names the handler */
    CHECK(strstr(kinf_error_message(error, NULL), "C callback"));
    kinf_error_free(error);
    add(&watcher.release);
    kinf_factory_free(watcher.factory);
    CHECK(value_of(&watcher.freed) == 1);
    CHECK(value_of(&watcher.events) == 1);
    kinf_informer_free(watcher.informer);
}

/* Whatever becomes of the call, the user pointer is freed once. */
static void test_user_pointers_are_freed_when_a_call_fails(struct cluster *cluster)
{
    struct watcher watcher = NO_WATCHER;
    watcher.factory = start_factory(cluster, &watcher.informer);
    CHECK(kinf_informer_on_event(NULL, counting, &watcher, gone, -1, NULL, NULL) == KINF_INVALID_ARGUMENT);
    CHECK(value_of(&watcher.freed) == 1);
    CHECK(kinf_informer_on_event(watcher.informer, NULL, &watcher, gone, -1, NULL, NULL) == KINF_INVALID_ARGUMENT);
    CHECK(value_of(&watcher.freed) == 2);
    kinf_factory_free(watcher.factory);
    CHECK(kinf_informer_on_event(watcher.informer, counting, &watcher, gone, -1, NULL, NULL) == KINF_INVALID_ARGUMENT);
    CHECK(value_of(&watcher.freed) == 3);
    CHECK(kinf_informer_add_index_callback(watcher.informer, KINF_STR("x"), NULL, &watcher, gone, NULL)
          == KINF_INVALID_ARGUMENT);
    CHECK(value_of(&watcher.freed) == 4);
    CHECK(kinf_log_to_callback(NULL, &watcher, gone, 77, NULL) == KINF_INVALID_ARGUMENT);
    CHECK(value_of(&watcher.freed) == 5);
    kinf_informer_free(watcher.informer);
}

static void *free_elsewhere(void *user)
{
    kinf_object_free(user);
    return NULL;
}

static void test_handles_may_be_freed_on_another_thread(struct cluster *cluster)
{
    pthread_t thread;
    kinf_object *object = NULL;
    kinf_error *error = NULL;
    MUST(kinf_client_get(cluster->client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, &error));
    CHECK(pthread_create(&thread, NULL, free_elsewhere, object) == 0);
    pthread_join(thread, NULL);
}

static void test_panics_are_caught(void)
{
    kinf_error *error = NULL;
    CHECK(kinf_test_panic(&error) == KINF_PANIC);
    CHECK(strstr(kinf_error_message(error, NULL), "on purpose"));
    CHECK(kinf_error_status(error) == KINF_PANIC);
    kinf_error_free(error);
    CHECK(kinf_test_panic(NULL) == KINF_PANIC);
}

static void test_why_it_has_not_synced(struct cluster *cluster)
{
    struct watcher watcher = NO_WATCHER;
    kinf_error *error = NULL;
    kinf_informer_status status;
    kinf_text *text = NULL;
    kinf_test_server_fail(cluster->server, 403, 2);
    watcher.factory = start_factory(cluster, &watcher.informer);
    CHECK(kinf_factory_wait_for_sync(watcher.factory, 0, &error) == KINF_NOT_SYNCED);
    CHECK(strstr(kinf_error_message(error, NULL), "not started"));
    kinf_error_free(error);
    MUST(kinf_factory_start(watcher.factory, &error));
    MUST(kinf_factory_wait_for_sync(watcher.factory, 60000, &error));
    MUST(kinf_informer_wait_for_sync(watcher.informer, 0, &error));
    MUST(kinf_informer_read_status(watcher.informer, &status, sizeof status, &error));
    CHECK(status.all_failures > 0 && status.has_synced && status.objects == 3 && status.state == KINF_RUNNING);
    CHECK(kinf_informer_read_status(watcher.informer, &status, 0, NULL) == KINF_INVALID_ARGUMENT);
    status.objects = 77; /* an older header knows less, and nothing behind that is written */
    CHECK(kinf_informer_read_status(watcher.informer, &status, offsetof(kinf_informer_status, objects), NULL) == KINF_OK);
    CHECK(status.objects == 77 && status.has_synced);
    MUST(kinf_informer_status_json(watcher.informer, &text, &error));
    CHECK(strstr(kinf_text_data(text, NULL), "\"whyUnsynced\":null"));
    kinf_text_free(text);
    MUST(kinf_factory_metrics(watcher.factory, &text, &error));
    CHECK(strstr(kinf_text_data(text, NULL), "kinformer_objects"));
    kinf_text_free(text);
    CHECK(kinf_informer_wait_for_resource_version(watcher.informer, KINF_STR("999999999"), 10, &error) == KINF_TIMEOUT);
    kinf_error_free(error);
    CHECK(kinf_factory_stop_informer(watcher.factory, watcher.informer, NULL) == KINF_OK);
    CHECK(kinf_factory_stop_informer(watcher.factory, watcher.informer, NULL) == KINF_NOT_FOUND);
    CHECK(kinf_informer_count(watcher.informer) == 0);
    kinf_informer_free(watcher.informer);
    kinf_factory_free(watcher.factory);
}

static void test_a_queue_ends(struct cluster *cluster)
{
    kinf_events *events = NULL;
    kinf_event *event = NULL;
    kinf_informer *informer = NULL;
    kinf_error *error = NULL;
    MUST(kinf_events_new(&events, &error));
    CHECK(kinf_events_next(events, 0, &event, NULL) == KINF_EMPTY && !event);
    CHECK(kinf_events_next(events, 20, &event, NULL) == KINF_EMPTY);
    int tag = 0;
    kinf_factory *factory = start_factory(cluster, &informer);
    MUST(kinf_events_add(events, informer, &tag, NULL, &error));
    MUST(kinf_factory_start(factory, &error));
    for (int at = 0; at < 3; at++) {
        MUST(kinf_events_next(events, 60000, &event, &error));
        CHECK(kinf_event_get_type(event) == KINF_ADDED && kinf_event_is_initial(event));
        CHECK(kinf_event_old(event) == NULL && kinf_event_object(event) != NULL);
        CHECK(kinf_event_tag(event) == &tag && kinf_event_tag(NULL) == NULL);
        kinf_event_free(event);
    }
    MUST(kinf_events_next(events, 60000, &event, &error)); /* and that this was all */
    CHECK(kinf_event_get_type(event) == KINF_SYNCED && kinf_event_tag(event) == &tag);
    CHECK(!kinf_event_object(event) && !kinf_event_old(event) && *kinf_event_key(event, NULL) == 0);
    CHECK(!kinf_event_is_initial(event) && !kinf_event_is_final_state_unknown(event));
    kinf_event_free(event);
    touch_map(cluster, "map-1", 1);
    MUST(kinf_events_next(events, -1, &event, &error));
    CHECK(kinf_event_get_type(event) == KINF_UPDATED && kinf_event_old(event) != NULL);
    kinf_event_free(event);
    CHECK(kinf_events_count(events) == 0);
    kinf_factory_free(factory);
    CHECK(kinf_events_next(events, -1, &event, NULL) == KINF_STOPPED);
    kinf_informer_free(informer);
    /* One that starts to feed it brings it back, unless it was closed. */
    factory = start_factory(cluster, &informer);
    MUST(kinf_events_add(events, informer, NULL, NULL, &error));
    CHECK(kinf_events_next(events, 0, &event, NULL) == KINF_EMPTY);
    kinf_events_close(events);
    CHECK(kinf_events_next(events, -1, &event, &error) == KINF_STOPPED);
    CHECK(strstr(kinf_error_message(error, NULL), "closed"));
    kinf_error_free(error);
    CHECK(kinf_events_add(events, informer, NULL, NULL, NULL) == KINF_STOPPED);
    kinf_events_free(events);
    kinf_factory_free(factory);
    kinf_informer_free(informer);
}

struct order {
    struct count synced;
    unsigned before, after;
};

static void in_order(void *user, const kinf_event *event)
{
    struct order *order = user;
    if (kinf_event_get_type(event) == KINF_SYNCED)
        add(&order->synced);
    else if (kinf_event_is_initial(event))
        ++*(value_of(&order->synced) ? &order->after : &order->before);
}

/* Whoever comes is told when it has been told of all there was: also who comes late, also of nothing. */
static void test_everybody_learns_once_that_the_start_is_over(struct cluster *cluster)
{
    struct order early = {.synced = NO_COUNT}, late = early, none = early;
    kinf_informer *informer = NULL, *pods = NULL;
    kinf_error *error = NULL;
    kinf_factory *factory = start_factory(cluster, &informer);
    MUST(kinf_factory_informer_for(factory, NULL, 0, KINF_STR("v1"), KINF_STR("pods"), NULL, &pods, &error));
    MUST(kinf_informer_on_event(informer, in_order, &early, NULL, -1, NULL, &error));
    MUST(kinf_informer_on_event(pods, in_order, &none, NULL, -1, NULL, &error));
    MUST(kinf_factory_start(factory, &error));
    CHECK(reaches(&early.synced, 1) && reaches(&none.synced, 1));
    MUST(kinf_informer_on_event(informer, in_order, &late, NULL, -1, NULL, &error));
    CHECK(reaches(&late.synced, 1));
    kinf_test_server_drop_connections(cluster->server); /* a list anew is no start */
    kinf_test_server_compact(cluster->server);
    touch_map(cluster, "map-0", 7);
    kinf_object *now = NULL;
    MUST(kinf_client_get(cluster->client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &now, &error));
    MUST(kinf_informer_wait_for_resource_version(informer, KINF_STR(kinf_object_resource_version(now, NULL)), 60000, &error));
    kinf_object_free(now);
    kinf_informer_free(pods);
    kinf_informer_free(informer);
    kinf_factory_free(factory);
    CHECK(early.before == 3 && late.before == 3 && none.before == 0 && early.after + late.after + none.after == 0);
    CHECK(value_of(&early.synced) == 1 && value_of(&late.synced) == 1 && value_of(&none.synced) == 1);
}

/* The watch is cut off, the object goes, and what there was is too old to go on from. */
static void test_a_deletion_that_nobody_saw(struct cluster *cluster)
{
    kinf_informer *informer = NULL;
    kinf_events *events = NULL;
    kinf_error *error = NULL;
    kinf_factory *factory = start_factory(cluster, &informer);
    bool unseen = false;
    MUST(kinf_events_new(&events, &error));
    MUST(kinf_events_add(events, informer, NULL, NULL, &error));
    MUST(kinf_factory_start(factory, &error));
    for (int attempt = 0; attempt < 50 && !unseen; attempt++) { /* it may have come back in time to see it */
        kinf_event *event = NULL;
        make_map(cluster, "unseen");
        do { /* what is known of */
            kinf_event_free(event);
            MUST(kinf_events_next(events, 60000, &event, &error));
        } while (strcmp(kinf_event_key(event, NULL), "default/unseen") != 0);
        CHECK(kinf_event_get_type(event) == KINF_ADDED);
        kinf_test_server_fail(cluster->server, 503, 3);
        kinf_test_server_drop_connections(cluster->server);
        delete_map(cluster, "unseen");
        kinf_test_server_compact(cluster->server);
        do {
            kinf_event_free(event);
            MUST(kinf_events_next(events, 60000, &event, &error));
        } while (kinf_event_get_type(event) != KINF_DELETED);
        CHECK(strcmp(kinf_event_key(event, NULL), "default/unseen") == 0);
        CHECK(strcmp(kinf_object_name(kinf_event_object(event), NULL), "unseen") == 0); /* as it was last known */
        unseen = kinf_event_is_final_state_unknown(event);
        kinf_event_free(event);
    }
    CHECK(unseen);
    kinf_events_free(events);
    kinf_factory_free(factory);
    kinf_informer_free(informer);
}

static void test_a_namespace_that_cannot_be_is_refused_where_it_is_named(void)
{
    kinf_selection *selection = NULL;
    kinf_factory_options *options = NULL;
    kinf_error *error = NULL;
    MUST(kinf_selection_new(&selection, &error));
    MUST(kinf_factory_options_new(&options, &error));
    CHECK(kinf_selection_set_namespace(selection, KINF_STR("Bad_NS"), &error) == KINF_INVALID_ARGUMENT);
    CHECK(strstr(kinf_error_message(error, NULL), "invalid name") && strstr(kinf_error_message(error, NULL), "Bad_NS"));
    kinf_error_free(error);
    CHECK(kinf_factory_options_set_namespace(options, KINF_STR("Bad_NS"), NULL) == KINF_INVALID_ARGUMENT);
    CHECK(kinf_selection_set_namespace(selection, NULL, 0, NULL) == KINF_OK);
    kinf_factory_options_free(options);
    kinf_selection_free(selection);
}

static void test_a_handler_is_called_by_its_name(struct cluster *cluster)
{
    struct watcher watcher = NO_WATCHER;
    kinf_error *error = NULL;
    watcher.factory = start_factory(cluster, &watcher.informer);
    MUST(kinf_informer_on_event_named(watcher.informer, KINF_STR("endpoints"), slow, &watcher, gone, -1, NULL, &error));
    MUST(kinf_factory_start(watcher.factory, &error));
    CHECK(reaches(&watcher.events, 1));
    CHECK(kinf_factory_shutdown(watcher.factory, 10, &error) == KINF_TIMEOUT);
    CHECK(strstr(kinf_error_message(error, NULL), "handler endpoints"));
    kinf_error_free(error);
    add(&watcher.release);
    kinf_factory_free(watcher.factory);
    kinf_informer_free(watcher.informer);
    CHECK(value_of(&watcher.freed) == 1);
}

struct asking {
    kinf_factory *factory;
    kinf_status status;
};

static void *ask(void *user)
{
    struct asking *asking = user;
    kinf_informer *informer = NULL;
    asking->status = kinf_factory_informer_for_kind(asking->factory, KINF_STR("Widget"), NULL, &informer, NULL);
    return NULL;
}

/* Somebody who listens, and never answers. */
static void test_a_shutdown_ends_a_question_to_the_server(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 8) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    struct asking asking = {0};
    kinf_config *config = NULL;
    kinf_client *client = NULL;
    kinf_error *error = NULL;
    pthread_t thread;
    MUST(kinf_config_new(KINF_STR(url), &config, &error));
    CHECK(kinf_config_set_request_timeout(config, 0, NULL) == KINF_INVALID_ARGUMENT);
    MUST(kinf_config_set_request_timeout(config, 600000, &error));
    MUST(kinf_config_set_connect_timeout(config, 600000, &error));
    MUST(kinf_client_new(config, &client, &error));
    MUST(kinf_factory_new(client, NULL, &asking.factory, &error));
    CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
    int connection = accept(listener, NULL, NULL); /* so it has begun to ask */
    MUST(kinf_factory_shutdown(asking.factory, -1, &error));
    pthread_join(thread, NULL);
    CHECK(asking.status == KINF_STOPPED);
    close(connection);
    close(listener);
    kinf_factory_free(asking.factory);
    kinf_client_free(client);
    kinf_config_free(config);
}

struct lines {
    struct count lines, freed;
    struct cluster *cluster;
    kinf_client *client;
    kinf_config *config;
};

static void logged(void *user, kinf_log_level level, const char *target, const char *message, size_t length)
{
    struct lines *lines = user;
    kinf_object *object = NULL;
    CHECK(level >= KINF_LOG_ERROR && level <= KINF_LOG_TRACE && target && strlen(message) == length);
    kinf_text *url = NULL;
    /* What logs may be called, and what the line is about. */
    kinf_config_server(lines->config, &url, NULL);
    kinf_text_free(url);
    kinf_client_get(lines->client, lines->cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, NULL);
    kinf_object_free(object);
    add(&lines->lines);
}

static void log_freed(void *user) { add(&((struct lines *)user)->freed); }

static void test_the_log_goes_to_a_callback(struct cluster *cluster)
{
    struct lines lines = {.lines = NO_COUNT, .freed = NO_COUNT, .cluster = cluster};
    kinf_error *error = NULL;
    kinf_config *config = NULL;
    kinf_object *object = NULL;
    char path[] = "/tmp/kinformer-token-XXXXXX";
    int token = mkstemp(path);
    CHECK(token >= 0 && write(token, "good", 4) == 4);
    MUST(kinf_test_server_config(cluster->server, &config, &error));
    MUST(kinf_config_set_token_file(config, KINF_STR(path), &error));
    MUST(kinf_client_new(config, &lines.client, &error));
    kinf_config_free(config);
    MUST(kinf_log_to_callback(logged, &lines, log_freed, KINF_LOG_WARN, &error));
    MUST(kinf_config_new(KINF_STR("https://127.0.0.1:1"), &config, &error));
    lines.config = config;
    MUST(kinf_config_set_insecure_skip_tls_verify(config, &error)); /* which is warned of */
    CHECK(reaches(&lines.lines, 1));
    CHECK(write(token, " bad", 4) == 4); /* which is noticed within a second or two */
    for (int at = 0; at < 600 && value_of(&lines.lines) < 2; at++) {
        struct timespec pause = {0, 100000000};
        nanosleep(&pause, NULL);
        MUST(kinf_client_get(lines.client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, &error));
        kinf_object_free(object);
    }
    CHECK(value_of(&lines.lines) >= 2);
    close(token);
    unlink(path);
    MUST(kinf_log_to_callback(NULL, NULL, NULL, KINF_LOG_OFF, &error));
    CHECK(value_of(&lines.freed) == 1);

    /* Or to standard error, as the environment says. */
    char said[256] = "";
    int to[2], before = dup(STDERR_FILENO);
    CHECK(setenv("KINF_LOG", "loud", 1) == 0 && kinf_log_from_environment(&error) == KINF_INVALID_ARGUMENT);
    CHECK(strstr(kinf_error_message(error, NULL), "KINF_LOG"));
    kinf_error_free(error);
    CHECK(setenv("KINF_LOG", "warn", 1) == 0 && pipe(to) == 0 && dup2(to[1], STDERR_FILENO) >= 0);
    kinf_status status = kinf_log_from_environment(NULL);
    kinf_config_set_insecure_skip_tls_verify(config, NULL);
    CHECK(dup2(before, STDERR_FILENO) >= 0 && close(before) == 0 && close(to[1]) == 0);
    CHECK(status == KINF_OK && read(to[0], said, sizeof said - 1) > 0 && strstr(said, "WARN"));
    close(to[0]);
    MUST(kinf_log_to_callback(NULL, NULL, NULL, KINF_LOG_OFF, &error));
    kinf_client_free(lines.client);
    kinf_config_free(config);
}

int main(void)
{
    struct cluster cluster = start_cluster(3);
    CHECK(strcmp(kinf_version(), KINF_VERSION) == 0);
    test_callbacks_may_call_back(&cluster);
    test_a_callback_removes_itself(&cluster);
    test_everybody_who_removes_a_callback_waits_for_it(&cluster);
    test_a_length_is_cleared_when_there_is_nothing(&cluster);
    test_a_callback_stops_the_factory(&cluster);
    test_a_callback_frees_the_factory(&cluster);
    test_the_factory_is_freed_while_a_callback_runs(&cluster);
    test_user_pointers_are_freed_when_a_call_fails(&cluster);
    test_handles_may_be_freed_on_another_thread(&cluster);
    test_panics_are_caught();
    test_why_it_has_not_synced(&cluster);
    test_a_queue_ends(&cluster);
    test_everybody_learns_once_that_the_start_is_over(&cluster);
    test_a_deletion_that_nobody_saw(&cluster);
    test_a_namespace_that_cannot_be_is_refused_where_it_is_named();
    test_a_handler_is_called_by_its_name(&cluster);
    test_a_shutdown_ends_a_question_to_the_server();
    test_the_log_goes_to_a_callback(&cluster);
    end_cluster(&cluster);
    return report();
}

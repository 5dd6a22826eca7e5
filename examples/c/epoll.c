/* Pods and ConfigMaps in a program with a loop of its own: one queue, one file descriptor, epoll.
 * No callback, no thread but the library's. Ends when it has seen its own ConfigMap come and go. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <kinformer.h>

static void must(kinf_status status, kinf_error *error, const char *what)
{
    if (status == KINF_OK)
        return;
    fprintf(stderr, "%s: %s (%d)\n", what, kinf_error_message(error, NULL), (int)status);
    kinf_error_free(error);
    exit(1);
}

static void watch(kinf_factory *factory, kinf_events *events, const char *plural)
{
    kinf_error *error = NULL;
    kinf_informer *informer = NULL;
    must(kinf_factory_informer_for(factory, KINF_STR(""), KINF_STR("v1"), KINF_STR(plural), NULL, &informer, &error),
         error, plural);
    must(kinf_events_add(events, informer, NULL, NULL, &error), error, plural);
    kinf_informer_free(informer); /* the factory holds it */
}

/* Makes a ConfigMap and deletes it, once all that was there is known. */
static void come_and_go(kinf_client *client)
{
    kinf_error *error = NULL;
    kinf_resource *maps = NULL;
    must(kinf_resource_new(KINF_STR(""), KINF_STR("v1"), KINF_STR("ConfigMap"), KINF_STR("configmaps"), true, &maps,
                           &error), error, "resource");
    must(kinf_client_create(client, maps, KINF_STR("default"), KINF_STR("{\"metadata\":{\"name\":\"epoll\"}}"), NULL,
                            &error), error, "create");
    must(kinf_client_delete(client, maps, KINF_STR("default"), KINF_STR("epoll"), NULL, &error), error, "delete");
    kinf_resource_free(maps);
}

/* Returns whether the ConfigMap of this program went. */
static int handle(const kinf_event *event, kinf_client *client)
{
    static const char *const verbs[] = {"", "added", "updated", "deleted"};
    static int unsynced = 2;
    kinf_event_type type = kinf_event_get_type(event);
    if (type == KINF_SYNCED && --unsynced == 0) { /* once for each informer */
        printf("all that was there is known\n");
        come_and_go(client);
    }
    if (type > KINF_DELETED) /* not about an object */
        return 0;
    printf("%s %s %s\n", verbs[type], kinf_object_kind(kinf_event_object(event), NULL), kinf_event_key(event, NULL));
    return type == KINF_DELETED && strcmp(kinf_event_key(event, NULL), "default/epoll") == 0;
}

int main(void)
{
    kinf_error *error = NULL;
    kinf_config *config = NULL;
    kinf_client *client = NULL;
    kinf_factory *factory = NULL;
    kinf_events *events = NULL;
    struct epoll_event ready = {.events = EPOLLIN};
    int done = 0, epoll = epoll_create1(EPOLL_CLOEXEC);

#ifdef KINF_TESTING
    kinf_test_server *server = NULL;
    must(kinf_test_server_start(false, &server, &error), error, "server");
    must(kinf_test_server_config(server, &config, &error), error, "config");
#else
    must(kinf_config_infer(&config, &error), error, "config");
#endif
    must(kinf_client_new(config, &client, &error), error, "client");
    must(kinf_factory_new(client, NULL, &factory, &error), error, "factory");
    must(kinf_events_new(&events, &error), error, "events");
    watch(factory, events, "pods");
    watch(factory, events, "configmaps");
    must(kinf_factory_start(factory, &error), error, "start");

    /* The loop. The descriptor is readable while there is something to take, so any kind of polling will do. */
    epoll_ctl(epoll, EPOLL_CTL_ADD, kinf_events_fd(events), &ready);
    while (!done && epoll_wait(epoll, &ready, 1, 30000) == 1) {
        kinf_event *event = NULL;
        while (!done && kinf_events_next(events, 0, &event, NULL) == KINF_OK) {
            done = handle(event, client);
            kinf_event_free(event);
        }
    }
    printf(done ? "done\n" : "nothing came\n");

    close(epoll);
    kinf_factory_free(factory);
    kinf_events_free(events);
    kinf_client_free(client);
    kinf_config_free(config);
#ifdef KINF_TESTING
    kinf_test_server_free(server);
#endif
    return !done;
}

/* Pods of the cluster: callbacks for every change, a lister on the cache, an index by node.
 * Built with KINF_TESTING it starts the embedded API server; otherwise it takes kubeconfig or in-cluster. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <kinformer.h>

/* Prints the reason and gives up. */
static void must(kinf_status status, kinf_error *error, const char *what)
{
    if (status == KINF_OK)
        return;
    fprintf(stderr, "%s: %s (%d)\n", what, kinf_error_message(error, NULL), (int)status);
    kinf_error_free(error);
    exit(1);
}

/* Called on the handler's own thread, one event at a time. */
static void on_event(void *user, const kinf_event *event)
{
    unsigned long *count = user;
    const char *key = kinf_event_key(event, NULL);
    *count += kinf_event_object(event) != NULL;
    switch (kinf_event_get_type(event)) {
    case KINF_ADDED:
        printf("added %s%s\n", key, kinf_event_is_initial(event) ? " (initial)" : "");
        break;
    case KINF_UPDATED:
        printf("updated %s (%s -> %s)\n", key, kinf_object_resource_version(kinf_event_old(event), NULL),
               kinf_object_resource_version(kinf_event_object(event), NULL));
        break;
    case KINF_DELETED:
        printf("deleted %s%s\n", key, kinf_event_is_final_state_unknown(event) ? " (unseen)" : "");
        break;
    case KINF_SYNCED:
        printf("these were all\n");
        break;
    default: /* more may come in later libraries */
        break;
    }
}

static void print_pod(const kinf_object *pod)
{
    kinf_text *node = NULL;
    const char *app = "-";
    kinf_object_label(pod, KINF_STR("app"), &app, NULL, NULL);
    if (kinf_object_get_string(pod, KINF_STR("/spec/nodeName"), &node, NULL) != KINF_OK)
        node = NULL;
    printf("pod %s app=%s node=%s\n", kinf_object_key(pod, NULL), app ? app : "-", kinf_text_data(node, NULL));
    kinf_text_free(node);
}

int main(void)
{
    kinf_error *error = NULL;
    kinf_config *config = NULL;
    kinf_client *client = NULL;
    kinf_factory *factory = NULL;
    kinf_informer *pods = NULL;
    kinf_registration *registration = NULL;
    kinf_list *list = NULL;
    kinf_strings *nodes = NULL;
    kinf_informer_status status;
    unsigned long events = 0;

#ifdef KINF_TESTING
    kinf_test_server *server = NULL;
    must(kinf_test_server_start(true, &server, &error), error, "server");
    must(kinf_test_server_config(server, &config, &error), error, "config");
#else
    must(kinf_config_infer(&config, &error), error, "config");
#endif
    must(kinf_client_new(config, &client, &error), error, "client");
    must(kinf_factory_new(client, NULL, &factory, &error), error, "factory");
    must(kinf_factory_informer_for(factory, KINF_STR(""), KINF_STR("v1"), KINF_STR("pods"), NULL, &pods, &error),
         error, "informer");
    must(kinf_informer_add_index(pods, KINF_STR("node"), KINF_STR("/spec/nodeName"), &error), error, "index");
    must(kinf_informer_on_event(pods, on_event, &events, NULL, -1, &registration, &error), error, "handler");
    must(kinf_factory_start(factory, &error), error, "start");
    must(kinf_factory_wait_for_sync(factory, 30000, &error), error, "sync"); /* the message says who is missing, and why */

    must(kinf_informer_list(pods, KINF_STR(""), KINF_STR(""), &list, &error), error, "list");
    for (size_t at = 0; at < kinf_list_count(list); at++)
        print_pod(kinf_list_at(list, at));
    kinf_list_free(list);

    must(kinf_informer_index_values(pods, KINF_STR("node"), &nodes, &error), error, "nodes");
    for (size_t at = 0; at < kinf_strings_count(nodes); at++) {
        const char *node = kinf_strings_at(nodes, at, NULL);
        must(kinf_informer_by_index(pods, KINF_STR("node"), KINF_STR(node), &list, &error), error, "by index");
        printf("node %s has %zu pods\n", node, kinf_list_count(list));
        kinf_list_free(list);
    }
    kinf_strings_free(nodes);

    must(kinf_informer_read_status(pods, &status, sizeof status, &error), error, "status");
    must(kinf_factory_shutdown(factory, -1, &error), error, "shutdown"); /* no callback runs after this */
    printf("%lu events, %" PRIu64 " pods\n", events, status.objects);

    kinf_registration_free(registration);
    kinf_informer_free(pods);
    kinf_factory_free(factory);
    kinf_client_free(client);
    kinf_config_free(config);
#ifdef KINF_TESTING
    kinf_test_server_free(server);
#endif
    return 0;
}

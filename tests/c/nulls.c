/* Every function with bad arguments: the calls are written by nulls.py. */
#include "fixture.h"
#include "check.h"

struct good good;
kinf_error *out_error;
size_t out_size;
int64_t out_int;
double out_double;
bool out_bool;
const char *out_chars;
kinf_value out_kinf_value;
kinf_informer_status out_kinf_informer_status;

void any_kinf_event_callback(void *user, const kinf_event *event) { (void)user, (void)event; }

void any_kinf_index_callback(void *user, const kinf_object *object, kinf_index_values *values)
{
    (void)user, (void)object;
    kinf_index_values_add(values, KINF_STR("x"), NULL);
}

void any_kinf_item_index_callback(void *user, const void *item, kinf_index_values *values)
{
    (void)user, (void)item;
    kinf_index_values_add(values, KINF_STR("x"), NULL);
}

const char *any_kinf_key_callback(void *user, const void *item, size_t *length)
{
    (void)user;
    *length = strlen(item);
    return item;
}

void any_kinf_process_callback(void *user, const kinf_deltas *deltas) { (void)user, (void)deltas; }

void any_kinf_log_callback(void *user, kinf_log_level level, const char *target, const char *message, size_t length)
{
    (void)user, (void)level, (void)target, (void)message, (void)length;
}

void clear(void)
{
    kinf_error_free(out_error);
    out_error = NULL;
    clear_outputs();
}

void survived(const char *what)
{
    (void)what;
    check(true, what, "nulls", 0);
}

void judge(kinf_status status, const char *refused, const char *what)
{
    if (!refused) { /* whatever it says, it says why */
        check(status == KINF_OK || !out_error || kinf_error_status(out_error) == status, what, "nulls", 0);
        return;
    }
    const char *message = kinf_error_message(out_error, NULL);
    bool good = status == KINF_INVALID_ARGUMENT && strncmp(message, "invalid ", 8) == 0
        && strstr(message, refused) && outputs_are_clear();
    check(good, what, "nulls", 0);
    if (!good)
        fprintf(stderr, "  %d %s\n", (int)status, message);
}

int main(void)
{
    static char item[] = "item", other[] = "other";
    kinf_error *error = NULL;
    MUST(kinf_test_server_start(false, &good.test_server, &error));
    MUST(kinf_test_server_config(good.test_server, &good.config, &error));
    MUST(kinf_client_new(good.config, &good.client, &error));
    MUST(kinf_resource_new(KINF_STR(""), KINF_STR("v1"), KINF_STR("ConfigMap"), KINF_STR("configmaps"), true,
                           &good.resource, &error));
    MUST(kinf_client_create(good.client, good.resource, KINF_STR("default"),
                            KINF_STR("{\"metadata\":{\"name\":\"x\",\"labels\":{\"x\":\"y\"}}}"), &good.object, &error));
    MUST(kinf_selection_new(&good.selection, &error));
    MUST(kinf_factory_options_new(&good.factory_options, &error));
    MUST(kinf_factory_new(good.client, good.factory_options, &good.factory, &error));
    MUST(kinf_factory_informer(good.factory, good.resource, NULL, &good.informer, &error));
    MUST(kinf_events_new(&good.events, &error));
    MUST(kinf_events_add(good.events, good.informer, NULL, &good.registration, &error));
    MUST(kinf_factory_start(good.factory, &error));
    MUST(kinf_factory_wait_for_sync(good.factory, 30000, &error));
    MUST(kinf_events_next(good.events, 30000, &good.event, &error));
    MUST(kinf_informer_list(good.informer, NULL, 0, NULL, 0, &good.list, &error));
    MUST(kinf_informer_keys(good.informer, &good.strings, &error));
    MUST(kinf_factory_status_json(good.factory, &good.text, &error));
    MUST(kinf_indexer_new(any_kinf_key_callback, NULL, NULL, NULL, &good.indexer, &error));
    MUST(kinf_indexer_add(good.indexer, item, &error));
    MUST(kinf_indexer_list(good.indexer, &good.items, &error));
    MUST(kinf_delta_fifo_new(any_kinf_key_callback, NULL, NULL, NULL, good.indexer, &good.delta_fifo, &error));
    MUST(kinf_delta_fifo_add(good.delta_fifo, other, &error));
    MUST(kinf_delta_fifo_pop(good.delta_fifo, 0, &good.deltas, &error));
    kinf_resource *none = NULL;
    CHECK(kinf_client_find(good.client, KINF_STR("nothings"), &none, &good.error) == KINF_NOT_FOUND);
    good.item = item;

    unsigned functions = test_all();
    clear();
    printf("%u functions\n", functions);

    kinf_error_free(good.error);
    kinf_deltas_free(good.deltas);
    kinf_delta_fifo_free(good.delta_fifo);
    kinf_items_free(good.items);
    kinf_indexer_free(good.indexer);
    kinf_text_free(good.text);
    kinf_strings_free(good.strings);
    kinf_list_free(good.list);
    kinf_event_free(good.event);
    kinf_object_free(good.object);
    kinf_registration_free(good.registration);
    kinf_events_free(good.events);
    kinf_informer_free(good.informer);
    kinf_factory_free(good.factory);
    kinf_factory_options_free(good.factory_options);
    kinf_selection_free(good.selection);
    kinf_resource_free(good.resource);
    kinf_client_free(good.client);
    kinf_config_free(good.config);
    kinf_test_server_free(good.test_server);
    kinf_log_to_callback(NULL, NULL, NULL, KINF_LOG_OFF, NULL);
    return report();
}

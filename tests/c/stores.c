/* The queue and the store of items of one's own. */
#include <pthread.h>
#include "check.h"

struct item {
    char name[16];
    char group[16];
    int value;
};

static unsigned live, users_freed;

static struct item *item(const char *name, const char *group, int value)
{
    struct item *made = calloc(1, sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    snprintf(made->group, sizeof made->group, "%s", group);
    made->value = value;
    __atomic_add_fetch(&live, 1, __ATOMIC_SEQ_CST);
    return made;
}

static const char *key_of(void *user, const void *data, size_t *length)
{
    const struct item *item = data;
    (void)user;
    *length = strlen(item->name);
    return *length ? item->name : NULL;
}

static void free_item(void *user, void *data)
{
    (void)user;
    free(data);
    __atomic_sub_fetch(&live, 1, __ATOMIC_SEQ_CST);
}

static void free_user(void *user) { ++*(unsigned *)user; }

static void group_of(void *user, const void *data, kinf_index_values *values)
{
    (void)user;
    kinf_index_values_add(values, KINF_STR(((const struct item *)data)->group), NULL);
}

static void apply(void *user, const kinf_deltas *deltas) { CHECK(kinf_indexer_apply(user, deltas, NULL) == KINF_OK); }

static kinf_indexer *new_indexer(void)
{
    kinf_error *error = NULL;
    kinf_indexer *indexer = NULL;
    MUST(kinf_indexer_new(key_of, free_item, &users_freed, free_user, &indexer, &error));
    MUST(kinf_indexer_add_index(indexer, KINF_STR("group"), group_of, NULL, NULL, &error));
    return indexer;
}

static kinf_delta_fifo *counted;
static unsigned frees;

/* Callbacks may call anything: that which frees an item, the queue that has dropped it. */
static void free_and_count(void *user, void *data)
{
    free_item(user, data);
    CHECK(kinf_delta_fifo_count(counted) <= 1);
    frees++;
}

static void test_an_item_is_freed_when_its_queue_can_be_used(void)
{
    kinf_error *error = NULL;
    unsigned freed = 0;
    MUST(kinf_delta_fifo_new(key_of, free_and_count, &freed, free_user, NULL, &counted, &error));
    MUST(kinf_delta_fifo_delete(counted, item("a", "g", 1), &error)); /* of which nothing is known */
    CHECK(frees == 1);
    MUST(kinf_delta_fifo_add(counted, item("a", "g", 2), &error));
    MUST(kinf_delta_fifo_delete(counted, item("a", "g", 3), &error));
    MUST(kinf_delta_fifo_delete(counted, item("a", "g", 4), &error)); /* which says nothing new */
    CHECK(frees == 2 && freed == 0);
    kinf_delta_fifo *last = counted;
    counted = NULL;
    kinf_delta_fifo_free(last);
    CHECK(frees == 4 && freed == 1 && live == 0);
}

static void test_indexer(void)
{
    kinf_error *error = NULL;
    kinf_indexer *indexer = new_indexer();
    kinf_items *items = NULL;
    kinf_strings *keys = NULL;
    struct item nameless = {0};
    MUST(kinf_indexer_add(indexer, item("a", "x", 1), &error));
    MUST(kinf_indexer_add(indexer, item("b", "x", 2), &error));
    MUST(kinf_indexer_add(indexer, item("c", "y", 3), &error));
    MUST(kinf_indexer_get(indexer, KINF_STR("a"), &items, &error));
    MUST(kinf_indexer_add(indexer, item("a", "y", 4), &error));
    CHECK(((struct item *)kinf_items_at(items, 0))->value == 1 && live == 4); /* held, though replaced */
    kinf_items_free(items);
    CHECK(live == 3);
    MUST(kinf_indexer_index_keys(indexer, KINF_STR("group"), KINF_STR("y"), &keys, &error));
    CHECK(kinf_strings_count(keys) == 2 && strcmp(kinf_strings_at(keys, 0, NULL), "a") == 0
          && strcmp(kinf_strings_at(keys, 1, NULL), "c") == 0);
    kinf_strings_free(keys);
    MUST(kinf_indexer_by_index(indexer, KINF_STR("group"), KINF_STR("x"), &items, &error));
    CHECK(kinf_items_count(items) == 1 && ((struct item *)kinf_items_at(items, 0))->value == 2);
    CHECK(kinf_items_at(items, 1) == NULL);
    kinf_items_free(items);
    CHECK(kinf_indexer_by_index(indexer, KINF_STR("none"), KINF_STR("x"), &items, NULL) == KINF_NOT_FOUND);
    CHECK(kinf_indexer_add(indexer, &nameless, &error) == KINF_INVALID_ARGUMENT); /* and stays ours */
    CHECK(strstr(kinf_error_message(error, NULL), "key of the item"));
    kinf_error_free(error);
    MUST(kinf_indexer_delete(indexer, KINF_STR("b"), &error));
    CHECK(kinf_indexer_delete(indexer, KINF_STR("b"), NULL) == KINF_NOT_FOUND);
    CHECK(live == 2 && kinf_indexer_count(indexer) == 2);
    void *all[] = {item("d", "z", 5), item("e", "z", 6)};
    MUST(kinf_indexer_replace(indexer, all, 2, &error));
    CHECK(live == 2 && kinf_indexer_count(indexer) == 2);
    MUST(kinf_indexer_list(indexer, &items, &error));
    MUST(kinf_indexer_keys(indexer, &keys, &error));
    CHECK(kinf_items_count(items) == 2 && kinf_strings_count(keys) == 2);
    kinf_strings_free(keys);
    users_freed = 0;
    kinf_indexer_free(indexer);
    CHECK(live == 2 && users_freed == 0); /* both are still needed to free what is held */
    kinf_items_free(items);
    CHECK(live == 0 && users_freed == 1);
}

static void test_delta_fifo(void)
{
    kinf_error *error = NULL;
    kinf_indexer *known = new_indexer();
    kinf_delta_fifo *fifo = NULL;
    kinf_deltas *deltas = NULL;
    kinf_items *items = NULL;
    MUST(kinf_delta_fifo_new(key_of, free_item, NULL, NULL, known, &fifo, &error));
    MUST(kinf_delta_fifo_add(fifo, item("a", "x", 1), &error));
    MUST(kinf_delta_fifo_add(fifo, item("b", "x", 2), &error));
    MUST(kinf_delta_fifo_update(fifo, item("a", "x", 3), &error));
    MUST(kinf_delta_fifo_delete(fifo, item("a", "x", 4), &error));
    CHECK(kinf_delta_fifo_count(fifo) == 2 && live == 4);
    MUST(kinf_delta_fifo_list(fifo, &items, &error));
    CHECK(kinf_items_count(items) == 2);
    kinf_items_free(items);
    MUST(kinf_delta_fifo_pop(fifo, -1, &deltas, &error)); /* all of the first come first */
    CHECK(strcmp(kinf_deltas_key(deltas, NULL), "a") == 0 && kinf_deltas_count(deltas) == 3);
    CHECK(kinf_deltas_type_at(deltas, 0) == KINF_DELTA_ADDED && kinf_deltas_type_at(deltas, 1) == KINF_DELTA_UPDATED
          && kinf_deltas_type_at(deltas, 2) == KINF_DELTA_DELETED && kinf_deltas_type_at(deltas, 3) == KINF_DELTA_NONE);
    CHECK(((struct item *)kinf_deltas_item_at(deltas, 1))->value == 3 && !kinf_deltas_item_at(deltas, 3));
    CHECK(!kinf_deltas_is_final_state_unknown_at(deltas, 2));
    MUST(kinf_indexer_apply(known, deltas, &error));
    kinf_deltas_free(deltas);
    CHECK(live == 1 && kinf_indexer_count(known) == 0);
    MUST(kinf_delta_fifo_process(fifo, 0, apply, known, &error));
    CHECK(live == 1 && kinf_indexer_count(known) == 1);
    void *list[] = {item("c", "y", 5)};
    MUST(kinf_delta_fifo_replace(fifo, list, 1, &error)); /* which leaves out b */
    MUST(kinf_delta_fifo_process(fifo, 0, apply, known, &error));
    MUST(kinf_delta_fifo_pop(fifo, 0, &deltas, &error));
    CHECK(strcmp(kinf_deltas_key(deltas, NULL), "b") == 0 && kinf_deltas_is_final_state_unknown_at(deltas, 0));
    MUST(kinf_indexer_apply(known, deltas, &error));
    kinf_deltas_free(deltas);
    CHECK(live == 1 && kinf_indexer_count(known) == 1);
    kinf_delta_fifo_resync(fifo);
    MUST(kinf_delta_fifo_pop(fifo, 0, &deltas, &error));
    CHECK(kinf_deltas_type_at(deltas, 0) == KINF_DELTA_SYNC);
    kinf_deltas_free(deltas);
    CHECK(kinf_delta_fifo_pop(fifo, 10, &deltas, NULL) == KINF_EMPTY && !deltas);
    kinf_delta_fifo_close(fifo);
    CHECK(kinf_delta_fifo_pop(fifo, -1, &deltas, NULL) == KINF_STOPPED);
    kinf_indexer_free(known); /* the queue keeps what it needs */
    kinf_delta_fifo_free(fifo);
    CHECK(live == 0);
}

static void *produce(void *user)
{
    char name[16];
    for (int at = 0; at < 1000; at++) {
        snprintf(name, sizeof name, "i%d", at % 37);
        CHECK(kinf_delta_fifo_update(user, item(name, "x", at), NULL) == KINF_OK);
    }
    return NULL;
}

static void test_several_threads(void)
{
    kinf_error *error = NULL;
    kinf_indexer *known = new_indexer();
    kinf_delta_fifo *fifo = NULL;
    pthread_t threads[4];
    MUST(kinf_delta_fifo_new(key_of, free_item, NULL, NULL, known, &fifo, &error));
    for (int at = 0; at < 4; at++)
        CHECK(pthread_create(&threads[at], NULL, produce, fifo) == 0);
    while (kinf_indexer_count(known) < 37)
        CHECK(kinf_delta_fifo_process(fifo, 60000, apply, known, NULL) == KINF_OK);
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    kinf_delta_fifo_close(fifo);
    while (kinf_delta_fifo_process(fifo, -1, apply, known, NULL) == KINF_OK)
        ;
    CHECK(kinf_indexer_count(known) == 37);
    kinf_delta_fifo_free(fifo);
    kinf_indexer_free(known);
    CHECK(live == 0);
}

int main(void)
{
    test_an_item_is_freed_when_its_queue_can_be_used();
    test_indexer();
    test_delta_fifo();
    test_several_threads();
    return report();
}

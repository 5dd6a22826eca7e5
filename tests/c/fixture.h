/* What nulls.py relies on: a good handle of every kind, and somebody to judge. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <kinformer.h>

struct good {
    kinf_config *config;
    kinf_resource *resource;
    kinf_selection *selection;
    kinf_client *client;
    kinf_factory *factory;
    kinf_factory_options *factory_options;
    kinf_informer *informer;
    kinf_registration *registration;
    kinf_events *events;
    kinf_event *event;
    kinf_object *object;
    kinf_list *list;
    kinf_text *text;
    kinf_strings *strings;
    kinf_indexer *indexer;
    kinf_delta_fifo *delta_fifo;
    kinf_deltas *deltas;
    kinf_items *items;
    kinf_error *error;
    kinf_test_server *test_server;
    void *item;
};

extern struct good good;
extern kinf_error *out_error;
extern size_t out_size;
extern int64_t out_int;
extern double out_double;
extern bool out_bool;
extern const char *out_chars;
extern kinf_value out_kinf_value;
extern kinf_informer_status out_kinf_informer_status;

void any_kinf_event_callback(void *user, const kinf_event *event);
void any_kinf_index_callback(void *user, const kinf_object *object, kinf_index_values *values);
void any_kinf_item_index_callback(void *user, const void *item, kinf_index_values *values);
const char *any_kinf_key_callback(void *user, const void *item, size_t *length);
void any_kinf_process_callback(void *user, const kinf_deltas *deltas);
void any_kinf_log_callback(void *user, kinf_log_level level, const char *target, const char *message, size_t length);

/* Frees what the last call gave. */
void clear(void);
void clear_outputs(void);
bool outputs_are_clear(void);
/* A call returned; if an argument had to be refused, it was, by name. */
void judge(kinf_status status, const char *refused, const char *what);
void survived(const char *what);
/* Gives the number of functions. */
unsigned test_all(void);

#endif

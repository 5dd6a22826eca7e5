/**
 * @file kinformer.h
 * Kubernetes informers for C: caches that follow the API server, with callbacks or a queue that can be polled.
 *
 * Ownership. A handle that a function sets belongs to the caller: free it once, with the function of its
 * type. Freeing NULL does nothing. Using a handle after it was freed is undefined, as ever in C. Pointers
 * that are borrowed say so, and for how long.
 *
 * Threads. Every function may be called from any thread, and every handle used by several at once; only
 * freeing must be the last use. Functions that block say so; callbacks may call anything, unless it says
 * otherwise.
 *
 * Errors. What can fail returns a kinf_status. Its last argument, which may be NULL, is set to NULL, or to an
 * error that says more and is to be freed with kinf_error_free(). Other outputs are set to NULL or 0 if the
 * call fails.
 *
 * Text. In: a pointer and a length in bytes, UTF-8; KINF_STR() makes both of a C string. Text that may be
 * left out may be NULL with a length of 0. Out: UTF-8 with a NUL after it, and its length where asked for.
 *
 * Generated from the sources by cbindgen: do not edit.
 */


#ifndef KINFORMER_H
#define KINFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The version of this header. kinf_version() is that of the library. */
#define KINF_VERSION "0.1.0"
#define KINF_VERSION_MAJOR 0
#define KINF_VERSION_MINOR 1
#define KINF_VERSION_PATCH 0
/** For comparisons: 10203 is 1.2.3. */
#define KINF_VERSION_NUMBER (KINF_VERSION_MAJOR * 10000 + KINF_VERSION_MINOR * 100 + KINF_VERSION_PATCH)

/** The length of a C string; 0 for NULL. */
static inline size_t kinf_length(const char *text) { return text ? strlen(text) : 0; }

/** A C string as two arguments: the pointer and the length. Evaluates its argument twice. */
#define KINF_STR(text) (text), kinf_length(text)

/**
 * What came of a call. The numbers never change; new ones may be added.
 */
enum kinf_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It worked.
   */
  KINF_OK = 0,
  /**
   * An argument cannot be used: NULL, not UTF-8, too long, or not what it should be. The message names it.
   */
  KINF_INVALID_ARGUMENT = 100,
  /**
   * The configuration cannot be loaded, or contradicts itself. The message names file and field.
   */
  KINF_CONFIG = 200,
  /**
   * Connecting, TLS or HTTP failed.
   */
  KINF_TRANSPORT = 300,
  /**
   * It took longer than it may.
   */
  KINF_TIMEOUT = 301,
  /**
   * What arrived is not the JSON that was expected.
   */
  KINF_DECODE = 310,
  /**
   * The server refused, for a reason without a code here: see kinf_error_http_code().
   */
  KINF_API = 400,
  /**
   * The credentials were missing or refused.
   */
  KINF_UNAUTHORIZED = 401,
  /**
   * The credentials are good, and the action is not allowed.
   */
  KINF_FORBIDDEN = 403,
  /**
   * There is no such thing: object, label, field, resource, index.
   */
  KINF_NOT_FOUND = 404,
  /**
   * Somebody else changed the object first.
   */
  KINF_CONFLICT = 409,
  /**
   * The resource version is too old.
   */
  KINF_EXPIRED = 410,
  /**
   * The object does not pass the server's validation.
   */
  KINF_INVALID_OBJECT = 422,
  /**
   * The server is shedding load.
   */
  KINF_TOO_MANY_REQUESTS = 429,
  /**
   * There is an object of that name.
   */
  KINF_ALREADY_EXISTS = 499,
  /**
   * It has been stopped or closed.
   */
  KINF_STOPPED = 500,
  /**
   * There is nothing now: try again later.
   */
  KINF_EMPTY = 501,
  /**
   * The caches have not synced, in time or at all. The message says which, and why.
   */
  KINF_NOT_SYNCED = 502,
  /**
   * Something else failed.
   */
  KINF_OTHER = 900,
  /**
   * A fault in the library: it panicked, and the call was given up.
   */
  KINF_PANIC = 999,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kinf_status kinf_status;
#else
typedef int32_t kinf_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What kind of JSON value a kinf_value is.
 */
enum kinf_value_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * null
   */
  KINF_NULL = 0,
  /**
   * true or false
   */
  KINF_BOOLEAN = 1,
  /**
   * A number.
   */
  KINF_NUMBER = 2,
  /**
   * A string, in its quotes.
   */
  KINF_STRING = 3,
  /**
   * An array.
   */
  KINF_ARRAY = 4,
  /**
   * An object.
   */
  KINF_OBJECT = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kinf_value_type kinf_value_type;
#else
typedef int32_t kinf_value_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What happened.
 */
enum kinf_event_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * An object came into the cache.
   */
  KINF_ADDED = 1,
  /**
   * An object was changed, or is told again.
   */
  KINF_UPDATED = 2,
  /**
   * An object went.
   */
  KINF_DELETED = 3,
  /**
   * No object: all that were there from the start have been told before this. Comes once from each informer to each
   * callback or queue that was added to it, also if there were none.
   */
  KINF_SYNCED = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kinf_event_type kinf_event_type;
#else
typedef int32_t kinf_event_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Whether an informer runs.
 */
enum kinf_informer_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It has not been started.
   */
  KINF_NOT_STARTED = 0,
  /**
   * It runs.
   */
  KINF_RUNNING = 1,
  /**
   * It has stopped, and stays so.
   */
  KINF_ENDED = 2,
  /**
   * It stopped because of a fault in the library.
   */
  KINF_FAILED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kinf_informer_state kinf_informer_state;
#else
typedef int32_t kinf_informer_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What an informer is doing towards the server.
 */
enum kinf_activity
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Nothing yet, or nothing any more.
   */
  KINF_IDLE = 0,
  /**
   * It is reading a list of all objects.
   */
  KINF_LISTING = 1,
  /**
   * It is asking for a watch.
   */
  KINF_CONNECTING = 2,
  /**
   * It is watching.
   */
  KINF_WATCHING = 3,
  /**
   * It waits before it tries again.
   */
  KINF_BACKING_OFF = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kinf_activity kinf_activity;
#else
typedef int32_t kinf_activity;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * One thing that happened to an item.
 */
enum kinf_delta_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * There is no delta at this place.
   */
  KINF_DELTA_NONE = 0,
  /**
   * It was added.
   */
  KINF_DELTA_ADDED = 1,
  /**
   * It was changed.
   */
  KINF_DELTA_UPDATED = 2,
  /**
   * It was in a new list.
   */
  KINF_DELTA_REPLACED = 3,
  /**
   * It is told again.
   */
  KINF_DELTA_SYNC = 4,
  /**
   * It is gone.
   */
  KINF_DELTA_DELETED = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kinf_delta_type kinf_delta_type;
#else
typedef int32_t kinf_delta_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How much there is to say.
 */
enum kinf_log_level
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Nothing.
   */
  KINF_LOG_OFF = 0,
  /**
   * What is wrong and stays so.
   */
  KINF_LOG_ERROR = 1,
  /**
   * What is wrong and will be tried again.
   */
  KINF_LOG_WARN = 2,
  /**
   * What is worth knowing.
   */
  KINF_LOG_INFO = 3,
  /**
   * What helps to find faults.
   */
  KINF_LOG_DEBUG = 4,
  /**
   * Everything, with the contents of requests and answers; never credentials.
   */
  KINF_LOG_TRACE = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kinf_log_level kinf_log_level;
#else
typedef int32_t kinf_log_level;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a patch is written.
 */
enum kinf_patch_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * RFC 7386: what is there replaces, null removes, lists are replaced whole.
   */
  KINF_PATCH_MERGE = 0,
  /**
   * RFC 6902: a list of operations.
   */
  KINF_PATCH_JSON = 1,
  /**
   * As merge, but known lists are merged by key; built-in kinds only.
   */
  KINF_PATCH_STRATEGIC = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kinf_patch_type kinf_patch_type;
#else
typedef int32_t kinf_patch_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A connection to a cluster.
 *
 * Made by kinf_client_new(); free it with kinf_client_free(). kinf_client_clone() gives another handle on
 * the same connections. May be used from any thread, by several at once: each call blocks its caller only.
 */
typedef struct kinf_client kinf_client;

/**
 * Which server to talk to, and as whom.
 *
 * Made by kinf_config_infer(), kinf_config_in_cluster(), kinf_config_from_kubeconfig_file(),
 * kinf_config_from_kubeconfig_text() or kinf_config_new(); free it with kinf_config_free(), also after it
 * was given to kinf_client_new(), which takes a copy. May be used from any thread.
 */
typedef struct kinf_config kinf_config;

/**
 * A queue of items of your own, each with the list of what happened to it since it was last taken: the
 * queue that is inside of every informer.
 *
 * Made by kinf_delta_fifo_new(); free it with kinf_delta_fifo_free(). May be used from any thread, by
 * several at once. Items that were given belong to the queue and to the deltas that are taken from it.
 */
typedef struct kinf_delta_fifo kinf_delta_fifo;

/**
 * What happened to one item, oldest first. Given by kinf_delta_fifo_pop(); free it with
 * kinf_deltas_free(). One that a callback is given is borrowed: valid until the callback returns.
 */
typedef struct kinf_deltas kinf_deltas;

/**
 * Why a call failed. Made by the call that failed; free it with kinf_error_free().
 *
 * Belongs to whoever called; may be read from any thread.
 */
typedef struct kinf_error kinf_error;

/**
 * A change in a cache, or that all objects from the start have been told.
 *
 * One that a callback is given is borrowed: valid until the callback returns, and not to be freed. One
 * that kinf_events_next() gives is to be freed with kinf_event_free().
 */
typedef struct kinf_event kinf_event;

/**
 * A queue of events, for programs with a loop of their own.
 *
 * Events that wait in it stay when the handler that brought them is removed.
 *
 * Made by kinf_events_new(); fed by any number of informers, with kinf_events_add(); free it with
 * kinf_events_free(). May be used from any thread, by several at once. Holds any number of events: take
 * them.
 */
typedef struct kinf_events kinf_events;

/**
 * Informers of one cluster: each resource is watched once, however many ask for it.
 *
 * Made by kinf_factory_new(); free it with kinf_factory_free(), which stops everything. May be used from
 * any thread, by several at once, and from callbacks. A thread or a callback that may outlive the
 * owner's handle has one of its own, from kinf_factory_clone().
 */
typedef struct kinf_factory kinf_factory;

/**
 * What a factory says about all its informers.
 *
 * Made by kinf_factory_options_new(); free it with kinf_factory_options_free(), also after it was given
 * to kinf_factory_new(), which takes a copy. May be used from any thread.
 */
typedef struct kinf_factory_options kinf_factory_options;

/**
 * Where an index callback puts the values of an object. Valid until the callback returns.
 */
typedef struct kinf_index_values kinf_index_values;

/**
 * A store of items of your own, each under its key, with indices.
 *
 * Made by kinf_indexer_new(); free it with kinf_indexer_free(). May be used from any thread, by several at
 * once. Items that were given belong to the store; what reads gives kinf_items, which keep them alive.
 */
typedef struct kinf_indexer kinf_indexer;

/**
 * A cache of the objects of one resource, kept up to date by a watch, with handlers that are told of
 * every change.
 *
 * Given by kinf_factory_informer() and its kin, held by the factory, started and stopped with it. A
 * handle: free it with kinf_informer_free() whenever it is not needed. May be used from any thread, by
 * several at once.
 */
typedef struct kinf_informer kinf_informer;

/**
 * Some items, held for as long as this: while it is, none of them is freed.
 *
 * Free it with kinf_items_free(). May be used from any thread.
 */
typedef struct kinf_items kinf_items;

/**
 * Several objects, as they were at one moment; one block of memory, however many there are.
 *
 * Given by kinf_informer_list() and its kin; free it with kinf_list_free(). May be used from any thread.
 */
typedef struct kinf_list kinf_list;

/**
 * One object of the API: its JSON as the server sent it, without managed fields, and its metadata.
 *
 * Never changes. Several handles may be of one object, which lives as long as any of them: those of the
 * caches, of events and of lists, and those that kinf_object_clone() gives. A handle that was given to
 * you is to be freed with kinf_object_free(); one that is borrowed from an event or a list is not, and is
 * valid for as long as that. May be used from any thread.
 *
 * All texts are UTF-8 with a NUL after them, made when first asked for and kept with the object. A
 * NUL inside, which a label or a field can have, counts in the length.
 */
typedef struct kinf_object kinf_object;

/**
 * A handler's place at an informer.
 *
 * Given by kinf_informer_on_event() and kinf_events_add(). Freeing it with kinf_registration_free()
 * leaves the handler where it is; kinf_registration_remove() removes it. May be used from any thread.
 */
typedef struct kinf_registration kinf_registration;

/**
 * A resource of the API: group, version, kind, plural, and whether its objects live in namespaces.
 *
 * Found by kinf_client_find() and kinf_client_find_kind(), or made by kinf_resource_new() or
 * kinf_resource_subresource(); free it with kinf_resource_free(). May be used from any thread.
 */
typedef struct kinf_resource kinf_resource;

/**
 * Which objects an informer or a list is about: those of a namespace, with some labels, with some fields.
 *
 * Made by kinf_selection_new(); free it with kinf_selection_free(), also after it was used: what is made
 * with it takes a copy. May be used from any thread.
 */
typedef struct kinf_selection kinf_selection;

/**
 * Several texts, in order; free them with kinf_strings_free().
 */
typedef struct kinf_strings kinf_strings;

#if defined(KINF_TESTING)
/**
 * A Kubernetes API server inside the process, on a loopback port, for tests. Only in libraries built with
 * the feature "testing", and with KINF_TESTING defined.
 *
 * Made by kinf_test_server_start(); kinf_test_server_free() stops it. May be used from any thread.
 */
typedef struct kinf_test_server kinf_test_server;
#endif

/**
 * Text that belongs to whoever asked for it; free it with kinf_text_free().
 */
typedef struct kinf_text kinf_text;

/**
 * A value inside the JSON of an object, as it is written there. Valid for as long as the object is held.
 */
typedef struct {
  /**
   * What it is.
   */
  kinf_value_type type;
  /**
   * Its JSON, inside that of the object: it has no NUL after it.
   */
  const char *json;
  /**
   * How many bytes.
   */
  size_t json_length;
} kinf_value;

/**
 * Says under which values an object is to be found, with kinf_index_values_add().
 *
 * Called on threads of the library, by several at once, whenever an object comes into the cache; must be
 * quick and always say the same of the same object. It must not call anything that waits.
 */
typedef void (*kinf_index_callback)(void *user, const kinf_object *object, kinf_index_values *values);

/**
 * Frees what a user pointer points at. Called once, on any thread, when the library will not use the
 * pointer any more. May be NULL where there is nothing to free.
 */
typedef void (*kinf_free_callback)(void *user);

/**
 * How an informer is doing, at one moment. Read with kinf_informer_read_status(). Texts, as the last
 * error, are in kinf_informer_status_json().
 */
typedef struct {
  /**
   * Whether it runs.
   */
  kinf_informer_state state;
  /**
   * What it is doing towards the server.
   */
  kinf_activity activity;
  /**
   * Whether all objects from the start are in the cache.
   */
  bool has_synced;
  /**
   * Whether the last attempt to list or to watch failed.
   */
  bool is_failing;
  /**
   * How many handlers there are.
   */
  uint32_t handlers;
  /**
   * How many failures there were since something last worked.
   */
  uint64_t failures;
  /**
   * How many failures there ever were.
   */
  uint64_t all_failures;
  /**
   * How many objects there are.
   */
  uint64_t objects;
  /**
   * How many objects wait to be applied to the cache.
   */
  uint64_t queued;
  /**
   * How many events wait for handlers, all together.
   */
  uint64_t pending;
  /**
   * How many objects could not be used, and were passed over.
   */
  uint64_t passed_over;
  /**
   * How many events watches have brought, bookmarks included.
   */
  uint64_t events;
  /**
   * How often all objects were listed; the first time included.
   */
  uint64_t lists;
  /**
   * How often a watch was opened.
   */
  uint64_t watches;
  /**
   * How long ago the server last sent anything, in milliseconds; -1 if it never has.
   */
  int64_t last_event_age_ms;
  /**
   * How long the current watch has been open, in milliseconds; -1 if there is none.
   */
  int64_t watch_age_ms;
} kinf_informer_status;

/**
 * Is told of a change.
 *
 * Called on the thread of its handler, whose name begins with "kinf-h:", for one event at a time; handlers
 * of one informer run beside each other. The event is valid until the callback returns. Anything may
 * be called from it: kinf_registration_remove() of itself, kinf_factory_shutdown(), kinf_factory_free().
 * It must return: no longjmp() out of it, no C++ exception through it.
 */
typedef void (*kinf_event_callback)(void *user, const kinf_event *event);

/**
 * Says what an item is known by.
 *
 * Returns UTF-8 that is valid until the next call with the same item, and sets its length; NULL if the
 * item has no key, which is an error of whoever gave the item. Called on the thread that gives the item.
 */
typedef const char *(*kinf_key_callback)(void *user, const void *item, size_t *length);

/**
 * Frees an item that nobody holds any more: no queue, no store, no list of items. Called once for each
 * item that was given, on any thread.
 */
typedef void (*kinf_item_free_callback)(void *user, void *item);

/**
 * Says under which values an item is to be found, with kinf_index_values_add().
 */
typedef void (*kinf_item_index_callback)(void *user, const void *item, kinf_index_values *values);

/**
 * Works on one item. Until it returns, the item counts as known to the queue, as this is about to make it.
 */
typedef void (*kinf_process_callback)(void *user, const kinf_deltas *deltas);

/**
 * Is given a line of the log. Called on any thread, by several at once; the texts have NULs, and are valid
 * until it returns. What the library logs while it runs is dropped.
 */
typedef void (*kinf_log_callback)(void *user,
                                  kinf_log_level level,
                                  const char *target,
                                  const char *message,
                                  size_t message_length);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Frees an error; NULL is fine.
 */
void kinf_error_free(kinf_error *error);

/**
 * The code that the call returned; KINF_OK for NULL.
 */
kinf_status kinf_error_status(const kinf_error *error);

/**
 * What happened, in one line; empty for NULL. Valid until the error is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_error_message(const kinf_error *error, size_t *length);

/**
 * The server's reason, as "NotFound"; empty if the failure is not the server's. Valid until the error
 * is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_error_reason(const kinf_error *error, size_t *length);

/**
 * The HTTP code that the server answered with; 0 if the failure is not the server's.
 */
uint16_t kinf_error_http_code(const kinf_error *error);

/**
 * How long the server asks to wait before trying again, in milliseconds; -1 if it does not.
 */
int64_t kinf_error_retry_after_ms(const kinf_error *error);

/**
 * The version of the library that is running, as "0.1.0". Compare it with KINF_VERSION, that of the
 * header. Valid for ever.
 */
const char *kinf_version(void);

/**
 * The text, with a NUL after it; empty for NULL. Valid until it is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_text_data(const kinf_text *text, size_t *length);

/**
 * Frees a text; NULL is fine.
 */
void kinf_text_free(kinf_text *text);

/**
 * How many texts there are; 0 for NULL.
 */
size_t kinf_strings_count(const kinf_strings *strings);

/**
 * One of the texts, with a NUL after it; empty if there is none at this place. Valid until they are freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_strings_at(const kinf_strings *strings, size_t at, size_t *length);

/**
 * Frees the texts; NULL is fine.
 */
void kinf_strings_free(kinf_strings *strings);

/**
 * The configuration that kubectl would use: $KUBECONFIG, then that of the pod the program runs in, then
 * ~/.kube/config.
 */
kinf_status kinf_config_infer(kinf_config **config, kinf_error **error);

/**
 * The configuration of the pod that the program runs in.
 */
kinf_status kinf_config_in_cluster(kinf_config **config, kinf_error **error);

/**
 * The configuration that a kubeconfig file describes.
 *
 * @param path the file
 * @param context which context of it; empty for its current one
 */
kinf_status kinf_config_from_kubeconfig_file(const char *path,
                                             size_t path_length,
                                             const char *context,
                                             size_t context_length,
                                             kinf_config **config,
                                             kinf_error **error);

/**
 * The configuration that the text of a kubeconfig file describes.
 *
 * @param text the YAML
 * @param context which context of it; empty for its current one
 */
kinf_status kinf_config_from_kubeconfig_text(const char *text,
                                             size_t text_length,
                                             const char *context,
                                             size_t context_length,
                                             kinf_config **config,
                                             kinf_error **error);

/**
 * A configuration for the server at a URL, without credentials.
 *
 * @param url as "https://10.0.0.1:6443"
 */
kinf_status kinf_config_new(const char *url, size_t url_length, kinf_config **config, kinf_error **error);

/**
 * Frees a configuration; NULL is fine.
 */
void kinf_config_free(kinf_config *config);

/**
 * Sends a bearer token, in place of any other credentials but certificates.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_token(const kinf_config *config,
                                  const char *token,
                                  size_t token_length,
                                  kinf_error **error);

/**
 * Sends the bearer token that a file holds, read again as it changes.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_token_file(const kinf_config *config,
                                       const char *path,
                                       size_t path_length,
                                       kinf_error **error);

/**
 * Sends a user name and a password.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_basic_auth(const kinf_config *config,
                                       const char *user,
                                       size_t user_length,
                                       const char *password,
                                       size_t password_length,
                                       kinf_error **error);

/**
 * Trusts these certificate authorities, PEM encoded, and no others. Otherwise those of the system.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_certificate_authority(const kinf_config *config,
                                                  const char *pem,
                                                  size_t pem_length,
                                                  kinf_error **error);

/**
 * Trusts the certificate authorities that a PEM file holds, read again as it changes, and no others.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_certificate_authority_file(const kinf_config *config,
                                                       const char *path,
                                                       size_t path_length,
                                                       kinf_error **error);

/**
 * Shows a client certificate, PEM encoded.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_client_certificate(const kinf_config *config,
                                               const char *certificate,
                                               size_t certificate_length,
                                               const char *key,
                                               size_t key_length,
                                               kinf_error **error);

/**
 * Shows the client certificate that two PEM files hold, read again as they change.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_client_certificate_files(const kinf_config *config,
                                                     const char *certificate_path,
                                                     size_t certificate_path_length,
                                                     const char *key_path,
                                                     size_t key_path_length,
                                                     kinf_error **error);

/**
 * Accepts any certificate: whoever is in between can read and change everything.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_insecure_skip_tls_verify(const kinf_config *config, kinf_error **error);

/**
 * Expects this name in the server's certificate. Otherwise the host of the URL.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_tls_server_name(const kinf_config *config,
                                            const char *name,
                                            size_t name_length,
                                            kinf_error **error);

/**
 * Goes through a proxy: http, https, socks5 or socks5h. Otherwise what the environment says; empty for none.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_proxy(const kinf_config *config,
                                  const char *url,
                                  size_t url_length,
                                  kinf_error **error);

/**
 * Acts as another user.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_impersonate(const kinf_config *config,
                                        const char *user,
                                        size_t user_length,
                                        kinf_error **error);

/**
 * The namespace that is meant where none is named.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_default_namespace(const kinf_config *config,
                                              const char *name,
                                              size_t name_length,
                                              kinf_error **error);

/**
 * A name for the cluster, which objects carry. Otherwise host and port of the server.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_cluster(const kinf_config *config,
                                    const char *name,
                                    size_t name_length,
                                    kinf_error **error);

/**
 * What goes into the User-Agent header.
 *
 * If it cannot be used, the configuration stays as it was.
 */
kinf_status kinf_config_set_user_agent(const kinf_config *config,
                                       const char *name,
                                       size_t name_length,
                                       kinf_error **error);

/**
 * How long to try to reach the server: name lookup, TCP, a proxy's answer. Otherwise 30 seconds.
 *
 * @param timeout_ms more than 0
 */
kinf_status kinf_config_set_connect_timeout(const kinf_config *config,
                                            uint64_t timeout_ms,
                                            kinf_error **error);

/**
 * How long a call may take that is neither a list nor a watch: writes, reads of one object, discovery.
 * Otherwise 60 seconds.
 *
 * @param timeout_ms more than 0
 */
kinf_status kinf_config_set_request_timeout(const kinf_config *config,
                                            uint64_t timeout_ms,
                                            kinf_error **error);

/**
 * The URL of the server.
 *
 * @param url set to a text that is to be freed with kinf_text_free()
 */
kinf_status kinf_config_server(const kinf_config *config, kinf_text **url, kinf_error **error);

/**
 * A resource that is known without asking the server.
 *
 * @param group the API group, as "apps"; empty for the core group
 * @param version as "v1"
 * @param kind as "Deployment"
 * @param plural as "deployments"
 * @param namespaced whether its objects live in namespaces
 */
kinf_status kinf_resource_new(const char *group,
                              size_t group_length,
                              const char *version,
                              size_t version_length,
                              const char *kind,
                              size_t kind_length,
                              const char *plural,
                              size_t plural_length,
                              bool namespaced,
                              kinf_resource **resource,
                              kinf_error **error);

/**
 * Part of the objects of a resource that is read and written on its own: "status", "scale", "eviction" and
 * whatever else the server has.
 *
 * kinf_client_get(), _create(), _replace(), _patch() and _apply() with it are about that part of the
 * object of that name, which for _create() is the one in the metadata of what is made. It cannot be listed or
 * watched.
 *
 * @param resource whose
 * @param name as "status"
 * @param subresource set to a handle that is to be freed with kinf_resource_free()
 */
kinf_status kinf_resource_subresource(const kinf_resource *resource,
                                      const char *name,
                                      size_t name_length,
                                      kinf_resource **subresource,
                                      kinf_error **error);

/**
 * Frees a resource; NULL is fine.
 */
void kinf_resource_free(kinf_resource *resource);

/**
 * The API group, as "apps"; empty for the core group. Valid until the resource is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_resource_group(const kinf_resource *resource, size_t *length);

/**
 * The version, as "v1". Valid until the resource is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_resource_version(const kinf_resource *resource, size_t *length);

/**
 * The kind, as "Deployment". Valid until the resource is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_resource_kind(const kinf_resource *resource, size_t *length);

/**
 * The plural, as "deployments". Valid until the resource is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_resource_plural(const kinf_resource *resource, size_t *length);

/**
 * Whether the objects live in namespaces; false for NULL.
 */
bool kinf_resource_is_namespaced(const kinf_resource *resource);

/**
 * A selection of everything.
 */
kinf_status kinf_selection_new(kinf_selection **selection, kinf_error **error);

/**
 * Frees a selection; NULL is fine.
 */
void kinf_selection_free(kinf_selection *selection);

/**
 * Only objects of this namespace; empty for all.
 */
kinf_status kinf_selection_set_namespace(const kinf_selection *selection,
                                         const char *name,
                                         size_t name_length,
                                         kinf_error **error);

/**
 * Only objects whose labels match, as "app in (web, api), !canary"; empty for all.
 */
kinf_status kinf_selection_set_labels(const kinf_selection *selection,
                                      const char *labels,
                                      size_t labels_length,
                                      kinf_error **error);

/**
 * Only objects whose fields match, as "spec.nodeName=n1"; empty for all. The server knows few fields of
 * each kind.
 */
kinf_status kinf_selection_set_fields(const kinf_selection *selection,
                                      const char *fields,
                                      size_t fields_length,
                                      kinf_error **error);

/**
 * A client for the server that a configuration describes. Nothing is sent yet.
 */
kinf_status kinf_client_new(const kinf_config *config, kinf_client **client, kinf_error **error);

/**
 * Another handle on the same connections, to be freed on its own. Stopping one does not stop the other.
 */
kinf_status kinf_client_clone(const kinf_client *client, kinf_client **clone, kinf_error **error);

/**
 * The same for a dry run: what this handle writes, the server checks, completes and answers, and does not keep.
 */
kinf_status kinf_client_dry_run(const kinf_client *client,
                                kinf_client **clone,
                                kinf_error **error);

/**
 * Interrupts every call on this handle, now and from now on: they return KINF_STOPPED. Informers are not
 * affected. Does nothing for NULL.
 */
void kinf_client_stop(const kinf_client *client);

/**
 * Frees a client; NULL is fine. Factories that were made with it keep what they need.
 */
void kinf_client_free(kinf_client *client);

/**
 * Reads one object.
 *
 * @param resource what it is
 * @param ns where it is; empty for an object of the whole cluster
 * @param name what it is called
 * @param object set to a handle that is to be freed with kinf_object_free()
 */
kinf_status kinf_client_get(const kinf_client *client,
                            const kinf_resource *resource,
                            const char *ns,
                            size_t ns_length,
                            const char *name,
                            size_t name_length,
                            kinf_object **object,
                            kinf_error **error);

/**
 * Lists objects, page by page, into one list.
 *
 * @param resource what they are
 * @param selection which of them; NULL for all
 * @param list set to a handle that is to be freed with kinf_list_free()
 */
kinf_status kinf_client_list(const kinf_client *client,
                             const kinf_resource *resource,
                             const kinf_selection *selection,
                             kinf_list **list,
                             kinf_error **error);

/**
 * Reads any path of the server, as "/readyz" or "/metrics".
 *
 * @param text set to the answer, which is to be freed with kinf_text_free()
 */
kinf_status kinf_client_get_raw(const kinf_client *client,
                                const char *path,
                                size_t path_length,
                                kinf_text **text,
                                kinf_error **error);

/**
 * The version of the server, as "v1.36.3".
 *
 * @param version set to a text that is to be freed with kinf_text_free()
 */
kinf_status kinf_client_server_version(const kinf_client *client, kinf_text **version, kinf_error **error);

/**
 * The warnings that the server has sent, each once, oldest first.
 *
 * @param warnings set to texts that are to be freed with kinf_strings_free()
 */
kinf_status kinf_client_warnings(const kinf_client *client, kinf_strings **warnings, kinf_error **error);

/**
 * Finds a resource of the server by plural, singular or short name, as "deployments", "deploy",
 * "deployments.apps" or "apps/v1/deployments".
 *
 * The server's catalogue is read at the first call, and again if it lacks the name.
 *
 * @param resource set to a handle that is to be freed with kinf_resource_free()
 */
kinf_status kinf_client_find(const kinf_client *client,
                             const char *name,
                             size_t name_length,
                             kinf_resource **resource,
                             kinf_error **error);

/**
 * Finds the resource of a kind, as "Deployment", "Deployment.apps" or "apps/v1/Deployment".
 *
 * @param resource set to a handle that is to be freed with kinf_resource_free()
 */
kinf_status kinf_client_find_kind(const kinf_client *client,
                                  const char *kind,
                                  size_t kind_length,
                                  kinf_resource **resource,
                                  kinf_error **error);

/**
 * Everything that the server serves, as a JSON array of objects with the members group, version, kind,
 * plural, singular, shortNames, categories, namespaced, verbs and subresources.
 *
 * @param preferred_only each resource only in the version that the server prefers
 * @param text set to a text that is to be freed with kinf_text_free()
 */
kinf_status kinf_client_resources_json(const kinf_client *client,
                                       bool preferred_only,
                                       kinf_text **text,
                                       kinf_error **error);

/**
 * Reads the server's catalogue again.
 */
kinf_status kinf_client_refresh(const kinf_client *client, kinf_error **error);

/**
 * Makes an object.
 *
 * @param ns where to make it; empty for an object of the whole cluster
 * @param json the object; apiVersion and kind are added where it has none
 * @param object set to what the server made of it, to be freed with kinf_object_free(); may be NULL
 */
kinf_status kinf_client_create(const kinf_client *client,
                               const kinf_resource *resource,
                               const char *ns,
                               size_t ns_length,
                               const char *json,
                               size_t json_length,
                               kinf_object **object,
                               kinf_error **error);

/**
 * Replaces an object by another. With a resource version in its metadata it only replaces that very
 * state; otherwise KINF_CONFLICT.
 *
 * @param ns where it is; empty for an object of the whole cluster
 * @param name what it is called
 * @param json the new object
 * @param object set to what the server made of it, to be freed with kinf_object_free(); may be NULL
 */
kinf_status kinf_client_replace(const kinf_client *client,
                                const kinf_resource *resource,
                                const char *ns,
                                size_t ns_length,
                                const char *name,
                                size_t name_length,
                                const char *json,
                                size_t json_length,
                                kinf_object **object,
                                kinf_error **error);

/**
 * Changes an object in part.
 *
 * @param ns where it is; empty for an object of the whole cluster
 * @param name what it is called
 * @param type one of kinf_patch_type
 * @param json the patch
 * @param object set to the changed object, to be freed with kinf_object_free(); may be NULL
 */
kinf_status kinf_client_patch(const kinf_client *client,
                              const kinf_resource *resource,
                              const char *ns,
                              size_t ns_length,
                              const char *name,
                              size_t name_length,
                              int32_t type,
                              const char *json,
                              size_t json_length,
                              kinf_object **object,
                              kinf_error **error);

/**
 * Makes an object have these fields, creating it if there is none: server-side apply.
 *
 * @param ns where it is; empty for an object of the whole cluster
 * @param name what it is called
 * @param field_manager who owns the fields from then on
 * @param force whether to take fields that somebody else owns; otherwise KINF_CONFLICT
 * @param json the fields
 * @param object set to the object, to be freed with kinf_object_free(); may be NULL
 */
kinf_status kinf_client_apply(const kinf_client *client,
                              const kinf_resource *resource,
                              const char *ns,
                              size_t ns_length,
                              const char *name,
                              size_t name_length,
                              const char *field_manager,
                              size_t field_manager_length,
                              bool force,
                              const char *json,
                              size_t json_length,
                              kinf_object **object,
                              kinf_error **error);

/**
 * Deletes an object.
 *
 * @param ns where it is; empty for an object of the whole cluster
 * @param name what it is called
 * @param object set to the object if it is still there, waiting for its finalizers or its grace period,
 * to be freed with kinf_object_free(), and to NULL if it is gone; may be NULL
 */
kinf_status kinf_client_delete(const kinf_client *client,
                               const kinf_resource *resource,
                               const char *ns,
                               size_t ns_length,
                               const char *name,
                               size_t name_length,
                               kinf_object **object,
                               kinf_error **error);

/**
 * The same, with a say in how.
 *
 * @param ns where it is; empty for an object of the whole cluster
 * @param name what it is called
 * @param json Kubernetes' DeleteOptions, as {"propagationPolicy":"Foreground","gracePeriodSeconds":0,
 * "preconditions":{"uid":"...","resourceVersion":"..."}}, or some of them; KINF_CONFLICT if a precondition
 * does not hold
 * @param object set to the object if it is still there, waiting for its finalizers or its grace period,
 * to be freed with kinf_object_free(), and to NULL if it is gone; may be NULL
 */
kinf_status kinf_client_delete_with(const kinf_client *client,
                                    const kinf_resource *resource,
                                    const char *ns,
                                    size_t ns_length,
                                    const char *name,
                                    size_t name_length,
                                    const char *json,
                                    size_t json_length,
                                    kinf_object **object,
                                    kinf_error **error);

/**
 * Makes an object from its JSON.
 *
 * @param resource what it is
 * @param json an object with metadata that has a name
 * @param object set to a handle that is to be freed with kinf_object_free()
 */
kinf_status kinf_object_new(const kinf_resource *resource,
                            const char *json,
                            size_t json_length,
                            kinf_object **object,
                            kinf_error **error);

/**
 * Another handle on the same object, to be freed on its own with kinf_object_free(). Costs one reference
 * count and an allocation of one pointer. NULL for NULL.
 */
kinf_object *kinf_object_clone(const kinf_object *object);

/**
 * Frees a handle; NULL is fine.
 */
void kinf_object_free(kinf_object *object);

/**
 * "namespace/name", or "name" for an object of the whole cluster. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_key(const kinf_object *object, size_t *length);

/**
 * The namespace; empty for an object of the whole cluster. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_namespace(const kinf_object *object, size_t *length);

/**
 * The name. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_name(const kinf_object *object, size_t *length);

/**
 * The UID; empty if the object was never stored. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_uid(const kinf_object *object, size_t *length);

/**
 * The resource version; empty if the object was never stored. Compare for equality only. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_resource_version(const kinf_object *object,
                                         size_t *length);

/**
 * When the object was made, in RFC 3339; empty if it was not. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_creation_timestamp(const kinf_object *object, size_t *length);

/**
 * When the object was asked to go, in RFC 3339; empty if it was not. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_deletion_timestamp(const kinf_object *object, size_t *length);

/**
 * "v1" or "group/version": always right, also where lists leave it out. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_api_version(const kinf_object *object,
                                    size_t *length);

/**
 * The kind, as "Pod": always right, also where lists leave it out. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_kind(const kinf_object *object, size_t *length);

/**
 * The name of the cluster that it came from; empty if it did not come from a client. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_cluster(const kinf_object *object,
                                size_t *length);

/**
 * The JSON of the object, with a NUL after it. Objects like others are kept as what they differ in: theirs is put together
 * when first asked for, and kept with the object. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_json(const kinf_object *object,
                             size_t *length);

/**
 * Whether two handles are of one and the same object, in the same state.
 */
bool kinf_object_is_same(const kinf_object *object, const kinf_object *other);

/**
 * The value of a label; KINF_NOT_FOUND if there is none of that key. Valid for as long as the object is held.
 *
 * @param value set to the value, with a NUL after it
 * @param value_length set to the number of bytes, without the NUL; may be NULL
 */
kinf_status kinf_object_label(const kinf_object *object,
                              const char *key,
                              size_t key_length,
                              const char **value,
                              size_t *value_length,
                              kinf_error **error);

/**
 * How many labels there are; 0 for NULL.
 */
size_t kinf_object_label_count(const kinf_object *object);

/**
 * The key of the label at a place, in the order of the JSON; empty if there is none. Valid for as long as
 * the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_label_key_at(const kinf_object *object, size_t at, size_t *length);

/**
 * The value of the label at a place; empty if there is none. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_label_value_at(const kinf_object *object, size_t at, size_t *length);

/**
 * The value of an annotation; KINF_NOT_FOUND if there is none of that key. Valid for as long as the object is held.
 *
 * @param value set to the value, with a NUL after it
 * @param value_length set to the number of bytes, without the NUL; may be NULL
 */
kinf_status kinf_object_annotation(const kinf_object *object,
                                   const char *key,
                                   size_t key_length,
                                   const char **value,
                                   size_t *value_length,
                                   kinf_error **error);

/**
 * How many annotations there are; 0 for NULL.
 */
size_t kinf_object_annotation_count(const kinf_object *object);

/**
 * The key of the annotation at a place, in the order of the JSON; empty if there is none. Valid for as long as
 * the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_annotation_key_at(const kinf_object *object,
                                          size_t at,
                                          size_t *length);

/**
 * The value of the annotation at a place; empty if there is none. Valid for as long as the object is held.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_object_annotation_value_at(const kinf_object *object, size_t at, size_t *length);

/**
 * One value of the JSON, by its JSON pointer (RFC 6901), as "/spec/nodeName" or "/spec/containers/0/image".
 * Found by scanning, without decoding the rest; KINF_NOT_FOUND if it is not there.
 *
 * @param pointer where to look; empty for the whole object; "~1" is a slash and "~0" a tilde in a name
 * @param value set to where it is
 */
kinf_status kinf_object_get(const kinf_object *object,
                            const char *pointer,
                            size_t pointer_length,
                            kinf_value *value,
                            kinf_error **error);

/**
 * The same for a string, without quotes and escapes; KINF_DECODE if it is something else.
 *
 * @param value set to a text that is to be freed with kinf_text_free()
 */
kinf_status kinf_object_get_string(const kinf_object *object,
                                   const char *pointer,
                                   size_t pointer_length,
                                   kinf_text **value,
                                   kinf_error **error);

/**
 * The same for a whole number; KINF_DECODE if it is something else.
 */
kinf_status kinf_object_get_int64(const kinf_object *object,
                                  const char *pointer,
                                  size_t pointer_length,
                                  int64_t *value,
                                  kinf_error **error);

/**
 * The same for a number; KINF_DECODE if it is something else.
 */
kinf_status kinf_object_get_double(const kinf_object *object,
                                   const char *pointer,
                                   size_t pointer_length,
                                   double *value,
                                   kinf_error **error);

/**
 * The same for true or false; KINF_DECODE if it is something else.
 */
kinf_status kinf_object_get_bool(const kinf_object *object,
                                 const char *pointer,
                                 size_t pointer_length,
                                 bool *value,
                                 kinf_error **error);

/**
 * How many elements an array has, or members an object; KINF_DECODE if it is something else.
 */
kinf_status kinf_object_get_count(const kinf_object *object,
                                  const char *pointer,
                                  size_t pointer_length,
                                  size_t *count,
                                  kinf_error **error);

/**
 * How many objects there are; 0 for NULL.
 */
size_t kinf_list_count(const kinf_list *list);

/**
 * One of the objects; NULL if there is none at this place. Borrowed: valid until the list is freed, and
 * not to be freed. kinf_object_clone() gives a handle that stays.
 */
const kinf_object *kinf_list_at(const kinf_list *list, size_t at);

/**
 * Frees a list; NULL is fine. Objects that were cloned stay.
 */
void kinf_list_free(kinf_list *list);

/**
 * What happened. An event that is NULL is a deletion of nothing.
 */
kinf_event_type kinf_event_get_type(const kinf_event *event);

/**
 * The object in its newest state; of a deletion, in the last that is known, or NULL if none is; NULL of KINF_SYNCED.
 * Borrowed: valid for as long as the event. kinf_object_clone() gives a handle that stays.
 */
const kinf_object *kinf_event_object(const kinf_event *event);

/**
 * The object as it was before an update; NULL for other events. Borrowed as by kinf_event_object().
 */
const kinf_object *kinf_event_old(const kinf_event *event);

/**
 * The key of the object, whether its last state is known or not; empty of KINF_SYNCED. Valid for as long as the event.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_event_key(const kinf_event *event,
                           size_t *length);

/**
 * Whether the object was there before the handler began to listen.
 */
bool kinf_event_is_initial(const kinf_event *event);

/**
 * Whether the object vanished while nobody was looking, so that its last state may not have been its last.
 */
bool kinf_event_is_final_state_unknown(const kinf_event *event);

/**
 * What kinf_events_add() was given for the informer that the event is from; in a callback, its user pointer.
 * NULL for NULL.
 */
void *kinf_event_tag(const kinf_event *event);

/**
 * Frees an event that kinf_events_next() gave; NULL is fine. Never one that a callback was given.
 */
void kinf_event_free(kinf_event *event);

/**
 * The usual: all namespaces, no resync, no managed fields.
 */
kinf_status kinf_factory_options_new(kinf_factory_options **options, kinf_error **error);

/**
 * Frees options; NULL is fine.
 */
void kinf_factory_options_free(kinf_factory_options *options);

/**
 * What the factory is called in the names of its informers; empty for nothing.
 */
kinf_status kinf_factory_options_set_name(const kinf_factory_options *options,
                                          const char *name,
                                          size_t name_length,
                                          kinf_error **error);

/**
 * Only objects of this namespace; empty for all. Resources that do not live in namespaces are not affected.
 */
kinf_status kinf_factory_options_set_namespace(const kinf_factory_options *options,
                                               const char *name,
                                               size_t name_length,
                                               kinf_error **error);

/**
 * How often handlers are told of every object again, from the cache, unless they ask for something else.
 * 0 is never; less than a second counts as a second.
 */
kinf_status kinf_factory_options_set_resync(const kinf_factory_options *options,
                                            uint64_t period_ms,
                                            kinf_error **error);

/**
 * Whether to keep metadata.managedFields, which is half of a typical object.
 */
kinf_status kinf_factory_options_set_keep_managed_fields(const kinf_factory_options *options,
                                                         bool keep,
                                                         kinf_error **error);

/**
 * Whether to ask the server for the metadata of objects alone.
 */
kinf_status kinf_factory_options_set_metadata_only(const kinf_factory_options *options,
                                                   bool metadata_only,
                                                   kinf_error **error);

/**
 * How pauses between failed attempts grow: each is about twice as long as the one before.
 *
 * @param first_ms the first pause
 * @param longest_ms the longest
 */
kinf_status kinf_factory_options_set_backoff(const kinf_factory_options *options,
                                             uint64_t first_ms,
                                             uint64_t longest_ms,
                                             kinf_error **error);

/**
 * A factory of informers of one cluster. Nothing is sent yet.
 *
 * @param options NULL for the usual
 */
kinf_status kinf_factory_new(const kinf_client *client,
                             const kinf_factory_options *options,
                             kinf_factory **factory,
                             kinf_error **error);

/**
 * Another handle on the same factory, to be freed on its own.
 */
kinf_status kinf_factory_clone(const kinf_factory *factory, kinf_factory **clone, kinf_error **error);

/**
 * Frees a handle; NULL is fine. With the last one everything is stopped, as by kinf_factory_shutdown(),
 * which waits for callbacks; those may use the handle until then.
 */
void kinf_factory_free(kinf_factory *factory);

/**
 * The informer of a resource, or of some of its objects; the same one for the same resource and selection.
 * It does nothing until kinf_factory_start().
 *
 * @param selection which objects; NULL for all
 * @param informer set to a handle that is to be freed with kinf_informer_free()
 */
kinf_status kinf_factory_informer(const kinf_factory *factory,
                                  const kinf_resource *resource,
                                  const kinf_selection *selection,
                                  kinf_informer **informer,
                                  kinf_error **error);

/**
 * The same for a resource by group, version and plural. Built-in kinds are known; for others the server is
 * asked, until kinf_factory_shutdown().
 *
 * @param group the API group, as "apps"; empty for the core group
 * @param version as "v1"
 * @param plural as "deployments"
 * @param selection which objects; NULL for all
 * @param informer set to a handle that is to be freed with kinf_informer_free()
 */
kinf_status kinf_factory_informer_for(const kinf_factory *factory,
                                      const char *group,
                                      size_t group_length,
                                      const char *version,
                                      size_t version_length,
                                      const char *plural,
                                      size_t plural_length,
                                      const kinf_selection *selection,
                                      kinf_informer **informer,
                                      kinf_error **error);

/**
 * The same for a kind, as "Pod", "Deployment.apps" or "apps/v1/Deployment": the server is asked what it is, until
 * kinf_factory_shutdown().
 *
 * @param selection which objects; NULL for all
 * @param informer set to a handle that is to be freed with kinf_informer_free()
 */
kinf_status kinf_factory_informer_for_kind(const kinf_factory *factory,
                                           const char *kind,
                                           size_t kind_length,
                                           const kinf_selection *selection,
                                           kinf_informer **informer,
                                           kinf_error **error);

/**
 * Starts every informer that has not been started. Call it again after asking for more. If one cannot be
 * started, the others are all the same.
 */
kinf_status kinf_factory_start(const kinf_factory *factory, kinf_error **error);

/**
 * Blocks until every informer and every handler has all objects from the start; KINF_NOT_SYNCED if that
 * does not happen in time or cannot happen: the message names each that is not ready, and the reason.
 *
 * Not to be called from a callback, which would wait for itself.
 *
 * @param timeout_ms how long to wait; less than 0 is for as long as it takes
 */
kinf_status kinf_factory_wait_for_sync(const kinf_factory *factory, int64_t timeout_ms, kinf_error **error);

/**
 * Stops one informer for everybody and frees what it knew; KINF_NOT_FOUND if it is not one of this factory,
 * or was stopped so before. Asking for the resource again makes a new one.
 *
 * Waits as kinf_informer_stop() does.
 */
kinf_status kinf_factory_stop_informer(const kinf_factory *factory,
                                       const kinf_informer *informer,
                                       kinf_error **error);

/**
 * Stops every informer, for good. What they last knew can still be read. May be called more than once.
 *
 * Waits until the callbacks that are under way have returned; called from a callback, it does not wait
 * for callbacks.
 *
 * @param timeout_ms how long to wait for callbacks, less than 0 is for as long as it takes; KINF_TIMEOUT
 * names those that have not returned. They are not called again
 */
kinf_status kinf_factory_shutdown(const kinf_factory *factory, int64_t timeout_ms, kinf_error **error);

/**
 * How the informers are doing, as a JSON array of what kinf_informer_status_json() says of each.
 *
 * @param text set to a text that is to be freed with kinf_text_free()
 */
kinf_status kinf_factory_status_json(const kinf_factory *factory, kinf_text **text, kinf_error **error);

/**
 * Counters and gauges of the informers, in the text format that Prometheus reads.
 *
 * @param text set to a text that is to be freed with kinf_text_free()
 */
kinf_status kinf_factory_metrics(const kinf_factory *factory, kinf_text **text, kinf_error **error);

/**
 * Another handle on the same informer, to be freed on its own.
 */
kinf_status kinf_informer_clone(const kinf_informer *informer, kinf_informer **clone, kinf_error **error);

/**
 * Frees a handle; NULL is fine. The informer goes on: see kinf_factory_stop_informer() and kinf_informer_stop().
 */
void kinf_informer_free(kinf_informer *informer);

/**
 * What the informer is called, as "pods". Valid until the handle is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_informer_name(const kinf_informer *informer, size_t *length);

/**
 * The resource of its objects.
 *
 * @param resource set to a handle that is to be freed with kinf_resource_free()
 */
kinf_status kinf_informer_resource(const kinf_informer *informer,
                                   kinf_resource **resource,
                                   kinf_error **error);

/**
 * Whether all objects from the start are in the cache. Says nothing about handlers. False for NULL.
 */
bool kinf_informer_has_synced(const kinf_informer *informer);

/**
 * Whether the informer has stopped. False for NULL.
 */
bool kinf_informer_is_stopped(const kinf_informer *informer);

/**
 * Blocks until the cache and every handler have all objects from the start; KINF_NOT_SYNCED, with the
 * reason, if that does not happen in time or cannot happen. One that has not been started may yet be, so it is
 * waited for.
 *
 * Not to be called from a callback of the same informer, which would wait for itself.
 *
 * @param timeout_ms how long to wait; less than 0 is for as long as it takes
 */
kinf_status kinf_informer_wait_for_sync(const kinf_informer *informer,
                                        int64_t timeout_ms,
                                        kinf_error **error);

/**
 * Blocks until the cache has come to a resource version: that of an object that was just written, for
 * example. KINF_TIMEOUT if that does not happen in time, KINF_STOPPED if the informer has stopped.
 *
 * An informer with a selection is not told of what it leaves out, so it comes to a version of that only with the
 * next bookmark of the server, about once a minute.
 *
 * @param version as of kinf_object_resource_version()
 * @param timeout_ms how long to wait; less than 0 is for as long as it takes
 */
kinf_status kinf_informer_wait_for_resource_version(const kinf_informer *informer,
                                                    const char *version,
                                                    size_t version_length,
                                                    int64_t timeout_ms,
                                                    kinf_error **error);

/**
 * Stops the informer, for everybody and for good. What it last knew can still be read. Does nothing if it
 * has stopped, or for NULL.
 *
 * Waits until the callbacks that are under way have returned; called from a callback, it does not wait
 * for callbacks.
 */
void kinf_informer_stop(const kinf_informer *informer);

/**
 * Reads one object from the cache, without asking the server; KINF_NOT_FOUND if there is none, with code and
 * reason as from a server. A cache that has not synced has few.
 *
 * @param key "namespace/name", or "name" for an object of the whole cluster
 * @param object set to a handle that is to be freed with kinf_object_free()
 */
kinf_status kinf_informer_get(const kinf_informer *informer,
                              const char *key,
                              size_t key_length,
                              kinf_object **object,
                              kinf_error **error);

/**
 * Lists objects of the cache, without asking the server, in no order.
 *
 * @param ns only those of this namespace; empty for all
 * @param labels only those whose labels match, as "app=web,tier!=test"; empty for all
 * @param list set to a handle that is to be freed with kinf_list_free()
 */
kinf_status kinf_informer_list(const kinf_informer *informer,
                               const char *ns,
                               size_t ns_length,
                               const char *labels,
                               size_t labels_length,
                               kinf_list **list,
                               kinf_error **error);

/**
 * The keys of all objects in the cache, in no order.
 *
 * @param keys set to texts that are to be freed with kinf_strings_free()
 */
kinf_status kinf_informer_keys(const kinf_informer *informer, kinf_strings **keys, kinf_error **error);

/**
 * How many objects the cache has; 0 for NULL.
 */
size_t kinf_informer_count(const kinf_informer *informer);

/**
 * The object that the callback is about is to be found under this value.
 */
kinf_status kinf_index_values_add(kinf_index_values *values,
                                  const char *value,
                                  size_t value_length,
                                  kinf_error **error);

/**
 * Adds an index by the string, number or boolean at a JSON pointer; objects without one are in it under
 * no value. May be done before the start or after it.
 *
 * @param name what the index is called
 * @param pointer where the value is, as "/spec/nodeName"
 */
kinf_status kinf_informer_add_index(const kinf_informer *informer,
                                    const char *name,
                                    size_t name_length,
                                    const char *pointer,
                                    size_t pointer_length,
                                    kinf_error **error);

/**
 * Adds an index by a callback. May be done before the start or after it.
 *
 * @param name what the index is called
 * @param callback what says under which values an object is to be found
 * @param user what to call it with
 * @param free_user called once with user when the index is gone, also if this call fails; may be NULL
 */
kinf_status kinf_informer_add_index_callback(const kinf_informer *informer,
                                             const char *name,
                                             size_t name_length,
                                             kinf_index_callback callback,
                                             void *user,
                                             kinf_free_callback free_user,
                                             kinf_error **error);

/**
 * The objects under a value of an index, in no order; KINF_NOT_FOUND if there is no such index.
 *
 * @param index as given to kinf_informer_add_index(), or "namespace", which every informer has
 * @param list set to a handle that is to be freed with kinf_list_free()
 */
kinf_status kinf_informer_by_index(const kinf_informer *informer,
                                   const char *index,
                                   size_t index_length,
                                   const char *value,
                                   size_t value_length,
                                   kinf_list **list,
                                   kinf_error **error);

/**
 * The keys of the objects under a value of an index, sorted; KINF_NOT_FOUND if there is no such index.
 *
 * @param keys set to texts that are to be freed with kinf_strings_free()
 */
kinf_status kinf_informer_index_keys(const kinf_informer *informer,
                                     const char *index,
                                     size_t index_length,
                                     const char *value,
                                     size_t value_length,
                                     kinf_strings **keys,
                                     kinf_error **error);

/**
 * The values of an index that some object has, in no order; none if there is no such index.
 *
 * @param values set to texts that are to be freed with kinf_strings_free()
 */
kinf_status kinf_informer_index_values(const kinf_informer *informer,
                                       const char *index,
                                       size_t index_length,
                                       kinf_strings **values,
                                       kinf_error **error);

/**
 * How the informer is doing.
 *
 * @param status where to write it
 * @param status_size sizeof(kinf_informer_status), so that later libraries can have more to say
 */
kinf_status kinf_informer_read_status(const kinf_informer *informer,
                                      kinf_informer_status *status,
                                      size_t status_size,
                                      kinf_error **error);

/**
 * How the informer is doing, as JSON: what is in kinf_informer_status and more, with texts; the member
 * whyUnsynced is null once it has synced.
 *
 * @param text set to a text that is to be freed with kinf_text_free()
 */
kinf_status kinf_informer_status_json(const kinf_informer *informer, kinf_text **text, kinf_error **error);

/**
 * Calls back for every change, from all objects that are there on; with KINF_SYNCED after those.
 *
 * @param callback what to call
 * @param user what to call it with
 * @param free_user called once with user when the handler is gone, also if this call fails; may be NULL
 * @param resync_ms how often to be told of every object again: 0 is never, less than 0 is what the
 * factory says
 * @param registration set to a handle that is to be freed with kinf_registration_free(); may be NULL
 */
kinf_status kinf_informer_on_event(const kinf_informer *informer,
                                   kinf_event_callback callback,
                                   void *user,
                                   kinf_free_callback free_user,
                                   int64_t resync_ms,
                                   kinf_registration **registration,
                                   kinf_error **error);

/**
 * The same with a name, by which status, logs, and a shutdown or a wait that takes too long call the handler.
 *
 * @param name as "endpoints"
 * @param callback what to call
 * @param user what to call it with
 * @param free_user called once with user when the handler is gone, also if this call fails; may be NULL
 * @param resync_ms how often to be told of every object again: 0 is never, less than 0 is what the
 * factory says
 * @param registration set to a handle that is to be freed with kinf_registration_free(); may be NULL
 */
kinf_status kinf_informer_on_event_named(const kinf_informer *informer,
                                         const char *name,
                                         size_t name_length,
                                         kinf_event_callback callback,
                                         void *user,
                                         kinf_free_callback free_user,
                                         int64_t resync_ms,
                                         kinf_registration **registration,
                                         kinf_error **error);

/**
 * Removes the handler. Does nothing for NULL.
 *
 * When it returns, the callback is not called any more and its user pointer has been freed, also if
 * somebody else has removed it, or its own callback: call it before freeing what a callback uses. Called from
 * a callback, its own or another one, it does not wait, and that holds when the callback that is under
 * way has returned. Events that wait are dropped.
 */
void kinf_registration_remove(const kinf_registration *registration);

/**
 * Whether the handler has been told of every object from the start. False if it was removed.
 */
bool kinf_registration_has_synced(const kinf_registration *registration);

/**
 * How many events wait for the handler. 0 if it was removed.
 */
size_t kinf_registration_pending(const kinf_registration *registration);

/**
 * Frees a registration; NULL is fine. The handler stays.
 */
void kinf_registration_free(kinf_registration *registration);

/**
 * An empty queue. Takes two file descriptors.
 */
kinf_status kinf_events_new(kinf_events **events, kinf_error **error);

/**
 * Frees a queue and what is in it; NULL is fine. Informers that feed it go on without it. Threads that wait in
 * kinf_events_next() get KINF_STOPPED; there must be no later call.
 *
 * Waits as kinf_registration_remove() does.
 */
void kinf_events_free(kinf_events *events);

/**
 * Feeds the queue with every change of an informer, from all objects that are there on; KINF_SYNCED comes after those.
 *
 * KINF_STOPPED if the queue was closed. One whose informers have all stopped goes on with this one. An
 * informer that is added twice feeds it twice.
 *
 * @param tag what kinf_event_tag() says of its events, to tell informers apart; may be NULL
 * @param registration set to a handle that is to be freed with kinf_registration_free(); may be NULL
 */
kinf_status kinf_events_add(const kinf_events *events,
                            const kinf_informer *informer,
                            void *tag,
                            kinf_registration **registration,
                            kinf_error **error);

/**
 * A file descriptor that is readable while there is something to take: for poll(), epoll, kqueue, libuv.
 *
 * Wait for it to be readable, then call kinf_events_next() with a timeout of 0 until it says KINF_EMPTY.
 * Belongs to the queue: do not read from it and do not close it. -1 for NULL.
 */
int kinf_events_fd(const kinf_events *events);

/**
 * Takes the first event in line.
 *
 * KINF_EMPTY if there is none in time. KINF_STOPPED if there is none and there will be none, because all
 * informers that feed the queue have stopped, or it was closed; the descriptor is readable then, too.
 *
 * @param timeout_ms how long to wait for one: 0 is not at all, less than 0 is for as long as it takes
 * @param event set to an event that is to be freed with kinf_event_free()
 */
kinf_status kinf_events_next(const kinf_events *events,
                             int64_t timeout_ms,
                             kinf_event **event,
                             kinf_error **error);

/**
 * How many events are in the queue; 0 for NULL.
 */
size_t kinf_events_count(const kinf_events *events);

/**
 * Drops what is in the queue and whatever comes; everybody who waits gets KINF_STOPPED. Does nothing for
 * NULL.
 */
void kinf_events_close(const kinf_events *events);

/**
 * How many items there are; 0 for NULL.
 */
size_t kinf_items_count(const kinf_items *items);

/**
 * One of the items; NULL if there is none at this place. Valid until the items are freed.
 */
void *kinf_items_at(const kinf_items *items, size_t at);

/**
 * Frees a list of items; NULL is fine. Items that nobody else holds are freed with it.
 */
void kinf_items_free(kinf_items *items);

/**
 * An empty store.
 *
 * @param key says what an item is known by
 * @param free_item frees an item that nobody holds any more; NULL if items are not the library's to free,
 * and then they must outlive the store
 * @param user what to call both with
 * @param free_user called once with user when it is not needed any more, also if this call fails; may be
 * NULL
 */
kinf_status kinf_indexer_new(kinf_key_callback key,
                             kinf_item_free_callback free_item,
                             void *user,
                             kinf_free_callback free_user,
                             kinf_indexer **indexer,
                             kinf_error **error);

/**
 * Frees a store; NULL is fine. Items that nobody else holds are freed with it.
 */
void kinf_indexer_free(kinf_indexer *indexer);

/**
 * Adds an index, over the items that are there and those to come.
 *
 * @param name what the index is called
 * @param callback says under which values an item is to be found; called on threads that give items
 * @param user what to call it with
 * @param free_user called once with user when the index is gone, also if this call fails; may be NULL
 */
kinf_status kinf_indexer_add_index(const kinf_indexer *indexer,
                                   const char *name,
                                   size_t name_length,
                                   kinf_item_index_callback callback,
                                   void *user,
                                   kinf_free_callback free_user,
                                   kinf_error **error);

/**
 * Stores an item, in place of the one of the same key. On success it belongs to the store: give each
 * pointer once.
 */
kinf_status kinf_indexer_add(const kinf_indexer *indexer, void *item, kinf_error **error);

/**
 * Removes the item of a key; KINF_NOT_FOUND if there is none.
 */
kinf_status kinf_indexer_delete(const kinf_indexer *indexer,
                                const char *key,
                                size_t key_length,
                                kinf_error **error);

/**
 * Replaces everything in one step. On success all of them belong to the store: give each pointer once.
 *
 * @param items an array of so many items; may be NULL if there are none
 */
kinf_status kinf_indexer_replace(const kinf_indexer *indexer,
                                 void *const *items,
                                 size_t items_count,
                                 kinf_error **error);

/**
 * Does to the store what happened to an item of a queue. Store and deltas share the item from then on.
 */
kinf_status kinf_indexer_apply(const kinf_indexer *indexer, const kinf_deltas *deltas, kinf_error **error);

/**
 * The item of a key, as a list of one; KINF_NOT_FOUND if there is none.
 *
 * @param items set to a handle that is to be freed with kinf_items_free()
 */
kinf_status kinf_indexer_get(const kinf_indexer *indexer,
                             const char *key,
                             size_t key_length,
                             kinf_items **items,
                             kinf_error **error);

/**
 * All items, in no order.
 *
 * @param items set to a handle that is to be freed with kinf_items_free()
 */
kinf_status kinf_indexer_list(const kinf_indexer *indexer, kinf_items **items, kinf_error **error);

/**
 * The keys of all items, in no order.
 *
 * @param keys set to texts that are to be freed with kinf_strings_free()
 */
kinf_status kinf_indexer_keys(const kinf_indexer *indexer, kinf_strings **keys, kinf_error **error);

/**
 * The items under a value of an index, in no order; KINF_NOT_FOUND if there is no such index.
 *
 * @param items set to a handle that is to be freed with kinf_items_free()
 */
kinf_status kinf_indexer_by_index(const kinf_indexer *indexer,
                                  const char *index,
                                  size_t index_length,
                                  const char *value,
                                  size_t value_length,
                                  kinf_items **items,
                                  kinf_error **error);

/**
 * The keys of the items under a value of an index, sorted; KINF_NOT_FOUND if there is no such index.
 *
 * @param keys set to texts that are to be freed with kinf_strings_free()
 */
kinf_status kinf_indexer_index_keys(const kinf_indexer *indexer,
                                    const char *index,
                                    size_t index_length,
                                    const char *value,
                                    size_t value_length,
                                    kinf_strings **keys,
                                    kinf_error **error);

/**
 * How many items there are; 0 for NULL.
 */
size_t kinf_indexer_count(const kinf_indexer *indexer);

/**
 * An empty queue.
 *
 * @param key says what an item is known by
 * @param free_item frees an item that nobody holds any more; NULL if items are not the library's to free,
 * and then they must outlive the queue
 * @param user what to call both with
 * @param free_user called once with user when it is not needed any more, also if this call fails; may be
 * NULL
 * @param known the store that whoever takes from the queue keeps up to date, so that the queue can find out
 * what a new list leaves out; it stays the caller's, and may be freed first; NULL if there is none
 */
kinf_status kinf_delta_fifo_new(kinf_key_callback key,
                                kinf_item_free_callback free_item,
                                void *user,
                                kinf_free_callback free_user,
                                const kinf_indexer *known,
                                kinf_delta_fifo **fifo,
                                kinf_error **error);

/**
 * Frees a queue and what is in it; NULL is fine. Nobody may be waiting in kinf_delta_fifo_pop(): close it first.
 */
void kinf_delta_fifo_free(kinf_delta_fifo *fifo);

/**
 * Queues an item that was added. On success it belongs to the queue: give each pointer once.
 */
kinf_status kinf_delta_fifo_add(const kinf_delta_fifo *fifo, void *item, kinf_error **error);

/**
 * Queues an item that was changed. On success it belongs to the queue: give each pointer once.
 */
kinf_status kinf_delta_fifo_update(const kinf_delta_fifo *fifo, void *item, kinf_error **error);

/**
 * Queues the deletion of an item, unless nothing is known of it. On success it belongs to the queue: give each pointer once.
 */
kinf_status kinf_delta_fifo_delete(const kinf_delta_fifo *fifo,
                                   void *item,
                                   kinf_error **error);

/**
 * Queues every item of a list, and the deletion of every other item that is known. On success all of them
 * belong to the queue: give each pointer once.
 *
 * @param items an array of so many items; may be NULL if there are none
 */
kinf_status kinf_delta_fifo_replace(const kinf_delta_fifo *fifo,
                                    void *const *items,
                                    size_t items_count,
                                    kinf_error **error);

/**
 * Queues every known item again that has nothing queued. Does nothing for NULL.
 */
void kinf_delta_fifo_resync(const kinf_delta_fifo *fifo);

/**
 * Takes the first item in line, with everything that happened to it.
 *
 * KINF_EMPTY if there is none in time. KINF_STOPPED if the queue is closed and empty.
 *
 * @param timeout_ms how long to wait for one: 0 is not at all, less than 0 is for as long as it takes
 * @param deltas set to a handle that is to be freed with kinf_deltas_free()
 */
kinf_status kinf_delta_fifo_pop(const kinf_delta_fifo *fifo,
                                int64_t timeout_ms,
                                kinf_deltas **deltas,
                                kinf_error **error);

/**
 * Takes the first item in line and gives it to a callback, on the calling thread. Others can use the queue
 * meanwhile.
 *
 * @param timeout_ms as for kinf_delta_fifo_pop()
 */
kinf_status kinf_delta_fifo_process(const kinf_delta_fifo *fifo,
                                    int64_t timeout_ms,
                                    kinf_process_callback callback,
                                    void *user,
                                    kinf_error **error);

/**
 * The newest state of every queued item, in the order of the queue.
 *
 * @param items set to a handle that is to be freed with kinf_items_free()
 */
kinf_status kinf_delta_fifo_list(const kinf_delta_fifo *fifo, kinf_items **items, kinf_error **error);

/**
 * How many items are queued; 0 for NULL.
 */
size_t kinf_delta_fifo_count(const kinf_delta_fifo *fifo);

/**
 * Whether everything of the first list has been taken. False for NULL.
 */
bool kinf_delta_fifo_has_synced(const kinf_delta_fifo *fifo);

/**
 * Lets those who take come to an end: what is queued can still be taken, then KINF_STOPPED. Does nothing
 * for NULL.
 */
void kinf_delta_fifo_close(const kinf_delta_fifo *fifo);

/**
 * Frees what was taken; NULL is fine. Items that nobody else holds are freed with it.
 */
void kinf_deltas_free(kinf_deltas *deltas);

/**
 * The key of the item. Valid for as long as the deltas.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_deltas_key(const kinf_deltas *deltas, size_t *length);

/**
 * How many things happened to the item; 0 for NULL.
 */
size_t kinf_deltas_count(const kinf_deltas *deltas);

/**
 * Whether the item is part of what there was at the start. False for NULL.
 */
bool kinf_deltas_is_initial(const kinf_deltas *deltas);

/**
 * What happened, oldest first; KINF_DELTA_NONE if there is nothing at this place.
 */
kinf_delta_type kinf_deltas_type_at(const kinf_deltas *deltas, size_t at);

/**
 * The item after it; of a deletion the last state that is known, or NULL if none is. Valid for as long
 * as the deltas.
 */
void *kinf_deltas_item_at(const kinf_deltas *deltas, size_t at);

/**
 * Whether it is a deletion that nobody saw.
 */
bool kinf_deltas_is_final_state_unknown_at(const kinf_deltas *deltas, size_t at);

/**
 * Gives every line of the log to a callback, for the whole process, in place of whatever was set before.
 * Until this is called, nothing is logged.
 *
 * @param callback what to call; NULL for nothing any more
 * @param user what to call it with
 * @param free_user called once with user when the callback is not needed any more, also if this call fails;
 * may be NULL
 * @param level how much: one of kinf_log_level
 */
kinf_status kinf_log_to_callback(kinf_log_callback callback,
                                 void *user,
                                 kinf_free_callback free_user,
                                 int32_t level,
                                 kinf_error **error);

/**
 * Writes the log to standard error, as much as the environment variable KINF_LOG says: off, error, warn,
 * info, debug or trace; warn if it is not set.
 */
kinf_status kinf_log_from_environment(kinf_error **error);

#if defined(KINF_TESTING)
/**
 * Starts a server.
 *
 * @param demo whether it has a small workload that changes by itself
 */
kinf_status kinf_test_server_start(bool demo, kinf_test_server **server, kinf_error **error);
#endif

#if defined(KINF_TESTING)
/**
 * Stops a server and frees it; NULL is fine.
 */
void kinf_test_server_free(kinf_test_server *server);
#endif

#if defined(KINF_TESTING)
/**
 * Where it listens, as "http://127.0.0.1:40123". Valid until the server is freed.
 *
 * @param length set to the number of bytes, without the NUL; may be NULL
 */
const char *kinf_test_server_url(const kinf_test_server *server, size_t *length);
#endif

#if defined(KINF_TESTING)
/**
 * A configuration for the server.
 *
 * @param config set to a handle that is to be freed with kinf_config_free()
 */
kinf_status kinf_test_server_config(const kinf_test_server *server, kinf_config **config, kinf_error **error);
#endif

#if defined(KINF_TESTING)
/**
 * A kubeconfig for the server, in YAML.
 *
 * @param text set to a text that is to be freed with kinf_text_free()
 */
kinf_status kinf_test_server_kubeconfig(const kinf_test_server *server, kinf_text **text, kinf_error **error);
#endif

#if defined(KINF_TESTING)
/**
 * Cuts every connection. Does nothing for NULL.
 */
void kinf_test_server_drop_connections(const kinf_test_server *server);
#endif

#if defined(KINF_TESTING)
/**
 * Forgets the history: watches from before now are told that they are too old, and list again. Does nothing for NULL.
 */
void kinf_test_server_compact(const kinf_test_server *server);
#endif

#if defined(KINF_TESTING)
/**
 * Answers the next so many lists and watches with an HTTP code, as 403 or 500. Does nothing for NULL.
 */
void kinf_test_server_fail(const kinf_test_server *server, uint16_t http_code, uint32_t times);
#endif

#if defined(KINF_TESTING)
/**
 * Panics inside of the library, to show that it is caught: KINF_PANIC.
 */
kinf_status kinf_test_panic(kinf_error **error);
#endif

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KINFORMER_H */

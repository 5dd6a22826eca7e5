/* A server with some ConfigMaps and a client for it. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include "check.h"

struct cluster {
    kinf_test_server *server;
    kinf_config *config;
    kinf_client *client;
    kinf_resource *maps;
};

static inline void make_map(struct cluster *cluster, const char *name)
{
    kinf_error *error = NULL;
    char json[256];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"a\"}},\"data\":{\"k\":\"v\"}}", name);
    MUST(kinf_client_create(cluster->client, cluster->maps, KINF_STR("default"), KINF_STR(json), NULL, &error));
}

static inline void touch_map(struct cluster *cluster, const char *name, unsigned value)
{
    kinf_error *error = NULL;
    char json[64];
    snprintf(json, sizeof json, "{\"data\":{\"k\":\"%u\"}}", value);
    MUST(kinf_client_patch(cluster->client, cluster->maps, KINF_STR("default"), KINF_STR(name), KINF_PATCH_MERGE,
                           KINF_STR(json), NULL, &error));
}

static inline void delete_map(struct cluster *cluster, const char *name)
{
    kinf_error *error = NULL;
    MUST(kinf_client_delete(cluster->client, cluster->maps, KINF_STR("default"), KINF_STR(name), NULL, &error));
}

static inline struct cluster start_cluster(unsigned maps)
{
    struct cluster cluster = {0};
    kinf_error *error = NULL;
    char name[32];
    MUST(kinf_test_server_start(false, &cluster.server, &error));
    MUST(kinf_test_server_config(cluster.server, &cluster.config, &error));
    MUST(kinf_client_new(cluster.config, &cluster.client, &error));
    MUST(kinf_resource_new(KINF_STR(""), KINF_STR("v1"), KINF_STR("ConfigMap"), KINF_STR("configmaps"), true,
                           &cluster.maps, &error));
    for (unsigned at = 0; at < maps; at++) {
        snprintf(name, sizeof name, "map-%u", at);
        make_map(&cluster, name);
    }
    return cluster;
}

static inline void end_cluster(struct cluster *cluster)
{
    kinf_resource_free(cluster->maps);
    kinf_client_free(cluster->client);
    kinf_config_free(cluster->config);
    kinf_test_server_free(cluster->server);
}

/* A factory whose pauses are short, and its informer of ConfigMaps. */
static inline kinf_factory *start_factory(struct cluster *cluster, kinf_informer **informer)
{
    kinf_error *error = NULL;
    kinf_factory_options *options = NULL;
    kinf_factory *factory = NULL;
    MUST(kinf_factory_options_new(&options, &error));
    MUST(kinf_factory_options_set_backoff(options, 10, 100, &error));
    MUST(kinf_factory_new(cluster->client, options, &factory, &error));
    MUST(kinf_factory_informer(factory, cluster->maps, NULL, informer, &error));
    kinf_factory_options_free(options);
    return factory;
}

/* Waits until a count has come so far; a minute is a failure. */
struct count {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned value;
};

#define NO_COUNT {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}

static inline void add(struct count *count)
{
    pthread_mutex_lock(&count->lock);
    count->value++;
    pthread_cond_broadcast(&count->changed);
    pthread_mutex_unlock(&count->lock);
}

static inline unsigned value_of(struct count *count)
{
    pthread_mutex_lock(&count->lock);
    unsigned value = count->value;
    pthread_mutex_unlock(&count->lock);
    return value;
}

static inline bool reaches(struct count *count, unsigned wanted)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    pthread_mutex_lock(&count->lock);
    int waited = 0;
    while (count->value < wanted && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&count->changed, &count->lock, &limit);
    bool reached = count->value >= wanted;
    pthread_mutex_unlock(&count->lock);
    return reached;
}

#endif

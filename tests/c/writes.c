/* Writes that are more than a whole object: parts of one, a dry run, deletions with a say in how. */
#include "cluster.h"

#define MAP(cluster) (cluster)->maps, KINF_STR("default"), KINF_STR("map-0")

static const char DEPLOYMENT[] =
    "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},"
    "\"spec\":{\"containers\":[{\"name\":\"web\",\"image\":\"nginx\"}]}}}}";

static int64_t number_at(const kinf_object *object, const char *pointer)
{
    int64_t number = -1;
    kinf_object_get_int64(object, KINF_STR(pointer), &number, NULL);
    return number;
}

static bool is_there(struct cluster *cluster, kinf_object **object)
{
    return kinf_client_get(cluster->client, MAP(cluster), object, NULL) == KINF_OK;
}

static void test_parts_of_an_object_are_written_on_their_own(struct cluster *cluster)
{
    kinf_error *error = NULL;
    kinf_resource *deployments = NULL, *status = NULL, *scale = NULL, *none = NULL;
    kinf_object *object = NULL;
    MUST(kinf_client_find(cluster->client, KINF_STR("deployments.apps"), &deployments, &error));
    MUST(kinf_resource_subresource(deployments, KINF_STR("status"), &status, &error));
    MUST(kinf_resource_subresource(deployments, KINF_STR("scale"), &scale, &error));
    MUST(kinf_client_create(cluster->client, deployments, KINF_STR("default"), KINF_STR(DEPLOYMENT), NULL, &error));
    MUST(kinf_client_patch(cluster->client, status, KINF_STR("default"), KINF_STR("web"), KINF_PATCH_MERGE,
                           KINF_STR("{\"spec\":{\"replicas\":9},\"status\":{\"replicas\":5}}"), &object, &error));
    CHECK(number_at(object, "/status/replicas") == 5 && number_at(object, "/spec/replicas") == 1);
    CHECK(strcmp(kinf_object_kind(object, NULL), "Deployment") == 0);
    kinf_object_free(object);
    MUST(kinf_client_get(cluster->client, scale, KINF_STR("default"), KINF_STR("web"), &object, &error));
    CHECK(strcmp(kinf_object_kind(object, NULL), "Scale") == 0 && number_at(object, "/spec/replicas") == 1);
    CHECK(strcmp(kinf_object_api_version(object, NULL), "autoscaling/v1") == 0);
    kinf_object_free(object);
    MUST(kinf_client_patch(cluster->client, scale, KINF_STR("default"), KINF_STR("web"), KINF_PATCH_MERGE,
                           KINF_STR("{\"spec\":{\"replicas\":4}}"), NULL, &error));
    MUST(kinf_client_get(cluster->client, deployments, KINF_STR("default"), KINF_STR("web"), &object, &error));
    CHECK(number_at(object, "/spec/replicas") == 4 && number_at(object, "/status/replicas") == 5);
    kinf_object_free(object);

    /* A part is neither listed nor watched, nor has it parts. */
    kinf_factory *factory = NULL;
    kinf_informer *informer = NULL;
    kinf_list *list = NULL;
    MUST(kinf_factory_new(cluster->client, NULL, &factory, &error));
    CHECK(kinf_factory_informer(factory, status, NULL, &informer, &error) == KINF_INVALID_ARGUMENT && !informer);
    CHECK(strstr(kinf_error_message(error, NULL), "resource") && strstr(kinf_error_message(error, NULL), "status"));
    kinf_error_free(error);
    CHECK(kinf_client_list(cluster->client, status, NULL, &list, NULL) == KINF_INVALID_ARGUMENT && !list);
    CHECK(kinf_resource_subresource(status, KINF_STR("status"), &none, NULL) == KINF_INVALID_ARGUMENT && !none);
    MUST(kinf_resource_subresource(deployments, KINF_STR("../x"), &none, &error));
    CHECK(kinf_client_get(cluster->client, none, KINF_STR("default"), KINF_STR("web"), &object, NULL)
          == KINF_INVALID_ARGUMENT);
    kinf_factory_free(factory);
    kinf_resource_free(none);
    kinf_resource_free(scale);
    kinf_resource_free(status);
    kinf_resource_free(deployments);
}

static void test_a_dry_run_is_answered_and_not_kept(struct cluster *cluster)
{
    kinf_error *error = NULL;
    kinf_client *rehearsal = NULL, *clone = NULL;
    kinf_object *object = NULL;
    const char *value = NULL;
    MUST(kinf_client_dry_run(cluster->client, &rehearsal, &error));
    MUST(kinf_client_clone(rehearsal, &clone, &error)); /* stays one */
    kinf_client_free(rehearsal);
    MUST(kinf_client_patch(clone, MAP(cluster), KINF_PATCH_MERGE,
                           KINF_STR("{\"metadata\":{\"labels\":{\"app\":\"b\"}}}"), &object, &error));
    CHECK(kinf_object_label(object, KINF_STR("app"), &value, NULL, NULL) == KINF_OK && strcmp(value, "b") == 0);
    kinf_object_free(object);
    MUST(kinf_client_delete(clone, MAP(cluster), NULL, &error));
    MUST(kinf_client_delete_with(clone, MAP(cluster), KINF_STR("{\"gracePeriodSeconds\":0}"), NULL, &error));
    MUST(kinf_client_create(clone, cluster->maps, KINF_STR("default"), KINF_STR("{\"metadata\":{\"name\":\"dry\"}}"),
                            &object, &error));
    CHECK(strcmp(kinf_object_key(object, NULL), "default/dry") == 0);
    kinf_object_free(object);
    CHECK(kinf_client_create(clone, cluster->maps, KINF_STR("default"), KINF_STR("{\"metadata\":{\"name\":\"map-0\"}}"),
                             NULL, NULL) == KINF_ALREADY_EXISTS);
    kinf_client_stop(clone); /* which does not stop the one it comes from */
    CHECK(kinf_client_get(clone, MAP(cluster), &object, NULL) == KINF_STOPPED);
    CHECK(is_there(cluster, &object));
    CHECK(kinf_object_label(object, KINF_STR("app"), &value, NULL, NULL) == KINF_OK && strcmp(value, "a") == 0);
    kinf_object_free(object);
    kinf_client_free(clone);
}

static void test_a_deletion_can_be_told_how(struct cluster *cluster)
{
    kinf_error *error = NULL;
    kinf_object *object = NULL, *pending = NULL;
    char options[256];
    CHECK(kinf_client_delete_with(cluster->client, MAP(cluster), KINF_STR("{\"propagation\":\"Orphan\"}"), NULL, &error)
          == KINF_INVALID_ARGUMENT);
    CHECK(strstr(kinf_error_message(error, NULL), "json") && strstr(kinf_error_message(error, NULL), "propagationPolicy"));
    kinf_error_free(error);
    CHECK(kinf_client_delete_with(cluster->client, MAP(cluster), KINF_STR("{\"propagationPolicy\":\"Later\"}"), NULL, NULL)
          == KINF_INVALID_ARGUMENT);
    CHECK(kinf_client_delete_with(cluster->client, MAP(cluster), KINF_STR("{\"gracePeriodSeconds\":-1}"), NULL, NULL)
          == KINF_INVALID_ARGUMENT);
    CHECK(is_there(cluster, &object));
    touch_map(cluster, "map-0", 1);
    snprintf(options, sizeof options, "{\"preconditions\":{\"resourceVersion\":\"%s\"}}",
             kinf_object_resource_version(object, NULL));
    CHECK(kinf_client_delete_with(cluster->client, MAP(cluster), KINF_STR(options), NULL, NULL) == KINF_CONFLICT);
    /* Foreground: it waits for what belongs to it, if only for a moment. */
    snprintf(options, sizeof options,
             "{\"propagationPolicy\":\"Foreground\",\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"%s\"}}",
             kinf_object_uid(object, NULL));
    kinf_object_free(object);
    MUST(kinf_client_delete_with(cluster->client, MAP(cluster), KINF_STR(options), &pending, &error));
    CHECK(!pending || *kinf_object_deletion_timestamp(pending, NULL));
    kinf_object_free(pending);
}

int main(void)
{
    struct cluster cluster = start_cluster(1);
    test_parts_of_an_object_are_written_on_their_own(&cluster);
    test_a_dry_run_is_answered_and_not_kept(&cluster);
    test_a_deletion_can_be_told_how(&cluster);
    end_cluster(&cluster);
    return report();
}

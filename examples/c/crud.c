/* A Deployment, from its creation to its end: create, read, patch, scale, replace with a conflict, apply, delete;
 * and how to read what the server says went wrong. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <kinformer.h>

static const char DEPLOYMENT[] =
    "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},"
    "\"spec\":{\"containers\":[{\"name\":\"web\",\"image\":\"nginx\"}]}}}}";

static void must(kinf_status status, kinf_error *error, const char *what)
{
    if (status == KINF_OK)
        return;
    fprintf(stderr, "%s: %s (%d)\n", what, kinf_error_message(error, NULL), (int)status);
    kinf_error_free(error);
    exit(1);
}

static int64_t replicas(const kinf_object *deployment)
{
    int64_t count = -1;
    kinf_object_get_int64(deployment, KINF_STR("/spec/replicas"), &count, NULL);
    return count;
}

/* What went wrong, as it should. */
static void expect(kinf_status expected, kinf_status status, kinf_error *error, const char *what)
{
    printf("%s: %s, HTTP %u %s\n", what, status == expected ? "as expected" : "NOT EXPECTED",
           (unsigned)kinf_error_http_code(error), kinf_error_reason(error, NULL));
    kinf_error_free(error);
    if (status != expected)
        exit(1);
}

int main(void)
{
    kinf_error *error = NULL;
    kinf_config *config = NULL;
    kinf_client *client = NULL;
    kinf_client *rehearsal = NULL;
    kinf_resource *kind = NULL, *scale = NULL;
    kinf_object *first = NULL, *changed = NULL;
    kinf_value image;
    kinf_list *list = NULL;
    kinf_text *version = NULL;
    kinf_status status;

#ifdef KINF_TESTING
    kinf_test_server *server = NULL;
    must(kinf_test_server_start(false, &server, &error), error, "server");
    must(kinf_test_server_config(server, &config, &error), error, "config");
#else
    must(kinf_config_infer(&config, &error), error, "config");
#endif
    must(kinf_client_new(config, &client, &error), error, "client");
    must(kinf_client_server_version(client, &version, &error), error, "version");
    printf("server %s\n", kinf_text_data(version, NULL));
    kinf_text_free(version);

    must(kinf_client_find(client, KINF_STR("deploy"), &kind, &error), error, "find"); /* the server knows the name */
    printf("%s.%s is %s of %s\n", kinf_resource_plural(kind, NULL), kinf_resource_version(kind, NULL),
           kinf_resource_kind(kind, NULL), kinf_resource_group(kind, NULL));

    must(kinf_client_create(client, kind, KINF_STR("default"), KINF_STR(DEPLOYMENT), &first, &error), error, "create");
    printf("created %s with %" PRId64 " replicas\n", kinf_object_key(first, NULL), replicas(first));
    must(kinf_object_get(first, KINF_STR("/spec/template/spec/containers/0/image"), &image, &error), error, "get");
    printf("image %.*s\n", (int)image.json_length, image.json);
    status = kinf_client_create(client, kind, KINF_STR("default"), KINF_STR(DEPLOYMENT), NULL, &error);
    expect(KINF_ALREADY_EXISTS, status, error, "create again");

    must(kinf_client_patch(client, kind, KINF_STR("default"), KINF_STR("web"), KINF_PATCH_MERGE,
                           KINF_STR("{\"spec\":{\"replicas\":3}}"), &changed, &error), error, "patch");
    printf("patched to %" PRId64 " replicas\n", replicas(changed));
    kinf_object_free(changed);

    must(kinf_resource_subresource(kind, KINF_STR("scale"), &scale, &error), error, "scale");
    must(kinf_client_patch(client, scale, KINF_STR("default"), KINF_STR("web"), KINF_PATCH_MERGE,
                           KINF_STR("{\"spec\":{\"replicas\":4}}"), &changed, &error), error, "scale");
    printf("%s of %" PRId64 " replicas\n", kinf_object_kind(changed, NULL), replicas(changed));
    kinf_object_free(changed);

    /* The first object has the old resource version in it. */
    status = kinf_client_replace(client, kind, KINF_STR("default"), KINF_STR("web"),
                                 KINF_STR(kinf_object_json(first, NULL)), NULL, &error);
    expect(KINF_CONFLICT, status, error, "replace what has changed");

    must(kinf_client_apply(client, kind, KINF_STR("default"), KINF_STR("web"), KINF_STR("crud"), true,
                           KINF_STR("{\"spec\":{\"replicas\":5}}"), &changed, &error), error, "apply");
    printf("applied %" PRId64 " replicas\n", replicas(changed));
    kinf_object_free(changed);

    must(kinf_client_list(client, kind, NULL, &list, &error), error, "list");
    printf("%zu deployments\n", kinf_list_count(list));
    kinf_list_free(list);

    must(kinf_client_dry_run(client, &rehearsal, &error), error, "dry run");
    must(kinf_client_delete(rehearsal, kind, KINF_STR("default"), KINF_STR("web"), NULL, &error), error, "rehearsal");
    status = kinf_client_delete_with(client, kind, KINF_STR("default"), KINF_STR("web"),
                                     KINF_STR("{\"preconditions\":{\"uid\":\"another\"}}"), NULL, &error);
    expect(KINF_CONFLICT, status, error, "delete another one");
    must(kinf_client_delete(client, kind, KINF_STR("default"), KINF_STR("web"), NULL, &error), error, "delete");
    status = kinf_client_get(client, kind, KINF_STR("default"), KINF_STR("web"), &changed, &error);
    expect(KINF_NOT_FOUND, status, error, "get what is gone");

    kinf_object_free(first);
    kinf_resource_free(scale);
    kinf_resource_free(kind);
    kinf_client_free(rehearsal);
    kinf_client_free(client);
    kinf_config_free(config);
#ifdef KINF_TESTING
    kinf_test_server_free(server);
#endif
    return 0;
}

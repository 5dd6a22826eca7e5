/* Where a configuration can come from, each time as far as a request; and what is wrong with one. */
#include <unistd.h>
#include "cluster.h"

/* Whether a client can be made of it, and reads an object; frees it. */
static bool works(struct cluster *cluster, kinf_config *config)
{
    kinf_client *client = NULL;
    kinf_object *object = NULL;
    bool good = kinf_client_new(config, &client, NULL) == KINF_OK
        && kinf_client_get(client, cluster->maps, KINF_STR("default"), KINF_STR("map-0"), &object, NULL) == KINF_OK;
    kinf_object_free(object);
    kinf_client_free(client);
    kinf_config_free(config);
    return good;
}

static void test_kubeconfigs(struct cluster *cluster)
{
    kinf_error *error = NULL;
    kinf_config *config = NULL;
    kinf_text *yaml = NULL, *server = NULL;
    char path[] = "/tmp/kinformer-config-XXXXXX";
    size_t length = 0;
    MUST(kinf_test_server_kubeconfig(cluster->server, &yaml, &error));
    const char *text = kinf_text_data(yaml, &length);
    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, text, length) == (ssize_t)length && close(file) == 0);

    MUST(kinf_config_from_kubeconfig_text(text, length, NULL, 0, &config, &error));
    MUST(kinf_config_server(config, &server, &error));
    CHECK(strcmp(kinf_text_data(server, NULL), kinf_test_server_url(cluster->server, NULL)) == 0);
    kinf_text_free(server);
    CHECK(works(cluster, config));
    MUST(kinf_config_from_kubeconfig_file(KINF_STR(path), NULL, 0, &config, &error));
    CHECK(works(cluster, config));
    CHECK(setenv("KUBECONFIG", path, 1) == 0);
    MUST(kinf_config_infer(&config, &error));
    CHECK(works(cluster, config));

    CHECK(kinf_config_from_kubeconfig_file(KINF_STR(path), KINF_STR("nowhere"), &config, &error) == KINF_CONFIG && !config);
    CHECK(strstr(kinf_error_message(error, NULL), "nowhere") && strstr(kinf_error_message(error, NULL), path));
    kinf_error_free(error);
    unlink(path);
    CHECK(kinf_config_from_kubeconfig_file(KINF_STR(path), NULL, 0, &config, &error) == KINF_CONFIG && !config);
    CHECK(strstr(kinf_error_message(error, NULL), path));
    kinf_error_free(error);
    CHECK(kinf_config_in_cluster(&config, NULL) == KINF_CONFIG && !config); /* which this is not */
    kinf_text_free(yaml);
}

static void test_explicit_parts(struct cluster *cluster)
{
    kinf_error *error = NULL;
    kinf_config *config = NULL;
    const char *url = kinf_test_server_url(cluster->server, NULL);
    MUST(kinf_config_new(KINF_STR(url), &config, &error));
    MUST(kinf_config_set_token(config, KINF_STR("secret-token"), &error));
    MUST(kinf_config_set_user_agent(config, KINF_STR("a C program"), &error));
    /* What cannot be used leaves it as it was, and is not told to anybody. */
    CHECK(kinf_config_set_token(config, KINF_STR("secret\ntoken"), &error) == KINF_CONFIG);
    CHECK(strstr(kinf_error_message(error, NULL), "token: ") && !strstr(kinf_error_message(error, NULL), "secret"));
    kinf_error_free(error);
    CHECK(kinf_config_set_certificate_authority(config, KINF_STR("no PEM"), &error) == KINF_CONFIG);
    CHECK(strstr(kinf_error_message(error, NULL), "certificate_authority"));
    kinf_error_free(error);
    CHECK(kinf_config_set_client_certificate(config, KINF_STR("no PEM"), KINF_STR("nor this"), NULL) == KINF_CONFIG);
    CHECK(works(cluster, config));
    CHECK(kinf_config_new(KINF_STR("ftp://x"), &config, NULL) == KINF_CONFIG && !config);
}

int main(void)
{
    struct cluster cluster = start_cluster(1);
    test_kubeconfigs(&cluster);
    test_explicit_parts(&cluster);
    end_cluster(&cluster);
    return report();
}

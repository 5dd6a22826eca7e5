/* The library as a plug-in has it: opened, used and closed, over and over. The argument says where it is. */
#include <dlfcn.h>
#include "check.h"

/* POSIX lets a pointer to data be one to a function; ISO C does not. */
#define FIND(name) \
    __typeof__(&name) name##_; \
    *(void **)(&name##_) = dlsym(library, #name); \
    if (!name##_) \
        return false

static bool use(void *library)
{
    FIND(kinf_test_server_start);
    FIND(kinf_test_server_config);
    FIND(kinf_test_server_free);
    FIND(kinf_config_free);
    FIND(kinf_client_new);
    FIND(kinf_client_free);
    FIND(kinf_factory_new);
    FIND(kinf_factory_informer_for);
    FIND(kinf_factory_start);
    FIND(kinf_factory_wait_for_sync);
    FIND(kinf_factory_free);
    FIND(kinf_informer_free);
    kinf_test_server *server = NULL;
    kinf_config *config = NULL;
    kinf_client *client = NULL;
    kinf_factory *factory = NULL;
    kinf_informer *pods = NULL;
    bool good = kinf_test_server_start_(true, &server, NULL) == KINF_OK
        && kinf_test_server_config_(server, &config, NULL) == KINF_OK && kinf_client_new_(config, &client, NULL) == KINF_OK
        && kinf_factory_new_(client, NULL, &factory, NULL) == KINF_OK
        && kinf_factory_informer_for_(factory, NULL, 0, KINF_STR("v1"), KINF_STR("pods"), NULL, &pods, NULL) == KINF_OK
        && kinf_factory_start_(factory, NULL) == KINF_OK && kinf_factory_wait_for_sync_(factory, 60000, NULL) == KINF_OK;
    kinf_factory_free_(factory);
    kinf_informer_free_(pods);
    kinf_client_free_(client);
    kinf_config_free_(config);
    kinf_test_server_free_(server);
    return good;
}

int main(int count, char **arguments)
{
    for (int round = 0; round < 10 && count > 1; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        CHECK(library && use(library));
        CHECK(library && dlclose(library) == 0);
    }
    CHECK(count > 1);
    return report();
}

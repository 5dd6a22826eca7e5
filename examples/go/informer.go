// Pods of a cluster from Go by way of cgo: a callback for every change, and a lister.
//
//	CGO_CFLAGS=$(pkg-config --cflags kinformer) CGO_LDFLAGS=$(pkg-config --libs kinformer) go run .
//
// Built with -DKINF_TESTING in CGO_CFLAGS it starts the embedded API server.
package main

/*
#include <stdlib.h>
#include <kinformer.h>

extern void goEvent(void *user, kinf_event *event);

static inline void on_event(void *user, const kinf_event *event) { goEvent(user, (kinf_event *)event); }

static inline kinf_status listen(kinf_informer *informer, void *user, kinf_error **error)
{
	return kinf_informer_on_event(informer, on_event, user, NULL, -1, NULL, error);
}

#ifdef KINF_TESTING
static kinf_test_server *server;
static inline kinf_status config(kinf_config **config, kinf_error **error)
{
	kinf_status status = kinf_test_server_start(true, &server, error);
	return status == KINF_OK ? kinf_test_server_config(server, config, error) : status;
}
static inline void end(void) { kinf_test_server_free(server); }
#else
static inline kinf_status config(kinf_config **config, kinf_error **error) { return kinf_config_infer(config, error); }
static inline void end(void) {}
#endif

static inline kinf_status pods_of(kinf_factory *factory, kinf_informer **pods, kinf_error **error)
{
	return kinf_factory_informer_for(factory, NULL, 0, KINF_STR("v1"), KINF_STR("pods"), NULL, pods, error);
}
*/
import "C"

import (
	"encoding/json"
	"fmt"
	"log"
	"runtime/cgo"
	"unsafe"
)

type event struct {
	kind C.kinf_event_type
	key  string
}

//export goEvent
func goEvent(user unsafe.Pointer, e *C.kinf_event) {
	events := (*(*cgo.Handle)(user)).Value().(chan event)
	events <- event{C.kinf_event_get_type(e), C.GoString(C.kinf_event_key(e, nil))}
}

func must(status C.kinf_status, err *C.kinf_error) {
	if status != C.KINF_OK {
		log.Fatal(C.GoString(C.kinf_error_message(err, nil)))
	}
}

func main() {
	var err *C.kinf_error
	var config *C.kinf_config
	var client *C.kinf_client
	var factory *C.kinf_factory
	var pods *C.kinf_informer
	var list *C.kinf_list
	events := make(chan event, 1024)
	// Go's pointers may not be kept by C: a handle is, in memory of C.
	user := (*cgo.Handle)(C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0)))))
	*user = cgo.NewHandle(events)

	must(C.config(&config, &err), err)
	must(C.kinf_client_new(config, &client, &err), err)
	must(C.kinf_factory_new(client, nil, &factory, &err), err)
	must(C.pods_of(factory, &pods, &err), err)
	must(C.listen(pods, unsafe.Pointer(user), &err), err)
	must(C.kinf_factory_start(factory, &err), err)
	must(C.kinf_factory_wait_for_sync(factory, 30000, &err), err)

	must(C.kinf_informer_list(pods, nil, 0, nil, 0, &list, &err), err)
	for at := C.size_t(0); at < C.kinf_list_count(list); at++ {
		var length C.size_t
		text := C.kinf_object_json(C.kinf_list_at(list, at), &length)
		var pod struct {
			Metadata struct{ Namespace, Name string }
			Spec     struct{ NodeName string }
		}
		if e := json.Unmarshal(C.GoBytes(unsafe.Pointer(text), C.int(length)), &pod); e != nil {
			log.Fatal(e)
		}
		e := <-events
		fmt.Println("event", e.kind, e.key)
		fmt.Printf("pod %s/%s on %s\n", pod.Metadata.Namespace, pod.Metadata.Name, pod.Spec.NodeName)
	}
	C.kinf_list_free(list)
	must(C.kinf_factory_shutdown(factory, -1, &err), err) // no callback runs after this
	C.kinf_informer_free(pods)
	C.kinf_factory_free(factory)
	C.kinf_client_free(client)
	C.kinf_config_free(config)
	user.Delete()
	C.free(unsafe.Pointer(user))
	C.end()
	fmt.Println("kinformer", C.GoString(C.kinf_version()), "is done")
}

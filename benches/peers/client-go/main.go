// client-go as its users would use it: what benches/peers/run measures.
//
// Prints "synced N" when cache and handlers have everything, then answers "count" on its input with how
// many events the handlers have had, and "free" with the bytes in use after it has given back all others, until
// the input ends.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	seen atomic.Int64
	sink atomic.Int64
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check(err)
	// As its controllers do.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	check(err)
	switch os.Args[1] {
	case "sync":
		follow(informers.NewSharedInformerFactory(client, 0), 1)
	case "pruned":
		pruned := informers.WithTransform(withoutManagedFields)
		follow(informers.NewSharedInformerFactoryWithOptions(client, 0, pruned), 1)
	case "lean":
		lean := informers.WithTransform(onNode)
		follow(informers.NewSharedInformerFactoryWithOptions(client, 0, lean), 1)
	case "handlers10":
		follow(informers.NewSharedInformerFactory(client, 0), 10)
	case "first":
		namespace := informers.WithNamespace(os.Args[2])
		first(informers.NewSharedInformerFactoryWithOptions(client, 0, namespace))
	default:
		panic("sync, pruned, lean, handlers10 or first NAMESPACE")
	}
}

func follow(factory informers.SharedInformerFactory, handlers int) {
	pods := factory.Core().V1().Pods().Informer()
	var registrations []cache.ResourceEventHandlerRegistration
	for range handlers {
		registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    look,
			UpdateFunc: func(_, pod any) { look(pod) },
		})
		check(err)
		registrations = append(registrations, registration)
	}
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	for _, registration := range registrations {
		<-registration.HasSyncedChecker().Done()
	}
	fmt.Println("synced", seen.Load()/int64(handlers))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch lines.Text() {
		case "count":
			fmt.Println("events", seen.Load())
		case "free":
			debug.FreeOSMemory()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			fmt.Println("heap", memory.HeapAlloc)
		}
	}
	close(stop)
	factory.Shutdown()
}

func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// What the handler wants to know of a pod, and what the informer does.
func onNode(object any) (any, error) {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return object, nil
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            pod.Name,
			Namespace:       pod.Namespace,
			UID:             pod.UID,
			ResourceVersion: pod.ResourceVersion,
			Labels:          pod.Labels,
		},
		Spec: v1.PodSpec{NodeName: pod.Spec.NodeName},
	}, nil
}

func look(object any) {
	pod := object.(*v1.Pod)
	sink.Store(int64(len(pod.Name) + len(pod.Namespace) + len(pod.Labels) + len(pod.Spec.NodeName)))
	seen.Add(1)
}

// From nothing to the first event.
func first(factory informers.SharedInformerFactory) {
	maps := factory.Core().V1().ConfigMaps().Informer()
	_, err := maps.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { fmt.Println("first", object.(*v1.ConfigMap).Name) },
	})
	check(err)
	stop := make(chan struct{})
	factory.Start(stop)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
	}
	close(stop)
	factory.Shutdown()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

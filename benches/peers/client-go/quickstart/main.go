// The same quickstart with client-go: benches/peers/run measures its size.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check(err)
	client, err := kubernetes.NewForConfig(config)
	check(err)
	factory := informers.NewSharedInformerFactory(client, 0)
	sets := factory.Apps().V1().StatefulSets()
	_, err = sets.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(set any) { fmt.Println("added", name(set)) },
		UpdateFunc: func(_, set any) { fmt.Println("updated", name(set)) },
		DeleteFunc: func(set any) { fmt.Println("deleted", name(set)) },
	})
	check(err)
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	listed, err := sets.Lister().StatefulSets("default").List(labels.Everything())
	check(err)
	for _, set := range listed {
		fmt.Println(set.Name, *set.Spec.Replicas)
	}
	close(stop)
	factory.Shutdown()
}

func name(object any) string {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	return key
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

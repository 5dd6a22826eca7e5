package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// A witness is one informer and the journal of what its handler was told.
type witness struct {
	name     string
	informer cache.SharedIndexInformer
	seen     *journal
}

// watch starts a typed, a dynamic and a metadata informer for each kind; they run until ctx ends.
func watch(
	ctx context.Context, config *rest.Config, namespace string, kinds []kind,
) (map[string][]*witness, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	typed := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	untyped := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, namespace, nil)
	meta := metadatainformer.NewFilteredSharedInformerFactory(metadataClient, 0, namespace, nil)

	witnesses := map[string][]*witness{}
	for _, k := range kinds {
		for _, w := range []*witness{
			{name: "typed", informer: k.typed(typed)},
			{name: "dynamic", informer: untyped.ForResource(k.resource).Informer()},
			{name: "metadata", informer: meta.ForResource(k.resource).Informer()},
		} {
			w.seen = newJournal()
			if _, err := w.informer.AddEventHandler(w.handler()); err != nil {
				return nil, err
			}
			witnesses[k.String()] = append(witnesses[k.String()], w)
		}
	}
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	meta.Start(ctx.Done())
	go func() {
		<-ctx.Done()
		typed.Shutdown()
		untyped.Shutdown()
		meta.Shutdown()
	}()
	return witnesses, nil
}

func (w *witness) handler() cache.ResourceEventHandler {
	record := func(change change, object any) {
		if tombstone, unknown := object.(cache.DeletedFinalStateUnknown); unknown {
			object = tombstone.Obj
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			panic(fmt.Sprintf("%s: a handler was given %T", w.name, object))
		}
		// A real server marks a pod before it removes it: part of the delete, not an update of ours.
		if change == updated && accessor.GetDeletionTimestamp() != nil {
			return
		}
		v, err := version(accessor)
		if err != nil {
			panic(err)
		}
		w.seen.add(accessor.GetName(), change, v)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { record(added, object) },
		UpdateFunc: func(_, object any) { record(updated, object) },
		DeleteFunc: func(object any) { record(deleted, object) },
	}
}

func (w *witness) store() (map[string]uint64, error) { return versions(w.informer.GetStore().List()) }

// eventually polls until the condition holds or the time is up.
func eventually(limit time.Duration, condition func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return true
		}
	}
	return condition()
}

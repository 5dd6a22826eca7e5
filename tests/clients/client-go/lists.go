package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

// lists compares pages and resource versions of lists: 25 config maps, of which 5 go meanwhile.
func lists(ctx context.Context, config *rest.Config) {
	client := must(kubernetes.NewForConfig(config))
	maps := client.CoreV1().ConfigMaps(newNamespace(ctx, client))
	list := func(options metav1.ListOptions) *corev1.ConfigMapList {
		return must(maps.List(ctx, options))
	}
	for i := range 25 {
		must(maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("page-%02d", i),
			Labels: map[string]string{"odd": fmt.Sprint(i%2 == 1)},
		}}, metav1.CreateOptions{}))
	}

	first := list(metav1.ListOptions{Limit: 10})
	compare("the first page", 10, len(first.Items))
	compare("what remains after it", 15, *first.RemainingItemCount)
	for i := range 5 {
		must("", maps.Delete(ctx, fmt.Sprintf("page-%02d", 24-i), metav1.DeleteOptions{}))
	}
	second := list(metav1.ListOptions{Limit: 10, Continue: first.Continue})
	third := list(metav1.ListOptions{Limit: 10, Continue: second.Continue})
	compare("the second page", 10, len(second.Items))
	compare("the third page, with objects deleted since the first", 5, len(third.Items))
	compare("its resource version is the first's", first.ResourceVersion, third.ResourceVersion)
	compare("its continue token", "", third.Continue)

	past := metav1.ListOptions{
		ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	}
	compare("objects at that version, exactly", 25, len(list(past).Items))
	present := metav1.ListOptions{
		ResourceVersion:      list(metav1.ListOptions{}).ResourceVersion,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
	compare("objects not older than now", 20, len(list(present).Items))
	compare("objects at version 0", 20, len(list(metav1.ListOptions{ResourceVersion: "0"}).Items))

	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return maps.List(ctx, o)
	})
	pages.PageSize = 3
	odd := 0
	must("", pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: "odd=true"},
		func(runtime.Object) error { odd++; return nil }))
	compare("objects by label, over pages of 3", 10, odd)
	one := list(metav1.ListOptions{FieldSelector: "metadata.name=page-07"}).Items
	compare("objects by field", 1, len(one))
	_, err := maps.List(ctx, metav1.ListOptions{Continue: "nonsense"})
	compare("a continue token that is none", metav1.StatusReasonBadRequest, apierrors.ReasonForError(err))
}

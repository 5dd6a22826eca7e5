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

// lists compares pages and resource versions of lists: 25 config maps, then 5 changes.
func lists(ctx context.Context, config *rest.Config) {
	client := must(kubernetes.NewForConfig(config))
	namespace := newNamespace(ctx, client)
	maps := client.CoreV1().ConfigMaps(namespace)
	list := func(options metav1.ListOptions) *corev1.ConfigMapList { return must(maps.List(ctx, options)) }
	for i := range 25 {
		must(maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("page-%02d", i), Labels: map[string]string{"odd": fmt.Sprint(i%2 == 1)},
		}}, metav1.CreateOptions{}))
	}

	first := list(metav1.ListOptions{Limit: 10})
	compare("the first page of 10 of 25", "10 items, 15 remain", fmt.Sprintf("%d items, %d remain", len(first.Items), *first.RemainingItemCount))
	for i := range 5 {
		name := fmt.Sprintf("page-%02d", 24-i)
		must("", maps.Delete(ctx, name, metav1.DeleteOptions{}))
	}
	second := list(metav1.ListOptions{Limit: 10, Continue: first.Continue})
	third := list(metav1.ListOptions{Limit: 10, Continue: second.Continue})
	compare("the next pages show the moment of the first, deletes or not",
		fmt.Sprintf("10 + 5 at %s, continue %q", first.ResourceVersion, ""),
		fmt.Sprintf("%d + %d at %s, continue %q", len(second.Items), len(third.Items), third.ResourceVersion, third.Continue))

	compare("resourceVersionMatch=Exact shows the past", "25 items",
		fmt.Sprintf("%d items", len(list(metav1.ListOptions{
			ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}).Items)))
	now := list(metav1.ListOptions{})
	compare("resourceVersionMatch=NotOlderThan shows the present", "20 items",
		fmt.Sprintf("%d items", len(list(metav1.ListOptions{
			ResourceVersion: now.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}).Items)))
	compare("resourceVersion=0", "20 items", fmt.Sprintf("%d items", len(list(metav1.ListOptions{ResourceVersion: "0"}).Items)))
	compare("a label selector over pages", "10 items",
		fmt.Sprintf("%d items", count(ctx, maps.List, metav1.ListOptions{Limit: 3, LabelSelector: "odd=true"})))
	compare("a field selector", "page-07", list(metav1.ListOptions{FieldSelector: "metadata.name=page-07"}).Items[0].Name)
	_, err := maps.List(ctx, metav1.ListOptions{Continue: "nonsense"})
	compare("a continue token that is none is a bad request", true, apierrors.IsBadRequest(err))
}

func count[L runtime.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), options metav1.ListOptions) (n int) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) })
	pages.PageSize = options.Limit
	must("", pages.EachListItem(ctx, options, func(runtime.Object) error { n++; return nil }))
	return n
}

func compare[T comparable](what string, want, got T) {
	if want == got {
		check(fmt.Sprintf("%s: %v", what, got), nil)
	} else {
		check(what, []string{fmt.Sprintf("should be: %v", want), fmt.Sprintf("is: %v", got)})
	}
}

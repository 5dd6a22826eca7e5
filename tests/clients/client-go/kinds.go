package main

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// A kind is one resource that is written and watched.
type kind struct {
	resource schema.GroupVersionResource
	typed    func(informers.SharedInformerFactory) cache.SharedIndexInformer
	create   func(ctx context.Context, name string) (uint64, error)
	update   func(ctx context.Context, name string, note string) (uint64, error)
	remove   func(ctx context.Context, name string) error
	list     func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
}

func (k kind) String() string { return k.resource.Resource }

func kinds(client kubernetes.Interface, namespace string) []kind {
	container := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1"}}}
	pods := newKind(client.CoreV1().Pods(namespace), func(m metav1.ObjectMeta) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: m, Spec: container}
	})
	pods.resource = corev1.SchemeGroupVersion.WithResource("pods")
	pods.typed = func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Pods().Informer()
	}

	configMaps := newKind(client.CoreV1().ConfigMaps(namespace), func(m metav1.ObjectMeta) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"name": m.Name}}
	})
	configMaps.resource = corev1.SchemeGroupVersion.WithResource("configmaps")
	configMaps.typed = func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().ConfigMaps().Informer()
	}

	deployments := newKind(client.AppsV1().Deployments(namespace), func(m metav1.ObjectMeta) *appsv1.Deployment {
		labels := map[string]string{"app": m.Name}
		return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: container},
		}}
	})
	deployments.resource = appsv1.SchemeGroupVersion.WithResource("deployments")
	deployments.typed = func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Apps().V1().Deployments().Informer()
	}
	return []kind{pods, configMaps, deployments}
}

// api is what every typed client of client-go has; L is its list type.
type api[T metav1.Object, L runtime.Object] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	List(context.Context, metav1.ListOptions) (L, error)
}

func newKind[T metav1.Object, L runtime.Object](client api[T, L], fresh func(metav1.ObjectMeta) T) kind {
	return kind{
		create: func(ctx context.Context, name string) (uint64, error) {
			object, err := client.Create(ctx, fresh(metav1.ObjectMeta{Name: name}), metav1.CreateOptions{})
			if err != nil {
				return 0, fmt.Errorf("create %s: %w", name, err)
			}
			return version(object)
		},
		update: func(ctx context.Context, name string, note string) (uint64, error) {
			object, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return 0, fmt.Errorf("get %s: %w", name, err)
			}
			object.SetAnnotations(map[string]string{"note": note})
			if object, err = client.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
				return 0, fmt.Errorf("update %s: %w", name, err)
			}
			return version(object)
		},
		remove: func(ctx context.Context, name string) error {
			if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				return fmt.Errorf("delete %s: %w", name, err)
			}
			return nil
		},
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
	}
}

func version(object metav1.Object) (uint64, error) {
	return strconv.ParseUint(object.GetResourceVersion(), 10, 64)
}

// listed is what the server holds: name to resource version.
func (k kind) listed(ctx context.Context) (map[string]uint64, error) {
	list, err := k.list(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	return versions(items)
}

func versions[O any](objects []O) (map[string]uint64, error) {
	state := map[string]uint64{}
	for _, object := range objects {
		accessor, err := meta.Accessor(object)
		if err != nil {
			return nil, err
		}
		if state[accessor.GetName()], err = version(accessor); err != nil {
			return nil, err
		}
	}
	return state, nil
}

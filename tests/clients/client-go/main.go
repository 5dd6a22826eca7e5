// Informers of client-go against an API server: everything that is written must be seen.
//
// KUBECONFIG names the server. With CONTROL=1 it is the embedded one, and faults are scripted into it.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

var failures int

func check(what string, differences []string) {
	if len(differences) == 0 {
		fmt.Printf("ok   %s: %s\n", mode(), what)
		return
	}
	failures++
	fmt.Printf("FAIL %s: %s%s\n", mode(), what, firstOf(differences))
}

// must ends the program: without this step nothing after it means anything.
func must[T any](value T, err error) T {
	if err != nil {
		check("cannot go on", []string{err.Error()})
		os.Exit(1)
	}
	return value
}

func mode() string {
	if watchList() {
		return "WatchList on"
	}
	return "WatchList off"
}

func compare[T comparable](what string, want, got T) {
	if want == got {
		check(fmt.Sprintf("%s: %v", what, got), nil)
	} else {
		check(what, []string{fmt.Sprintf("should be %v, is %v", want, got)})
	}
}

func watchList() bool { return os.Getenv("KUBE_FEATURE_WatchListClient") != "false" }

func main() {
	klog.SetOutput(logFilter{})
	klog.LogToStderr(false)
	config := must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	config.QPS = -1
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	embedded := os.Getenv("CONTROL") != ""
	contentTypes(ctx, config, embedded)

	writer := rest.CopyConfig(config)
	writer.ContentType = runtime.ContentTypeJSON
	lists(ctx, writer)
	steady.run(ctx, config, writer)
	if embedded {
		for _, s := range faulty {
			s.run(ctx, config, writer)
		}
	}
	if failures > 0 {
		os.Exit(1)
	}
}

// contentTypes shows what a client gets that is told nothing: typed clients send protobuf. A server
// that cannot read it must say so with a Status, and still serve reads, which offer JSON too.
func contentTypes(ctx context.Context, config *rest.Config, embedded bool) {
	client := must(kubernetes.NewForConfig(config))
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "client-go-"},
	}, metav1.CreateOptions{})
	want := metav1.StatusReasonUnknown
	if embedded {
		want = metav1.StatusReasonUnsupportedMediaType
	}
	compare(fmt.Sprintf("a write in protobuf (%v)", err), want, apierrors.ReasonForError(err))
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	must("", err)
	check(fmt.Sprintf("a read that prefers protobuf: %d namespaces", len(list.Items)), nil)
}

// logFilter keeps client-go's own warnings out of the report, unless they are asked for.
type logFilter struct{}

func (logFilter) Write(line []byte) (int, error) {
	if os.Getenv("VERBOSE") != "" {
		fmt.Fprint(os.Stderr, "     | ", strings.TrimSpace(string(line)), "\n")
	}
	return len(line), nil
}

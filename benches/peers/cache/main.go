// What the operations of client-go's own cache cost, in the form of benches/cache.rs.
package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	namespaces = 50
	apps       = 100
	large      = 100_000
	small      = 20_000
	burst      = 1_000
	duration   = 500 * time.Millisecond
)

func main() {
	wanted := ""
	if len(os.Args) > 1 {
		wanted = os.Args[1]
	}
	for _, benchmark := range []struct {
		name string
		run  func(string)
	}{
		{"fifo_add_pop", fifoAddPop},
		{"fifo_add_pop_with", fifoAddPop},
		{"fifo_add_update_pop_1000", fifoBurst},
		{"fifo_replace_pop_20000", fifoReplace},
		{"indexer_update_20000", indexerUpdate},
		{"lister_get_100000", listerGet},
		{"lister_get_100000_shuffled", listerGetShuffled},
		{"list_by_label_100000", listByLabel},
		{"list_namespace_100000", listNamespace},
		{"list_all_100000", listAll},
	} {
		if strings.Contains(benchmark.name, wanted) {
			benchmark.run(benchmark.name)
		}
	}
}

func newFIFO(known cache.KeyListerGetter) *cache.DeltaFIFO {
	return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
		KeyFunction:           cache.MetaNamespaceKeyFunc,
		KnownObjects:          known,
		EmitDeltaTypeReplaced: known != nil,
	})
}

func ignore(any, bool) error { return nil }

func fifoAddPop(name string) {
	pod := pods(1, 1)[0]
	fifo := newFIFO(nil)
	measure(name, burst, func() {
		for range burst {
			check(fifo.Add(pod))
			pop(fifo)
		}
	})
}

func fifoBurst(name string) {
	first, second := pods(burst, 1), pods(burst, 2)
	fifo := newFIFO(nil)
	measure(name, 3*burst, func() {
		for _, pod := range first {
			check(fifo.Add(pod))
		}
		for _, pod := range second {
			check(fifo.Update(pod))
		}
		for range first {
			pop(fifo)
		}
	})
}

func fifoReplace(name string) {
	fifo := newFIFO(newIndexer(small))
	var listed []any
	for _, pod := range pods(small, 2) {
		listed = append(listed, pod)
	}
	measure(name, small, func() {
		check(fifo.Replace(listed, "2"))
		for range listed {
			pop(fifo)
		}
	})
}

func indexerUpdate(name string) {
	indexer := newIndexer(small)
	versions := [][]*v1.Pod{pods(small, 2), pods(small, 3)}
	round := 0
	measure(name, small, func() {
		for _, pod := range versions[round%2] {
			check(indexer.Update(pod))
		}
		round++
	})
}

func listerGet(name string) { getAll(name, ordered(large)) }

func listerGetShuffled(name string) { getAll(name, shuffled(large)) }

func getAll(name string, order []int) {
	lister := corev1.NewPodLister(newIndexer(large))
	var byNamespace []corev1.PodNamespaceLister
	for n := range namespaces {
		byNamespace = append(byNamespace, lister.Pods(fmt.Sprintf("namespace-%d", n)))
	}
	names := make([]string, large)
	for n := range names {
		names[n] = fmt.Sprintf("pod-%d", n)
	}
	measure(name, large, func() {
		for _, n := range order {
			_, err := byNamespace[n%namespaces].Get(names[n])
			check(err)
		}
	})
}

// What charts add.
func chartLabels(n int) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       fmt.Sprintf("app-%d", n%apps),
		"app.kubernetes.io/instance":   fmt.Sprintf("app-%d-%d", n%apps, n%3),
		"app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/version":    fmt.Sprintf("1.%d", n%3),
		"team":                         fmt.Sprintf("team-%d", n%20),
	}
}

func listByLabel(name string) {
	indexer := newIndexer(large)
	for n, pod := range pods(large, 1) {
		maps.Copy(pod.Labels, chartLabels(n))
		check(indexer.Update(pod))
	}
	lister := corev1.NewPodLister(indexer)
	selector, err := labels.Parse("app=app-7")
	check(err)
	measure(name, 1, func() { list(lister, selector, large/apps) })
}

func listNamespace(name string) {
	lister := corev1.NewPodLister(newIndexer(large)).Pods("namespace-7")
	measure(name, 1, func() { list(lister, labels.Everything(), large/namespaces) })
}

func listAll(name string) {
	lister := corev1.NewPodLister(newIndexer(large))
	measure(name, 1, func() { list(lister, labels.Everything(), large) })
}

// Repeats what does count operations, and prints what one of them costs.
func measure(name string, count int, operations func()) {
	operations()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, onCPU, repeats := time.Now(), timeOnCPU(), 0
	for time.Since(start) < duration {
		operations()
		repeats++
	}
	// On a busy machine others take a part of the time that has passed; on a quiet one, the garbage
	// collector works beside. The smaller is the fairer.
	elapsed := min(time.Since(start), timeOnCPU()-onCPU)
	runtime.ReadMemStats(&after)
	all := float64(repeats * count)
	fmt.Printf("%s %.1f ns %.2f allocs\n", name,
		float64(elapsed.Nanoseconds())/all, float64(after.Mallocs-before.Mallocs)/all)
}

// The time that this process has run so far, all threads together.
func timeOnCPU() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func list(lister interface {
	List(labels.Selector) ([]*v1.Pod, error)
}, selector labels.Selector, expected int) {
	found, err := lister.List(selector)
	check(err)
	if len(found) != expected {
		panic(fmt.Sprintf("%d instead of %d", len(found), expected))
	}
}

func pop(fifo *cache.DeltaFIFO) {
	_, err := fifo.Pop(ignore)
	check(err)
}

func newIndexer(count int) cache.Indexer {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, pod := range pods(count, 1) {
		check(indexer.Add(pod))
	}
	return indexer
}

func pods(count, version int) []*v1.Pod {
	pods := make([]*v1.Pod, count)
	for n := range pods {
		pods[n] = &v1.Pod{
			TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{
				Name:            fmt.Sprintf("pod-%d", n),
				Namespace:       fmt.Sprintf("namespace-%d", n%namespaces),
				UID:             types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)),
				ResourceVersion: fmt.Sprint(version),
				Labels: map[string]string{
					"app":               fmt.Sprintf("app-%d", n%apps),
					"tier":              fmt.Sprintf("tier-%d", n%3),
					"pod-template-hash": fmt.Sprintf("hash-%d", n),
				},
			},
			Spec: v1.PodSpec{NodeName: fmt.Sprintf("node-%d", n%500)},
		}
	}
	return pods
}

func ordered(count int) []int {
	order := make([]int, count)
	for n := range order {
		order[n] = n
	}
	return order
}

// The numbers below count in an order that no cache foresees, the same every time.
func shuffled(count int) []int {
	order := ordered(count)
	state := uint64(1)
	for at := count - 1; at > 0; at-- {
		state = state*6364136223846793005 + 1442695040888963407
		other := int((state >> 33) % uint64(at+1))
		order[at], order[other] = order[other], order[at]
	}
	return order
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

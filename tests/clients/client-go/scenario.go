package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const limit = 120 * time.Second

// A scenario writes objects of three kinds and holds what nine informers saw against it.
type scenario struct {
	name    string
	objects int
	// faults befall the first watches, and then those that follow.
	faults []fault
	// stalls: where initial objects are streamed, no informer can sync until its connection is cut.
	stalls bool
	// compacts: the past is forgotten before the informers may come back.
	compacts bool
	// gap: the informers have to list again. They may skip versions, but must end right.
	gap bool
}

var steady = scenario{name: "steady", objects: 200}

// run watches with one configuration, as it comes, and writes with another.
func (s scenario) run(parent context.Context, config, writer *rest.Config) {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	client := must(kubernetes.NewForConfig(writer))
	namespace := newNamespace(ctx, client)
	kinds := kinds(client, namespace)
	control := newControl(config, namespace)
	written := map[string]*journal{}
	for _, k := range kinds {
		written[k.String()] = newJournal()
	}

	s.write(ctx, kinds, written, "old", phaseCreate)
	must("", control.script(ctx, kinds, s.faults))
	requests := &requests{}
	witnesses := must(watch(ctx, requests.count(config), namespace, kinds))
	if s.stalls && watchList() {
		// One that comes to the server later than the drop would wait for good.
		eventually(limit, func() bool { return len(must(control.unused(ctx))) == 0 })
		time.Sleep(time.Second)
		compare(s.name+": informers that synced without it", 0, synced(witnesses))
		must("", control.command(ctx, "POST", "drop-connections"))
	}
	eventually(limit, func() bool { return synced(witnesses) == len(kinds)*watchers })
	compare(s.name+": synced informers", len(kinds)*watchers, synced(witnesses))

	s.write(ctx, kinds, written, "new", phaseCreate)
	s.write(ctx, kinds, written, "new", phaseUpdate)
	s.write(ctx, kinds, written, "old", phaseUpdate)
	s.write(ctx, kinds, written, "new", phaseDelete)
	if s.compacts {
		must("", control.command(ctx, "POST", "compact"))
		must("", control.command(ctx, "DELETE", "faults"))
	}
	for _, k := range kinds {
		onServer := must(k.listed(ctx))
		for _, w := range witnesses[k.String()] {
			s.compare(k, w, written[k.String()], onServer)
		}
	}
	check(fmt.Sprintf("%s: %s", s.name, requests),
		requests.unexpected(len(kinds)*watchers, s.gap, s.stalls))
	if len(s.faults) > 0 {
		check(s.name+": every scripted fault happened", must(control.unused(ctx)))
	}
}

func synced(witnesses map[string][]*witness) (n int) {
	for _, ofKind := range witnesses {
		for _, w := range ofKind {
			if w.informer.HasSynced() {
				n++
			}
		}
	}
	return n
}

func (s scenario) compare(k kind, w *witness, written *journal, onServer map[string]uint64) {
	complete := func() bool {
		return len(sameState(onServer, w.seen.state())) == 0 && (s.gap || len(written.missing(w.seen)) == 0)
	}
	eventually(limit, complete)
	differences := sameState(onServer, written.state())
	differences = append(differences, sameState(onServer, w.seen.state())...)
	differences = append(differences, sameState(onServer, must(w.store()))...)
	differences = append(differences, written.impossible(w.seen)...)
	if !s.gap {
		differences = append(differences, written.missing(w.seen)...)
		if late := w.seen.outOfOrder(s.objects); late != "" {
			differences = append(differences, late)
		}
	}
	check(fmt.Sprintf("%s, %s %s: %s compared, %d left in store and server",
		s.name, w.name, k, w.seen.counts(), len(onServer)), differences)
}

type phase int

const (
	phaseCreate phase = iota
	phaseUpdate
	phaseDelete
)

// write does one phase for all objects of a family, the kinds at the same time. Every fourth object
// survives.
func (s scenario) write(
	ctx context.Context, kinds []kind, written map[string]*journal, family string, phase phase,
) {
	var all sync.WaitGroup
	for _, k := range kinds {
		all.Go(func() {
			journal := written[k.String()]
			for i := range s.objects {
				name := fmt.Sprintf("%s-%03d", family, i)
				switch phase {
				case phaseCreate:
					journal.add(name, added, must(k.create(ctx, name)))
				case phaseUpdate:
					journal.add(name, updated, must(k.update(ctx, name, "first")))
				case phaseDelete:
					if i%4 != 0 {
						last := journal.state()[name]
						must("", k.remove(ctx, name))
						journal.add(name, deleted, last)
					}
				}
			}
		})
	}
	all.Wait()
}

func newNamespace(ctx context.Context, client kubernetes.Interface) string {
	return must(client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "client-go-"},
	}, metav1.CreateOptions{})).Name
}

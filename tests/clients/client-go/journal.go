package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

type change string

const (
	added   change = "add"
	updated change = "update"
	deleted change = "delete"
)

// An entry is one change of one object; version is the resource version after it.
type entry struct {
	change  change
	version uint64
}

// A journal keeps the changes of the objects of one resource, per name and in order: what a writer
// did, or what an informer saw.
type journal struct {
	mu      sync.Mutex
	entries map[string][]entry
	arrival []uint64
}

func newJournal() *journal { return &journal{entries: map[string][]entry{}} }

func (j *journal) add(name string, change change, version uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries[name] = append(j.entries[name], entry{change, version})
	j.arrival = append(j.arrival, version)
}

func (j *journal) count(change change) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, entries := range j.entries {
		for _, e := range entries {
			if e.change == change {
				n++
			}
		}
	}
	return n
}

func (j *journal) counts() string {
	return fmt.Sprintf("%d adds, %d updates, %d deletes", j.count(added), j.count(updated), j.count(deleted))
}

// state is what is left after all changes: name to resource version.
func (j *journal) state() map[string]uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	state := map[string]uint64{}
	for name, entries := range j.entries {
		if last := entries[len(entries)-1]; last.change != deleted {
			state[name] = last.version
		}
	}
	return state
}

// missing compares what was seen with what was written, change by change. The resource version of a
// delete is not known to the writer: it only has to be newer than the object.
func (j *journal) missing(seen *journal) (differences []string) {
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(j.entries)) {
		if !slices.EqualFunc(j.entries[name], seen.entries[name], func(want, got entry) bool {
			return want.change == got.change &&
				(want.version == got.version || want.change == deleted && got.version > want.version)
		}) {
			differences = append(differences,
				fmt.Sprintf("%s: wrote %v, saw %v", name, j.entries[name], seen.entries[name]))
		}
	}
	for name := range seen.entries {
		if j.entries[name] == nil {
			differences = append(differences, name+": seen, but never written")
		}
	}
	return differences
}

// impossible lists what no server can have sent: a life that does not begin with an add, goes on after
// a delete, steps back, or shows a version that was never written. Changes may be missing, since a
// relist skips some.
func (j *journal) impossible(seen *journal) (differences []string) {
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for name, entries := range seen.entries {
		alive, last := false, uint64(0)
		for _, e := range entries {
			same := func(w entry) bool { return w.version == e.version }
			written := e.change == deleted || slices.ContainsFunc(j.entries[name], same)
			if alive == (e.change == added) || e.version < last || !written {
				differences = append(differences,
					fmt.Sprintf("%s: wrote %v, saw %v", name, j.entries[name], entries))
				break
			}
			alive, last = e.change != deleted, e.version
		}
	}
	return differences
}

// outOfOrder says where a later change arrived before an earlier one, over all objects.
func (j *journal) outOfOrder(from int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := from + 1; i < len(j.arrival); i++ {
		if j.arrival[i] <= j.arrival[i-1] {
			return fmt.Sprintf("resource version %d arrived after %d", j.arrival[i], j.arrival[i-1])
		}
	}
	return ""
}

func sameState(want, got map[string]uint64) (differences []string) {
	for name, version := range want {
		if got[name] != version {
			differences = append(differences, fmt.Sprintf("%s: at %d, should be at %d", name, got[name], version))
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			differences = append(differences, name+": should be gone")
		}
	}
	slices.Sort(differences)
	return differences
}

func firstOf(lines []string) string {
	if len(lines) > 10 {
		lines = append(lines[:10:10], fmt.Sprintf("... and %d more", len(lines)-10))
	}
	return "\n         " + strings.Join(lines, "\n         ")
}

package main

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// requests counts how informers began: by a LIST, or by a watch that streams the initial objects.
type requests struct{ lists, streamed, watches atomic.Int64 }

func (r *requests) count(config *rest.Config) *rest.Config {
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			query := request.URL.Query()
			switch {
			case query.Get("sendInitialEvents") == "true":
				r.streamed.Add(1)
			case query.Get("watch") != "":
				r.watches.Add(1)
			default:
				r.lists.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
	return counted
}

// unexpected says whether the informers began the way the feature gate asks for, and once: again only
// after a gap. Where streaming was broken, client-go may have listed instead.
func (r *requests) unexpected(informers int, gap, broken bool) []string {
	begun, other := r.lists.Load(), r.streamed.Load()
	if watchList() {
		begun, other = other, begun
	}
	least := int64(informers)
	if gap {
		least *= 2
	}
	if begun < least || begun > least && !gap && !broken || other != 0 && !broken {
		return []string{fmt.Sprintf("%d informers, gap %v", informers, gap)}
	}
	return nil
}

func (r *requests) String() string {
	return fmt.Sprintf("%d lists, %d streamed lists, %d watches",
		r.lists.Load(), r.streamed.Load(), r.watches.Load())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

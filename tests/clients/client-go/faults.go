package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// A fault is JSON in the form of the embedded server. It befalls so many watches of each kind; zero:
// until it is taken back.
type fault struct {
	what  string
	times int
}

// watchers of each kind: a typed, a dynamic and a metadata informer.
const watchers = 3

// In each of these the watches break at event 120 of 237, in the midst of the updates.
var (
	reset      = fault{`{"reset": {"at": {"afterEvents": 120}}}`, watchers}
	truncated  = fault{`{"truncateChunk": {"afterEvents": 120}}`, watchers}
	gone       = fault{`{"watchError": {"afterEvents": 120}}`, watchers}
	withheld   = fault{`{"withholdBookmarks": {"initial": true}}`, watchers}
	tooMany    = fault{`{"status": {"code": 429, "retryAfter": 1}}`, watchers}
	alwaysMany = fault{`{"status": {"code": 429, "retryAfter": 1}}`, 0}
)

var faulty = []scenario{
	{name: "reset", objects: 50, faults: []fault{reset}},
	{name: "truncated chunk", objects: 50, faults: []fault{truncated}},
	{name: "reset, then 429", objects: 50, faults: []fault{reset, tooMany}},
	{name: "410 in the stream", objects: 50, faults: []fault{gone}, gap: true},
	{name: "away too long", objects: 50, faults: []fault{reset, alwaysMany}, compacts: true, gap: true},
	{name: "withheld bookmark", objects: 50, faults: []fault{withheld}, stalls: true},
}

// control scripts faults into the embedded server, for the watches of one namespace.
type control struct {
	server, namespace string
	client            *http.Client
}

func newControl(config *rest.Config, namespace string) control {
	server := strings.TrimSuffix(config.Host, "/")
	return control{server: server, namespace: namespace, client: must(rest.HTTPClientFor(config))}
}

func (c control) script(ctx context.Context, kinds []kind, faults []fault) error {
	for _, f := range faults {
		for _, k := range kinds {
			when := map[string]any{"verb": "watch", "resource": k.String(), "namespace": c.namespace}
			if f.times > 0 {
				when["times"] = f.times
			}
			body := must(json.Marshal(map[string]any{"when": when, "fault": json.RawMessage(f.what)}))
			if _, err := c.call(ctx, "POST", "faults", body); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c control) command(ctx context.Context, method, command string) error {
	_, err := c.call(ctx, method, command, nil)
	return err
}

// unused lists the faults of this namespace that have not happened.
func (c control) unused(ctx context.Context) (unused []string, err error) {
	answer, err := c.call(ctx, "GET", "faults", nil)
	if err != nil {
		return nil, err
	}
	var faults struct {
		Pending []struct {
			When  struct{ Namespace string }
			Fault json.RawMessage
		}
	}
	if err := json.Unmarshal(answer, &faults); err != nil {
		return nil, err
	}
	for _, f := range faults.Pending {
		if f.When.Namespace == c.namespace {
			unused = append(unused, string(f.Fault))
		}
	}
	return unused, nil
}

func (c control) call(ctx context.Context, method, command string, body []byte) ([]byte, error) {
	url := c.server + "/_testing/" + command
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s /_testing/%s: %s", method, command, answer)
	}
	return answer, err
}

package main

import (
	"context"

	"k8s.io/client-go/rest"
)

type fault string

var faulty []scenario

type control struct{}

func newControl(*rest.Config, string) control            { return control{} }
func (control) script(context.Context, []fault) error    { return nil }
func (control) unused(context.Context) ([]string, error) { return nil, nil }

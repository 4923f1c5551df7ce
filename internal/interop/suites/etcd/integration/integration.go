// Package integration makes clients for the tests of etcd's package concurrency.
package integration

import (
	"testing"

	"github.com/wheellock/wheellock/internal/interop/suites/etcd/clientv3"
)

func NewClient(_ testing.TB, cfg clientv3.Config) (*clientv3.Client, error) { return clientv3.New(cfg) }

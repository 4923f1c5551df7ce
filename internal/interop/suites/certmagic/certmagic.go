// Package certmagic has certmagic's FileStorage, locked by contrib/certmagic, for certmagic's tests of it.
package certmagic

import (
	"context"
	"sync"

	"github.com/caddyserver/certmagic"

	wheelcert "github.com/wheellock/wheellock/contrib/certmagic"
	"github.com/wheellock/wheellock/internal/interop/suites/servers"
)

// FileStorage keeps data in files and locks by Redis.
type FileStorage struct {
	Path string

	once   sync.Once
	locked *wheelcert.Storage
}

func (s *FileStorage) storage() *wheelcert.Storage {
	s.once.Do(func() {
		var err error
		if s.locked, err = wheelcert.New(&certmagic.FileStorage{Path: s.Path}, servers.Engine(0), wheelcert.Options{}); err != nil {
			panic(err)
		}
	})
	return s.locked
}

func (s *FileStorage) Store(ctx context.Context, key string, value []byte) error {
	return s.storage().Store(ctx, key, value)
}

func (s *FileStorage) Load(ctx context.Context, key string) ([]byte, error) {
	return s.storage().Load(ctx, key)
}

func (s *FileStorage) Lock(ctx context.Context, name string) error {
	return s.storage().Lock(ctx, name)
}

func (s *FileStorage) Unlock(ctx context.Context, name string) error {
	return s.storage().Unlock(ctx, name)
}

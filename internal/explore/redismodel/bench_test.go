package redismodel

import (
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

const benchMicros = 1_700_000_000_000_000

func BenchmarkAcquire(b *testing.B) {
	s := New(NewInterpreter())
	s.Micros = benchMicros
	keys, args := []string{"stock:7"}, []string{"0", "11111111-1111-1111-1111-111111111111:1", "30000"}
	nothing := s.Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		s.Restore(nothing)
		if answer := s.Eval(scripts.Acquire.Text, keys, args); answer.Int != 1 {
			b.Fatal(answer)
		}
	}
}

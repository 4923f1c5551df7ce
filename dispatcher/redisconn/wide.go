package redisconn

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/scripts"
)

// ProbeWide asks a node of a cluster, by a script that only reads, to look at two keys in hash slots of its own, of which the call declares
// one. It says why the node refuses that; empty: it does not, or nothing can be told now.
func ProbeWide(ctx context.Context, client rueidis.Client, keys [2]string) (refuses string) {
	looks := [2]gate.Command{{Op: gate.GetCount, Entry: &gate.Entry{Name: keys[0]}}, {Op: gate.GetCount, Entry: &gate.Entry{Name: keys[1]}}}
	declared, args := wire.NewWriter(nil, nil).Write(looks[:], wire.Call{Op: gate.GetCount, To: 2, Wide: true}, 0)
	look := client.B().Eval().Script(scripts.GetCount.Text).Numkeys(int64(len(declared))).Key(declared...).Arg(args...).Build()
	if err := wire.Decode(looks[:], client.Do(ctx, look)); err != nil {
		if v := rediserr.Judge(err); !topology.IsRedirect(v.Message) {
			return v.Doubts()
		}
		return ""
	}
	for _, look := range looks {
		if fault := look.Reply.Fault(); fault == scripts.Other {
			return fault.String()
		}
	}
	return ""
}

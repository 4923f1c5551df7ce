package doctor

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
)

// sentinels judges what the sentinels say of the master.
func sentinels(d *deployment) (_ []Finding, err error) {
	name := d.opts.Redis.Sentinel.MasterSet
	if name == "" {
		return fine("none"), nil
	}
	named := map[string]string{} // the master by each sentinel
	var facts map[string]string
	var f findings
	for _, addr := range d.opts.Redis.InitAddress {
		sentinel, unmade := d.dialSentinel(addr)
		if unmade != nil {
			return nil, unmade
		}
		said, unsaid := d.ask(sentinel, "SENTINEL", "MASTER", name).AsStrMap()
		quorum := d.ask(sentinel, "SENTINEL", "CKQUORUM", name).Error()
		sentinel.Close()
		switch {
		case unsaid != nil && strings.HasPrefix(unsaid.Error(), "NO"): // NOPERM, NOAUTH
			err = errors.Join(err, fmt.Errorf("sentinel %s: %w", addr, unsaid))
			continue
		case unsaid != nil && !gone(unsaid):
			f.add(Warning, "sentinel "+addr+": "+unsaid.Error(), "It agrees to no failover of this master.", "have it monitor "+name+", or correct the URL: master_set, or an addr that is no sentinel")
			continue
		case unsaid != nil:
			f.add(Warning, "sentinel "+addr+": "+unsaid.Error(), "One less is left to agree to a failover.", "start it, or name another in the URL")
			continue
		case quorum != nil && strings.HasPrefix(quorum.Error(), "NOQUORUM"):
			f.add(Error, "sentinel "+addr+": "+quorum.Error(), "No failover is possible: if the master ends, nobody takes over.", "start the other sentinels")
		case quorum != nil:
			err = errors.Join(err, fmt.Errorf("%s: CKQUORUM: %w", addr, quorum))
		}
		facts, named[net.JoinHostPort(said["ip"], said["port"])] = said, addr
	}
	if len(named) > 1 {
		f.add(Error, fmt.Sprintf("the sentinels name different masters: %v", named),
			"Engines may take the same lock at two servers: two holders.", "wait for a failover to end; then run SENTINEL RESET "+name+" at those that name the old master")
	}
	if facts != nil {
		f = append(f, d.judgeSentinel(name, facts)...)
	}
	return f, err
}

// judgeSentinel judges what one sentinel knows.
func (d *deployment) judgeSentinel(name string, facts map[string]string) (f findings) {
	count := func(field string) int {
		n, _ := strconv.Atoi(facts[field])
		return n
	}
	all, down := count("num-other-sentinels")+1, time.Duration(count("down-after-milliseconds"))*time.Millisecond
	if all < 3 {
		f.add(Warning, cli.Plural(int64(all), "sentinel is", "sentinels are")+" known", "If one of them ends, no majority is left for a failover.", "run three sentinels or more, each on a machine of its own")
	}
	if count("quorum") == 1 {
		f.add(Note, "the quorum is 1", "One sentinel that is cut off from the master is enough to begin a failover.", fmt.Sprintf("SENTINEL SET %s quorum %d", name, max(2, all/2+1)))
	}
	if count("num-slaves") == 0 {
		f.add(Warning, "the sentinels know no replica", "No failover is possible: if the master ends, nobody takes over.", "connect a replica")
	}
	if strings.Contains(facts["flags"], "down") {
		f.add(Error, "the master's flags are "+facts["flags"], "Locks can be neither taken nor renewed until there is a master again.", "look into the logs of the sentinels")
	}
	if down >= d.lease {
		f.add(Note, fmt.Sprintf("down-after-milliseconds is %v, and the lease %v", down, d.lease), "All holders lose their locks before a failover begins.",
			fmt.Sprintf("SENTINEL SET %s down-after-milliseconds %d", name, max(1000, d.lease.Milliseconds()/3)))
	}
	return f
}

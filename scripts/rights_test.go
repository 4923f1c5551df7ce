package scripts_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

func TestRights(t *testing.T) {
	b := realBox(t)
	probe := func(t *testing.T, how string, rights ...string) string {
		t.Helper()
		user := b.limited(t, append([]string{"&*", "~*", "+@all"}, rights...)...)
		return user.eval(scripts.Rights, nil, "probe", "probe:channel", how)
	}
	for _, how := range []string{"PUBLISH", "SPUBLISH", "BOTH"} {
		t.Run("a user with all has them all: "+how, func(t *testing.T) {
			b.want(probe(t, how), "", "rights")
		})
		for _, command := range scripts.Tried(how) {
			t.Run("without "+command+" it is named, once: "+how, func(t *testing.T) {
				b.want(probe(t, how, "-"+command), command, "rights")
			})
		}
	}
	t.Run("what is not used is not missing", func(t *testing.T) {
		b.want(probe(t, "PUBLISH", "-spublish", "-pubsub|shardnumsub"), "", "rights")
		b.want(probe(t, "SPUBLISH", "-publish", "-pubsub|numsub"), "", "rights")
	})
	t.Run("without several all are named", func(t *testing.T) {
		b.want(probe(t, "PUBLISH", "-hset", "-publish"), "hset publish", "rights")
	})
	t.Run("nothing of the probe is left", func(t *testing.T) {
		redistest.Await(t, "the last probe's key to run out", func() bool { return b.must("DBSIZE") == "0" })
	})
}

// What servers say of a command that they do not have, or that a user may not run.
func TestWordsOfMissingRights(t *testing.T) {
	b := realBox(t)
	for words, want := range map[string]string{
		"ERR Unknown Redis command called from script":                       "?get",
		"@user_script: 1: Unknown Redis command called from Lua script":      "?get",
		"ERR Unknown command called from script":                             "?get",
		"ERR Unknown Redict command called from script":                      "?get",
		"ERR unknown subcommand or wrong number":                             "?get",
		"ERR Unknown PUBSUB subcommand or wrong":                             "?get",
		"The user executing the script can't run this command or subcommand": "get",
		"run this command": "get",
		"NOPERM User limited has no permissions to run the 'get' command": "get",
		"ERR anything else": "",
	} {
		refused := answering(scripts.Rights, "GET", "{ err = "+strconv.Quote(words)+" }")
		b.want(b.eval(refused, nil, "probe", "probe:channel", "BOTH"), want, words, ":")
	}
}

// Every command in a script is one that rights.lua tries, so that Open names it when it is missing.
// invariant: open-names-missing-rights
func TestRightsKnowEveryCommand(t *testing.T) {
	tried := scripts.Tried("BOTH")
	for _, s := range all {
		for _, found := range regexp.MustCompile(`\b(?:p?call\(|ask\(l, )'([A-Z]+)'(?:, '(NUMSUB|SHARDNUMSUB)')?`).FindAllStringSubmatch(s.Text, -1) {
			name := strings.ToLower(found[1])
			if found[2] != "" {
				name += "|" + strings.ToLower(found[2])
			}
			if !slices.Contains(tried, name) {
				t.Errorf("%s uses %s, which rights.lua does not try", s.Name, name)
			}
		}
	}
}

// all are the scripts that the engine loads.
var all = []scripts.Script{
	scripts.Acquire, scripts.AcquireFenced, scripts.Release, scripts.Renew, scripts.Confirm, scripts.Inspect,
	scripts.AcquireInLine, scripts.ReleaseFromLine, scripts.Detach, scripts.Adopt, scripts.CountWaiters,
	scripts.AcquireRead, scripts.AcquireWrite, scripts.AcquireWriteInLine, scripts.ReleaseRead, scripts.ReleaseReadFromLine, scripts.ReleaseWrite, scripts.ReleaseWriteFromLine, scripts.RenewRead, scripts.ConfirmRead, scripts.Downgrade,
	scripts.FairAsk, scripts.FairRelease, scripts.FairLeave,
	scripts.AcquireSimple, scripts.AcquireSimpleInLine, scripts.RenewSimple, scripts.ConfirmSimple, scripts.ReleaseSimple, scripts.ReleaseSimpleFromLine, scripts.AdoptSimple,
	scripts.DetachSimple, scripts.InspectSimple, scripts.Peek,
	scripts.Take, scripts.Give, scripts.AddPermits, scripts.SetPermits, scripts.DrainPermits, scripts.CountDown, scripts.SetCount,
	scripts.DeleteCount, scripts.GetCount, scripts.PermitTake, scripts.PermitRenew, scripts.PermitFree, scripts.PermitAdd, scripts.PermitCount,
	scripts.DeletePermits, scripts.PermitSet, scripts.PermitDelete,
}

package scripts_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Nobody reads or writes beside a writer, nobody writes beside readers, and nobody takes what is another kind of lock.
func TestReadWriteCallsAboutWhatIsTaken(t *testing.T) {
	b := realBox(t)
	taken := strconv.Itoa(-frozenTTL - 2)
	foreign := fault(scripts.Fault(21))
	for name, c := range map[string]struct {
		setup       func(*box)
		read, write string
	}{
		"a writer's":                {standing("mode", "write", "java:1:write", "1"), taken, taken},
		"one's own":                 {standing("mode", "write", "me:1:write", "1"), taken, "1"},
		"a reader's":                {standing("mode", "read", "java:1", "1"), "1", taken},
		"one's own to read":         {standing("mode", "read", "me:1", "1"), "1", taken},
		"a mutex":                   {standing("java:1", "1"), foreign, foreign},
		"one's own mutex":           {standing("me:1", "1", "me:1:write", "1"), foreign, foreign},
		"a writer's without an end": {func(b *box) { b.must("HSET", one, "mode", "write", "java:1:write", "1") }, "-1", "-1"},
	} {
		for _, call := range []struct {
			script scripts.Script
			keys   []string
			args   []any
			want   string
		}{
			{scripts.AcquireRead, readNames, []any{0, "PUBLISH", "me:1", hour, ""}, c.read},
			{scripts.AcquireWriteInLine, unfenced, []any{0, "PUBLISH", "me:1:write", hour, 77}, c.write},
		} {
			b.run(t, call.script.Name+" of what is "+name, func(t *testing.T, b *box) {
				c.setup(b)
				before := b.dump()
				b.want(b.eval(frozen(call.script), call.keys, call.args...), call.want, "the call")
				if after := b.dump(); call.want != "1" && !alike(after, before) {
					t.Errorf("it changed what stands from\n%s\nto\n%s", before, after)
				}
			})
		}
	}
}

// What is another's, or nobody's, is not mine, and stays.
func TestReadWriteCallsAboutWhatIsNotMine(t *testing.T) {
	b := realBox(t)
	for name, setup := range map[string]func(*box){
		"nobody's": func(*box) {}, "a reader's": standing("mode", "read", "java:1", "1"), "a writer's": standing("mode", "write", "java:1:write", "1"),
		"of two readers": standing("mode", "read", "java:1", "1", "java:2", "1"),
	} {
		for _, c := range []struct {
			script scripts.Script
			keys   []string
			args   []any
		}{
			{scripts.ReleaseRead, readNames, []any{"PUBLISH", 0, "me:1", nobody}},
			{scripts.ReleaseWrite, unfenced, []any{"PUBLISH", "me:1:write", nobody}},
			{scripts.RenewRead, holdNames, []any{"me:1", hour}},
			{scripts.ConfirmRead, readNames, []any{"PUBLISH", "me:1", hour, nobody}},
			{scripts.Downgrade, readNames, []any{"PUBLISH", "me:1:write", "me:1", hour, nobody}},
			{scripts.Renew, names, []any{"me:1:write", hour}},
			{scripts.Confirm, unfenced, []any{"PUBLISH", "me:1:write", hour, nobody}},
		} {
			b.run(t, c.script.Name+" of what is "+name, func(t *testing.T, b *box) {
				setup(b)
				before := b.dump()
				b.want(b.eval(c.script, c.keys, c.args...), "-1", "the call")
				if after := b.dump(); !alike(after, before) {
					t.Errorf("it changed what stands from\n%s\nto\n%s", before, after)
				}
			})
		}
	}
}

// Who leaves others behind leaves the lock to them for as long as they live.
func TestReadersWhoLeave(t *testing.T) {
	b := realBox(t)
	holds := func(b *box, millis string, owner string, numbers ...string) {
		for _, n := range numbers {
			b.must("SET", "{"+one+"}:"+owner+":rwlock_timeout:"+n, "1", "PX", millis)
		}
	}
	release := func(b *box, owner string) string {
		return b.eval(scripts.ReleaseRead, []string{one, one, scripts.HoldKey(one, owner)}, "PUBLISH", 0, owner, nobody)
	}
	b.run(t, "the lock ends with the longest of the others", func(t *testing.T, b *box) {
		standing("mode", "read", "me:1", "1", "java:1", "2", "java:2", "1")(b)
		holds(b, "1800000", "me:1", "1")
		holds(b, "300000", "java:1", "1")
		holds(b, "600000", "java:1", "2")
		holds(b, "120000", "java:2", "1")
		b.want(release(b, "me:1"), "0", "release_read")
		b.stands(one, "java:1=2", "java:2=1", "mode=read")
		b.lasts(one, 10*time.Minute)
	})
	for _, longest := range []string{"1", "2", "3"} {
		b.run(t, "whichever hold of a reader that is: "+longest, func(t *testing.T, b *box) {
			standing("mode", "read", "me:1", "1", "java:1", "3")(b)
			holds(b, "300000", "java:1", "1", "2", "3")
			holds(b, "600000", "java:1", longest)
			b.want(release(b, "me:1"), "0", "release_read")
			b.lasts(one, 10*time.Minute)
		})
	}
	b.listen("heard")
	for left, want := range map[string][2]string{"-2": {"", "1"}, "-1": {"", "1"}, "0": {"", "1"}, "1": {"[java:1 1 mode read]", "0"}} {
		b.run(t, "a hold that has "+left+" ms left", func(t *testing.T, b *box) {
			standing("mode", "read", "me:1", "1", "java:1", "1")(b)
			script := answering(wrapped(scripts.ReleaseRead, "", "if name == 'PEXPIRE' then return 'refused' end", ""), "PTTL", left)
			b.want(b.eval(script, readNames, "PUBLISH", 0, "me:1", "heard"), want[1], "release_read")
			b.want(b.thing(one).value, want[0], "the lock")
		})
	}
	b.run(t, "also of a name with a hash tag", func(t *testing.T, b *box) {
		b.must("HSET", two, "mode", "read", "me:1", "1", "java:1", "1")
		b.must("SET", scripts.HoldKey(two, "java:1"), "1", "PX", "600000")
		b.want(b.eval(scripts.ReleaseRead, []string{two, two, scripts.HoldKey(two, "me:1")}, "PUBLISH", 0, "me:1", nobody), "0", "release_read")
		b.stands(two, "java:1=1", "mode=read")
	})
	b.run(t, "a reader whose count is no number is gone, too", func(t *testing.T, b *box) {
		standing("mode", "read", "me:1", "many")(b)
		holds(b, "300000", "me:1", "1")
		b.want(release(b, "me:1"), "0", "release_read")
		b.want(b.must("DBSIZE"), "0", "DBSIZE")
	})
	b.run(t, "of a dead reader too nothing is left", func(t *testing.T, b *box) {
		standing("mode", "read", "me:1", "3", "java:1", "1")(b)
		holds(b, "1800000", "me:1", "1", "2", "3")
		b.want(release(b, "me:1"), "0", "release_read")
		b.want(b.must("DBSIZE"), "0", "DBSIZE")
	})
	b.run(t, "a writer that read goes on to write", func(t *testing.T, b *box) {
		standing("mode", "write", "me:1", "1", "me:1:write", "1")(b)
		holds(b, "300000", "me:1", "1")
		b.want(release(b, "me:1"), "0", "release_read")
		b.stands(one, "me:1:write=1", "mode=write")
		b.lasts(one, half)
		b.want(b.must("DBSIZE"), "1", "DBSIZE")
	})
	b.run(t, "a writer that reads goes on to read", func(t *testing.T, b *box) {
		standing("mode", "write", "me:1", "1", "me:1:write", "1")(b)
		b.want(b.eval(scripts.ReleaseWrite, unfenced, "PUBLISH", "me:1:write", nobody), "0", "release_write")
		b.stands(one, "me:1=1", "mode=read")
	})
}

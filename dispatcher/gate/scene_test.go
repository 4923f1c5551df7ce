package gate

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// A scene is one name of one engine in simulated time, as a text that can be read from top to bottom. Each line is an event, and
// behind the arrow all that follows from it: what is sent to Redis, what callers are told, what is subscribed to.
//
//	a locks owner 7     -> acquire 1 1s
//	answer 1            -> a: granted until 990ms
//
// The watchdog's lease is 1s, HandoffTime 10ms, PollCap 2s, FairWaiterLease 600ms.
type scene struct {
	t      *testing.T
	began  Time
	now    Time
	cfg    *Config
	entry  *Entry
	flight *Command
	asked  string // the channel that was wanted last
	actors map[string]*actor
	out    []string // what followed from this line so far
	seen   tally
}

// actor is one caller, who has one request at a time.
type actor struct {
	s       *scene
	name    string
	waiter  Waiter
	hold    Hold
	gone    bool
	told    bool
	granted bool
	risky   bool
}

func (a *actor) Settle(out Outcome) bool {
	a.s.seen.told(out, !a.gone)
	if a.told {
		a.s.t.Fatalf("%s was answered twice", a.name)
	}
	if a.gone {
		a.s.say("%s: is not there", a.name)
		return false
	}
	a.told, a.granted = true, out.Why == Granted
	text := tellOf(out)
	if out.Why == Granted && a.hold.alive {
		text += " until " + rounded(a.hold.Deadline()-a.s.began)
	}
	if a.waiter.Way == Reentry {
		text += ", re-entered"
	}
	if a.waiter.Way == HandedOn {
		text += ", handed on"
	}
	if a.hold.Token != 0 {
		text += fmt.Sprintf(", token %d", a.hold.Token)
	}
	a.s.say("%s: %s", a.name, text)
	return true
}

func (a *actor) End(why Why) {
	if why != Unlocked { // by the numbers of its permits
		a.s.seen.lost++
	}
	a.s.say("%s ends: %s", a.name, whyNames[why])
}

// Risk is a warning or its end, which come in turn, while it holds. invariant: warned-once
func (a *actor) Risk(why Outcome) {
	if a.risky == (why.Why != Granted) || !a.hold.alive || !a.hold.watch {
		a.s.t.Errorf("%s is told %s, at risk %t, alive %t, watched %t", a.name, tellOf(why), a.risky, a.hold.alive, a.hold.watch)
	}
	if a.risky = !a.risky; a.risky {
		a.s.say("%s at risk: %s", a.name, tellOf(why))
	} else {
		a.s.say("%s is renewed", a.name)
	}
}

func (a *actor) Wanted() { a.s.say("%s: is wanted", a.name) }

var whyNames = [...]string{"granted", "taken", "timed out", "down", "doubtful", "refused", "foreign", "lost", "too long", "unlocked", "closed", "overloaded", "other kind", "twin lives", "deadlock", "too few", "too late", "gave up"}

func faultReply(f scripts.Fault) scripts.Reply { return scripts.Reply(-(1 << 51) - int64(f)) }

// rounded is a time that can be read.
func rounded(d time.Duration) string { return d.Round(time.Millisecond).String() }

// tellOf is an outcome with all that is in it.
func tellOf(out Outcome) string {
	text := whyNames[out.Why]
	if out.Why == TimedOut || out.Why == GaveUp {
		text += ", last " + whyNames[out.Last]
	}
	switch {
	case out.TTL > 0:
		text += " for " + rounded(out.TTL)
	case out.TTL < 0:
		text += " for who knows how long"
	}
	if out.Absent {
		text += ", absent"
	}
	if out.N != 0 {
		text += fmt.Sprintf(" %d", out.N)
	}
	if out.Fault != scripts.None {
		text += fmt.Sprintf(" (fault %d)", out.Fault)
	}
	if out.Passes {
		text += " for now"
	}
	if out.ServerMessage != "" {
		text += fmt.Sprintf(" %q", out.ServerMessage)
	}
	return text
}

// answered is the caller of an Unlock, an Extend, a Force or a Change.
type answered struct {
	s    *scene
	name string
	told bool
	of   *actor // who extends its hold
}

func (a *answered) Settle(out Outcome) bool {
	if a.told {
		a.s.t.Fatalf("%s was answered twice", a.name)
	}
	a.told = true
	text := tellOf(out)
	if a.of != nil && out.Why == Granted {
		text += " until " + rounded(a.of.hold.Deadline()-a.s.began)
	}
	a.s.say("%s ok: %s", a.name, text)
	return true
}

func (s *scene) say(format string, args ...any) { s.out = append(s.out, fmt.Sprintf(format, args...)) }

// playScenes plays scenes by their names.
func playScenes(t *testing.T, kind Kind, scenes map[string]string) {
	for name, text := range scenes {
		t.Run(name, func(t *testing.T) { playScene(t, kind, text) })
	}
}

// playScene plays a scene.
func playScene(t *testing.T, kind Kind, text string) {
	t.Helper()
	cfg := &Config{LeaseTime: time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 2 * time.Second, FairWaiterLease: 600 * time.Millisecond,
		UUID: "u", Waits: wheel.NewSlots[*Waiter](64, func(wheel.Tick) {}), Stats: &Stats{}, Codes: plainCodes{}, Doubts: true}
	s := &scene{t: t, began: time.Hour, now: time.Hour, cfg: cfg, entry: NewEntry("stock", kind, cfg), actors: make(map[string]*actor)}
	var played []string
	right := true
	for line := range strings.Lines(text) {
		event, want, _ := strings.Cut(strings.TrimSpace(line), "->")
		event, want = strings.TrimSpace(event), strings.TrimSpace(want)
		if event == "" || strings.HasPrefix(event, "#") {
			played = append(played, event)
			continue
		}
		s.out = nil
		s.event(strings.Fields(event))
		var fx Effects
		if asked := early(s.entry.Machine, s.now, &fx); asked != nil {
			t.Errorf("after %q: woken before its alarm, it asks for %v", event, asked)
		}
		s.take(&fx)
		got := strings.Join(s.out, "; ")
		if got == want {
			played = append(played, fmt.Sprintf("%-32s -> %s", event, got))
		} else {
			right = false
			played = append(played, fmt.Sprintf("%-32s -> %s\n\t\twant: %s", event, got, want))
		}
		var risky int64
		for _, a := range s.actors {
			if a.risky && a.hold.alive {
				risky++
			}
		}
		if got := cfg.Stats.AtRisk.Load(); got != risky {
			t.Errorf("after %q: the Stats say that %d are at risk; there are %d", event, got, risky)
		}
		if differ := s.seen.compare(cfg.Stats, kind < FairKind); differ != "" {
			t.Errorf("after %q: %s", event, differ)
		}
	}
	if !right {
		t.Errorf("it went otherwise:\n%s", strings.Join(played, "\n"))
	}
}

func (s *scene) step(event func(m Machine, fx *Effects)) {
	var fx Effects
	event(s.entry.Machine, &fx)
	s.take(&fx)
}

// take takes what the machine asked for.
func (s *scene) take(fx *Effects) {
	for _, commands := range fx.Commands {
		for _, c := range commands {
			if s.flight != nil {
				s.t.Errorf("%v is sent while %v is in flight", c.Op, s.flight.Op)
			}
			s.seen.sent(&c)
			c.Sent = s.now
			s.flight = &c
			s.say("%s", sentAs(&c))
		}
	}
	for _, c := range fx.Subscriptions {
		if c.Entry != s.entry {
			s.t.Errorf("%s is wanted for another entry", c.Channel)
		}
		verb := "unsubscribe"
		if c.On {
			verb, s.asked = "subscribe", c.Channel
		}
		s.say("%s %s", verb, c.Channel)
	}
}

// sentAs is a command with all that is in it.
func sentAs(c *Command) string {
	text := fmt.Sprintf("%v %d", c.Op, c.ID)
	if c.Args.text != "" {
		text += " " + c.Args.text
	}
	if c.LeaseTime != 0 {
		text += " " + rounded(c.LeaseTime)
	}
	next, n := c.Args.number, c.Args.n
	if c.Op == Take || c.Op == PermitTake {
		next = oneIf(c.Args.Take().Resent)
	}
	switch {
	case c.Op == ReleaseSimple || c.Op == ReleaseSimpleFromLine:
		text += " turn " + rounded(c.Args.Release().Turn)
	case next != 0:
		text += fmt.Sprintf(" next %d", next)
	}
	if n != 0 {
		text += fmt.Sprintf(" n %d", n)
	}
	if _, is := c.takes(); is && c.Args.Take().Collects {
		text += " collects"
	}
	return text
}

// back brings the command in flight back.
func (s *scene) back(result Result, reply scripts.Reply, words string) {
	c := s.flight
	if c == nil {
		s.say("nothing is in flight")
		return
	}
	s.flight = nil
	c.Result, c.Reply, c.ServerMessage = result, reply, words
	if result == UnderReplicated {
		c.Result = Answered
		c.Unreplicated()
	}
	s.seen.back(c)
	s.step(func(m Machine, fx *Effects) { m.Answer(s.now, c, fx) })
}

// reply reads an answer of a script.
func (s *scene) reply(words []string) scripts.Reply {
	switch words[0] {
	case "held": // for so long
		return scripts.Reply(-s.duration(words[1]).Milliseconds() - 2)
	case "stands", "joins", "leads", "joins-first", "is-first", "joins-as-first", "is-first-and-listens", "collects":
		// the same, and a claim or a place stands; it is new; it is the first and is to listen; of permits: it is the first; and is to listen; and collects
		k := map[string]int64{"stands": 1, "joins": 2, "leads": 3, "joins-first": 4, "is-first": 5, "joins-as-first": 6, "is-first-and-listens": 7, "collects": 13}[words[0]]
		return scripts.Reply(-k<<43 - s.duration(words[1]).Milliseconds() - 2)
	case "given": // to another engine, and so many heard of it
		return scripts.Passed + 1 + scripts.Reply(s.number(words[1]))
	case "waiting": // so many subscribers, so many places in line
		return scripts.Reply(s.number(words[1]) + s.number(words[2])<<32)
	case "fault":
		return faultReply(scripts.Fault(s.number(words[1])))
	case "late":
		return -(1 << 52) - 1
	case "not-mine":
		return scripts.NotMine
	case "passed":
		return scripts.Passed
	case "absent":
		return 0
	case "nobody-told":
		return scripts.PublishDenied
	}
	return scripts.Reply(s.number(words[0]))
}

func (s *scene) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *scene) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *scene) numbers(texts []string) (all []int64) {
	for _, text := range texts {
		all = append(all, s.number(text))
	}
	return all
}

// told has messages come to the inbox, before the loop looks.
func (s *scene) told(said ...int64) {
	news := News{Channel: scripts.Inbox(channels[s.entry.Kind]("stock"), "u")}
	for _, said := range said {
		news.Add(said)
	}
	s.step(func(m Machine, fx *Effects) { m.Message(s.now, news, fx) })
}

// after lets time go by and wakes the machine on time.
func (s *scene) after(d time.Duration) {
	began, end := s.now, s.now+d
	for s.entry.Machine.NextAlarm() <= end {
		s.now = max(s.now, s.entry.Machine.NextAlarm())
		before := len(s.out)
		s.step(func(m Machine, fx *Effects) { m.Wake(s.now, fx) })
		if len(s.out) > before && s.now < end {
			s.out[before] = fmt.Sprintf("(%s) %s", rounded(s.now-began), s.out[before])
		}
		if s.entry.Machine.NextAlarm() <= s.now {
			s.t.Fatal("an alarm is still due after Wake")
		}
	}
	s.now = end
}

// event makes one line happen.
func (s *scene) event(words []string) {
	switch rest := words[1:]; words[0] {
	case "answer":
		s.back(Answered, s.reply(rest), "")
	case "alone":
		s.back(UnderReplicated, s.reply(rest), "")
	case "lost":
		s.cfg.Epoch++
		s.back(Unknown, 0, "")
	case "not-sent":
		s.back(NotSent, 0, "")
	case "again":
		s.back(Again, 0, strings.Join(rest, " "))
	case "denied":
		s.back(Denied, 0, strings.Join(rest, " "))
	case "after":
		s.after(s.duration(rest[0]))
	case "refuse": // so many questions, by an owner whose lease has so much left
		for range s.number(rest[0]) {
			for s.flight == nil {
				s.after(s.entry.Machine.NextAlarm() - s.now)
			}
			s.back(Answered, s.reply([]string{"held", rest[1]}), "")
		}
		s.out = nil
	case "in-vain": // so many messages, each of which leads to a question that is answered so
		for range s.number(rest[0]) {
			s.step(func(m Machine, fx *Effects) { m.Message(s.now, oneMessage, fx) })
			s.back(Answered, s.reply(rest[1:]), "")
		}
		s.out = nil
	case "stall": // nobody is woken meanwhile
		s.now += s.duration(rest[0])
	case "alarm": // how long it takes until it is woken
		if at := s.entry.Machine.NextAlarm(); at == Never {
			s.say("none")
		} else {
			s.say("%s", rounded(at-s.now))
		}
	case "leaves-by": // what is in flight
		if by := s.flight.LeaveBy; by == 0 {
			s.say("any time")
		} else {
			s.say("%s", rounded(by-s.began))
		}
	case "handoffs":
		s.say("%d", s.cfg.Stats.Handoffs.Load())
	case "callers": // so many come
		for n := range s.number(rest[0]) {
			s.lock(fmt.Sprint("caller", n), rest[1:])
		}
	case "codes": // can give locks, for leases are longer than what is given
		s.cfg.LeaseTime, s.cfg.Doubts = 3*time.Second, false
	case "given": // to this owner number, or by this claim of a fair lock, as a message says
		code := 1000 + s.number(rest[0])
		if s.entry.Kind != FairKind {
			code = -code
		}
		s.told(code)
	case "told": // these numbers, in the inbox
		s.told(s.numbers(rest)...)
	case "redisson": // is woken by a message
		var news News
		news.Add(1)
		s.step(func(m Machine, fx *Effects) { m.Message(s.now, news, fx) })
	case "says": // somebody, these numbers, before the loop looks
		var news News
		for _, said := range rest {
			news.Add(s.number(said))
		}
		s.step(func(m Machine, fx *Effects) { m.Message(s.now, news, fx) })
	case "link-breaks": // with nothing on its way
		s.cfg.Epoch++
	case "message": // that so many can be had; how many messages
		news := News{N: 1, Most: 1}
		if len(rest) > 0 {
			news.Most = s.number(rest[0])
		}
		if len(rest) > 1 {
			news.N = int32(s.number(rest[1]))
		}
		s.step(func(m Machine, fx *Effects) { m.Message(s.now, news, fx) })
	case "subscribed":
		s.step(func(m Machine, fx *Effects) { m.Subscribed(s.now, s.asked, strings.Join(rest, " "), fx) })
	case "link-up":
		s.step(func(m Machine, fx *Effects) { m.LinkUp(s.now, fx) })
	case "link-down":
		fast := func(w *Waiter) bool { return w.Fast }
		s.step(func(m Machine, fx *Effects) { m.Dismiss(s.now, Outcome{Why: Doubtful}, fast, fx) })
	case "suspect":
		s.step(func(m Machine, fx *Effects) { m.Suspect(s.now, fx) })
	case "drain":
		s.step(func(m Machine, fx *Effects) { m.Dismiss(s.now, Outcome{Why: Closed}, everyone, fx) })
	case "close":
		s.step(func(m Machine, fx *Effects) { m.Close(s.now, fx) })
	case "end":
		s.step(func(m Machine, fx *Effects) { m.Wake(Centuries, fx) })
	case "max-hold":
		s.cfg.MaxHold = s.duration(rest[0])
	case "handoff-time":
		s.cfg.HandoffTime = s.duration(rest[0])
	case "poll-cap":
		s.cfg.PollCap = s.duration(rest[0])
	case "rtt":
		s.cfg.RTT = s.duration(rest[0])
	case "idle":
		s.say("%v", s.entry.Machine.Idle())
	case "waiting":
		s.say("%d", s.entry.Machine.Waiting())
	case "oldest":
		if at := s.entry.Machine.Oldest(); at == Never {
			s.say("none")
		} else {
			s.say("%s", rounded(at-s.began))
		}
	case "force": // owner, number
		ack := &answered{s: s, name: "force"}
		s.step(func(m Machine, fx *Effects) { m.(*Lock).Force(s.now, rest[0], uint64(s.number(rest[1])), ack, fx) })
	default:
		s.act(words[0], words[1:])
	}
}

// act is an event that a caller brings.
func (s *scene) act(name string, words []string) {
	a := s.actors[name]
	switch words[0] {
	case "unlocks", "returns", "detaches", "drops", "extends", "until", "listens":
		if !a.granted {
			s.t.Errorf("%s %s what it was not granted", name, words[0])
			return
		}
	}
	switch rest := words[1:]; words[0] {
	case "locks":
		s.lock(name, rest)
	case "unlocks":
		s.step(func(m Machine, fx *Effects) { m.Unlock(s.now, &a.hold, &answered{s: s, name: name}, fx) })
	case "detaches": // for so long
		s.step(func(m Machine, fx *Effects) {
			m.(*Lock).Detach(s.now, &a.hold, s.duration(rest[0]), &answered{s: s, name: name}, fx)
		})
	case "listens": // for whether somebody else waits
		s.step(func(m Machine, fx *Effects) { m.(*Lock).Wanted(s.now, &a.hold, fx) })
	case "drops": // unlocks and does not wait for the answer
		s.step(func(m Machine, fx *Effects) { m.Unlock(s.now, &a.hold, nil, fx) })
	case "returns": // what it was granted in vain
		s.step(func(m Machine, fx *Effects) {
			if counted, is := m.(*Sequencer); is && counted.Kind == SemaphoreKind {
				c := ChangeCount(Give, a.waiter.N)
				c.Ack = InVain
				counted.Change(s.now, c, fx)
				return
			}
			m.Unlock(s.now, &a.hold, InVain, fx)
		})
	case "extends":
		s.step(func(m Machine, fx *Effects) {
			m.Extend(s.now, &a.hold, s.duration(rest[0]), &answered{s: s, name: name, of: a}, fx)
		})
	case "goes", "waits-no-longer":
		a.gone = words[0] == "goes"
		s.step(func(m Machine, fx *Effects) { m.EndWait(s.now, &a.waiter, GaveUp, fx) })
	case "leaves": // the machine does not hear of it yet
		a.gone = true
	case "times-out":
		s.step(func(m Machine, fx *Effects) { m.EndWait(s.now, &a.waiter, TimedOut, fx) })
	case "until": // when its hold ends
		s.say("%s", rounded(a.hold.Deadline()-s.began))
	case "count":
		s.say("%d", a.hold.Count())
	case "changes":
		s.change(name, rest)
	default:
		s.t.Fatalf("%s %s?", name, words[0])
	}
}

func (s *scene) lock(name string, words []string) {
	a := &actor{s: s, name: name}
	a.hold.By, a.hold.Entry = a, s.entry
	a.waiter = Waiter{By: a, Hold: &a.hold, LeaseTime: s.cfg.LeaseTime, Watch: true, N: 1, Entry: s.entry}
	for i := 0; i < len(words); i++ {
		switch word := words[i]; word {
		case "try":
			a.waiter.Try = true
			continue
		case "write":
			a.waiter.Write = true
			continue
		case "fast":
			a.waiter.Fast = true
			continue
		case "owner":
			a.waiter.Owner = uint64(s.number(words[i+1]))
		case "lease":
			a.waiter.LeaseTime, a.waiter.Watch = s.duration(words[i+1]), false
		case "watch":
			a.waiter.LeaseTime = s.duration(words[i+1])
		case "least":
			a.waiter.Least = s.duration(words[i+1])
		case "adopts":
			a.waiter.Adopts, a.waiter.Try = &words[i+1], true
		case "n":
			a.waiter.N = s.number(words[i+1])
		case "of":
			a.waiter.Limit = s.number(words[i+1])
		default:
			s.t.Fatalf("locks %s?", word)
		}
		i++
	}
	s.actors[name] = a
	s.step(func(m Machine, fx *Effects) { m.Ask(s.now, &a.waiter, fx) })
}

func (s *scene) change(name string, words []string) {
	var c Change
	for op := range Operations {
		if strings.ReplaceAll(Op(op).String(), " ", "-") == words[0] {
			c = ChangeCount(Op(op), s.number(words[1]))
		}
	}
	if c.Op == PermitFree { // by their numbers
		args := PermitFreeArgs{}
		for _, number := range words[1:] {
			n := s.number(number)
			c.Numbers = append(c.Numbers, uint64(n))
			args.IDs += scripts.PermitIDs(fmt.Sprintf("id-%013d", n))
		}
		c.Args = args.Args()
	}
	c.Ack = &answered{s: s, name: name}
	s.step(func(m Machine, fx *Effects) { m.(*Sequencer).Change(s.now, c, fx) })
}

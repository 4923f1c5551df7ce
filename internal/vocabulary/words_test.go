package vocabulary

// A retired word is not used for a thing of this project any more.
type retired struct {
	word    string
	instead string
	in      places
}

// places are where a word is refused.
type places int

const (
	identifiers places = 1 << iota // as a whole part of a declared identifier or of a file's name
	documents                      // as a whole word in a Markdown file
	ofProduct                      // as identifiers, but only in the product without its tests and todo
	everywhere  = identifiers | documents
)

// words are refused in singular and plural.
var words = []retired{
	{"adrift", "unrouted", everywhere},
	{"astray", "redirected", everywhere},
	{"bell", "alarm", everywhere},
	{"bounce", "answer with NotSent", ofProduct},
	{"breed", "kind traits", everywhere},
	{"buried", "expired", everywhere},
	{"calm", "quiet period, recovery", everywhere},
	{"cargo", "class of command", everywhere},
	{"census", "oldest hold query", everywhere},
	{"courtesy", "yield before a turn", everywhere},
	{"crowd", "contest, rivals", everywhere},
	{"deafen", "unsubscribe", everywhere},
	{"deafened", "unsubscribed", everywhere},
	{"duties", "pending work", everywhere},
	{"ear", "subscriber, subscription", everywhere},
	{"errand", "operation, task", everywhere},
	{"exorcise", "release an orphan", everywhere},
	{"floor", "layer", documents},
	{"ghost", "orphan", everywhere},
	{"given", "the noun", ofProduct},
	{"grip", "lease of readers or of a writer", everywhere},
	{"growth", "longer lease of a re-entry", identifiers},
	{"haunt", "track an orphan", everywhere},
	{"hear", "subscribe, receive", ofProduct},
	{"heard", "received, subscribed, unread", ofProduct},
	{"heir", "successor", everywhere},
	{"house", "project", documents},
	{"hush", "unsubscribe", everywhere},
	{"hushed", "unsubscribed", everywhere},
	{"kin", "owner's hold count", everywhere},
	{"lane", "connection, sender, stream", everywhere},
	{"ledger", "sequencer, tally", everywhere},
	{"letter", "event", identifiers},
	{"loose", "unassigned", identifiers},
	{"mute", "publish denied, silent", everywhere},
	{"nowhere", "unassigned", identifiers},
	{"owe", "expect", ofProduct},
	{"owed", "pending, expected", identifiers},
	{"paper", "document", everywhere},
	{"parcel", "chunk, operation", everywhere},
	{"presence", "owner's holds", identifiers},
	{"prolong", "extend, renew", ofProduct},
	{"room", "package, capacity", documents},
	{"rung", "due, stepped", identifiers},
	{"stint", "streak", everywhere},
	{"tell", "notify, report, log", ofProduct},
	{"told", "notified, reported, logged", ofProduct},
	{"tune", "subscribe", ofProduct},
	{"twin", "alias", everywhere},
	{"ware", "resource, workload", everywhere},
	{"weather", "update of health, network faults", everywhere},
}

// An exception allows a word in one directory, or in one document.
type exception struct {
	where, word string
	reason      string
}

var exceptions = []exception{
	{"bench", "growth", "BenchmarkGrowth measures how a cost grows; its results are recorded under that name"},
	{"futures", "owed", "a wake-up that a waiter must consume"},
	{"internal/trial/chaos", "growth", "the memory that a client may gain in an outage"},
	{"internal/redismodel", "letter", "a letter of a pattern or a format"},
	{"dispatcher/gate", "growth", "a re-entry that needs a longer lease"},
	{"scripts", "letter", "a letter of a name whose hash slot is computed"},
}

// shared are type names that several product packages use for their own thing of that name. Other shared names stand in the
// glossary of ARCHITECTURE.md.
var shared = map[string]string{
	"Config":    "the settings of the package",
	"Kind":      "engine: the kind of a lock, as text; dispatcher/gate: the kind of its machine",
	"Options":   "what users set: of an engine, of an election",
	"Semaphore": "engine: the semaphore as users see it; dispatcher/gate: its state machine",
	"Server":    "dispatcher/redisconn: what is known of a server; engine/enginetest: an in-memory server",
	"Stats":     "the counters of the package",
	"Task":      "dispatcher/redisconn: what a connection is to do; futures: what a Runner runs",
}

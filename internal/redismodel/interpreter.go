package redismodel

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Interpreter runs scripts, one at a time. It keeps what it has compiled, so many Servers share one.
type Interpreter struct {
	mu      sync.Mutex // guards the rest
	state   *lua.LState
	globals *lua.LTable
	redis   *lua.LTable
	version version // of the server for which redis was made

	scripts map[string]*script
	quick   map[address]*script // the same by where their text is: the hash of 5 KB takes a microsecond

	server *Server  // whose script runs
	words  []string // of the command that a script calls

	expressions map[string]*regexp.Regexp // by the pattern that a script uses
}

// script is a compiled one, or why it could not be compiled.
type script struct {
	function *lua.LFunction
	digest   string
	bad      string
}

// address is where a text is. It keeps the text, so no other can come to be there.
type address struct {
	first  *byte
	length int
}

const quickMost = 256 // texts of which the address is kept: a caller may make a new one for each call

// NewInterpreter makes one that knows no script.
func NewInterpreter() *Interpreter {
	in := &Interpreter{
		state: lua.NewState(lua.Options{
			SkipOpenLibs: true, RegistrySize: 4096, RegistryMaxSize: 1 << 20, RegistryGrowStep: 4096,
		}),
		scripts: make(map[string]*script), quick: make(map[address]*script), expressions: make(map[string]*regexp.Regexp),
	}
	in.openLibrary()
	return in
}

// compiled is the script of a text.
func (in *Interpreter) compiled(text string) *script {
	where := address{unsafe.StringData(text), len(text)}
	if sc := in.quick[where]; sc != nil {
		return sc
	}
	sc := in.scripts[text]
	if sc == nil {
		sc = in.compile(text)
		in.scripts[text] = sc
	}
	if len(in.quick) < quickMost {
		in.quick[where] = sc
	}
	return sc
}

func (in *Interpreter) compile(text string) *script {
	digest := sha1.Sum([]byte(text))
	sc := &script{digest: hex.EncodeToString(digest[:])}
	chunk, err := parse.Parse(strings.NewReader(text), "user_script")
	if err != nil {
		sc.bad = "ERR Error compiling script (new function): " + oneLine(err.Error())
		return sc
	}
	proto, err := lua.Compile(chunk, "user_script")
	if err != nil {
		sc.bad = "ERR Error compiling script (new function): " + oneLine(err.Error())
		return sc
	}
	withoutArg(proto)
	sc.function = in.state.NewFunctionFromProto(proto)
	return sc
}

// withoutArg spares a function of any number of arguments the table arg, which Lua 5.0 had instead of "...": it costs 2 KB a call.
func withoutArg(proto *lua.FunctionProto) {
	proto.IsVarArg &^= lua.VarArgNeedsArg
	for _, inner := range proto.FunctionPrototypes {
		withoutArg(inner)
	}
}

// eval runs a script for a server.
func (in *Interpreter) eval(s *Server, text string, keys, args []string) Value {
	in.mu.Lock()
	defer in.mu.Unlock()
	sc := in.compiled(text)
	if sc.bad != "" {
		return failure(sc.bad)
	}
	if v := s.release(); in.version != *v {
		in.version = *v
		in.tellVersion(v)
	}
	in.globals.RawSetString("KEYS", in.list(keys))
	in.globals.RawSetString("ARGV", in.list(args))
	in.server = s
	in.state.Push(sc.function)
	if err := in.state.PCall(0, 1, nil); err != nil {
		return in.ended(sc, err)
	}
	answer := in.fromLua(in.state.Get(-1))
	in.state.SetTop(0)
	return answer
}

// ended is the answer of a script that ended with an error.
func (in *Interpreter) ended(sc *script, err error) Value {
	raised, is := err.(*lua.ApiError)
	if !is {
		return failure("ERR " + oneLine(err.Error()))
	}
	words, where := "", ""
	switch object := raised.Object.(type) {
	case *lua.LTable:
		words = lua.LVAsString(object.RawGetString("err"))
		where = lua.LVAsString(object.RawGetString("line"))
	default:
		words = "ERR " + lua.LVAsString(object)
		if object == nil { // Go's own panic, as of a script that calls itself for ever
			words = "ERR " + raised.Error()
		}
		_, rest, _ := strings.Cut(words, "user_script:")
		where, _, _ = strings.Cut(rest, ":")
	}
	words = oneLine(words)
	if !in.server.since(7, 0) {
		return failure("ERR Error running script (call to f_" + sc.digest + "): @user_script:" + where + ": " + words)
	}
	return failure(words + " script: " + sc.digest + ", on @user_script:" + where + ".")
}

// oneLine is a text that may be an error answer.
func oneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.TrimRight(text, "\r\n"))
}

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

// Interpreter runs scripts, one at a time. Many Servers may share one. What is compiled serves all Interpreters of the process.
type Interpreter struct {
	mu      sync.Mutex // guards the rest
	state   *lua.LState
	globals *lua.LTable
	formats lua.LGFunction // gopher-lua's string.format

	scripts map[string]*script
	quick   map[address]*script // the same by where their text is: the hash of 5 KB takes a microsecond

	server *Server  // whose script runs
	words  []string // of the command that a script calls

	expressions map[string]*regexp.Regexp // by the pattern that a script uses
}

// script is a text as an Interpreter runs it.
type script struct {
	*source
	function *lua.LFunction // nil: it could not be compiled
}

// source is the text of a script: what Redis calls it, and what it is compiled to.
type source struct {
	digest  string
	compile func() (proto *lua.FunctionProto, bad string) // once; bad says why it cannot be compiled
}

var (
	sourcesMu sync.Mutex
	sources   = make(map[string]*source) // by their texts: all that the process has seen
)

// sourceOf finds a source, or makes it.
func sourceOf(text string) *source {
	sourcesMu.Lock()
	defer sourcesMu.Unlock()
	s := sources[text]
	if s == nil {
		digest := sha1.Sum([]byte(text))
		s = &source{hex.EncodeToString(digest[:]), sync.OnceValues(func() (*lua.FunctionProto, string) { return compile(text) })}
		sources[text] = s
	}
	return s
}

// Digest is the SHA-1 of a script, in hexadecimal digits.
func Digest(script string) string { return sourceOf(script).digest }

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
		sc = &script{source: sourceOf(text)}
		if proto, _ := sc.compile(); proto != nil {
			sc.function = in.state.NewFunctionFromProto(proto)
		}
		in.scripts[text] = sc
	}
	if len(in.quick) < quickMost {
		in.quick[where] = sc
	}
	return sc
}

func compile(text string) (proto *lua.FunctionProto, bad string) {
	chunk, err := parse.Parse(strings.NewReader(text), "user_script")
	if err == nil {
		proto, err = lua.Compile(chunk, "user_script")
	}
	if err != nil {
		return nil, "ERR Error compiling script (new function): " + oneLine(err.Error())
	}
	withoutArg(proto)
	return proto, ""
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
	if _, bad := sc.compile(); bad != "" {
		return failure(bad)
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
	return failure(words + " script: " + sc.digest + ", on @user_script:" + where + ".")
}

// oneLine is a text that may be an error answer.
func oneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.TrimRight(text, "\r\n"))
}

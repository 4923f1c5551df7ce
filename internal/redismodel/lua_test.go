package redismodel

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// snippets are what scripts do with Lua and with the answers of commands, in so far as gopher-lua and C could differ.
var snippets = []string{
	// what a client gets
	`return {1.9, -1.9, true, false, 'x', '', {ok = 'fine'}, {err = 'ERR bad'}, {1, {2}}, 3, nil, 4}`,
	`return 1.9`, `return -1.9`, `return true`, `return false`, `return nil`, `return`, ``, `return {}`, `return {ok = 'fine'}`, `return {err = 'ERR bad'}`,
	`return {err = 'plain'}`, `return 2^53`, `return -2^53`, `return 1e300`, `return -1e300`, `return function() end`, `return {ok = 5}`, `return {1, x = 2}`,
	`return 'a\0b'`, `return {err = 'two\r\nlines'}`,
	// what a script gets
	`return type(redis.call('GET', 'x'))`, `return #redis.call('HMGET', 'x', 'a', 'b')`, `return redis.call('SET', 'x', 1).ok`, `return redis.pcall('SET', 'x')`,
	`return redis.pcall('NOSUCH')`, `return redis.pcall()`, `return redis.pcall({})`, `return redis.pcall('GET', true)`, `return redis.pcall('GET', nil)`,
	`return redis.call('HSET', 'y', 'a', 1.5, 'b', 2^53, 'c', -0.1, 'd', 1/3)`, `return redis.call('HGETALL', 'y')`, `return {redis.call('TYPE', 'y')}`,
	`return redis.call('GET', 'y')`, `return redis.call('NOSUCH')`, `return redis.call()`, `return redis.call('GET')`, `local x = redis.call('GET', 'y') return 1`,
	`return {KEYS[1] or 'none', ARGV[1], #ARGV, #KEYS}`,
	// numbers and texts
	`return {tostring(tonumber('10')), tostring(tonumber('1e3')), tostring(tonumber(' 7 ')), tostring(tonumber('0x10')), tostring(tonumber('1_0')), tostring(tonumber(''))}`,
	`return {tostring(tonumber('x')), tostring(tonumber('1x')), tostring(tonumber('.5')), tostring(tonumber('5.')), tostring(tonumber('-')), tostring(tonumber('+5')), tostring(tonumber('7\0x'))}`,
	`return {tostring(tonumber('1e400')), tostring(tonumber('-1e400')), tostring(tonumber('inf')), tostring(tonumber('nan') ~= nil), tostring(tonumber('9e+12') == 9e12)}`,
	`return {tostring(tonumber(nil)), tostring(tonumber(true)), tostring(tonumber({}))}`,
	`return {string.format('%.0f', 2^53), string.format('%.0f', -2^53), string.format('%.0f', 1e15 + 0.5), string.format('%.0f', 2.5), string.format('%.0f', -0.4)}`,
	`return {string.format('%.0f', '12'), string.format('%.0f', 2^63), string.format('%.0f', 1e22), string.format('%.0f', 1/0), string.format('%.0f', -1/0)}`,
	`return {string.format('%.17g', 0.1), string.format('%.17g', 1700000000123456), string.format('%.1f', 7 + 0.5), string.format('%.3f', 1/3), string.format('%d', 42), string.format('%%')}`,
	`return {string.format('%s %s %.0f %.0f', 'a', '', 2^53, 1e15 + 0.5), string.format('%s', string.rep('a', 200))}`,
	`return {tostring(1), tostring(1.5), tostring(-3), tostring(true), tostring(nil), tostring('x'), 1 .. '', 12345 .. '', 1.5 .. ''}`,
	`return {'5' + 1, '0x10' + 0, ' 7 ' * 1, 10 / 4 * 100, 7 % 3, -7 % 3, 2 ^ 10, '10' / '4' * 10}`, `return tostring(2^53) .. tostring(1e14) .. tostring(123456789012345) .. tostring(0.1 + 0.2) .. tostring(-1e-9)`, `return 'x' + 1`, `return {} + 1`, `return nil .. 'x'`, `return 1 < 'x'`, `return nil < 1`,
	`return {math.floor(1.9), math.floor(-1.1), math.ceil(1.1), math.max(1, 3, 2), math.min(3, 1), math.abs(-4)}`, `return math.max()`, `return math.floor('x')`, `return math.max(1, {})`,
	// patterns
	`return {string.match('5:-1', '^(%d+):(%-?%d+)$')}`, `return {string.match('5:x', '^(%d+):(%-?%d+)$') or 'none'}`, `return {string.match('a:b:c', '^(.*):')}`,
	`return {string.match('-17', '^%-?%d+$'), string.match('1.5', '^%-?%d+$') or 'none', string.match('owner:12', '%d+$')}`,
	`local all = {} for a, b in string.gmatch('2x3,1x2,y', '(%d+)x(%d+)') do all[#all + 1] = a .. '*' .. b end return all`,
	`return {string.find('abc', 'b', 1, true), string.find('a.c', '.', 1, true)}`, `return {string.find('abc', '(b)(c)')}`, `return {string.gsub('aXbX', 'X', '-')}`,
	`return {string.sub('abcdef', 2, 4), string.sub('abc', -2), string.sub('abc', 5), string.sub('abc', 2, -2), string.sub('abc', 0), string.sub('abc', 10, 20)}`,
	`return {string.char(0, 255, 65), string.byte('A'), #'a\0b', string.rep('x', 3), string.upper('ab'), string.reverse('abc')}`,
	`return {select('#', string.match('a', 'b')), string.find('abc', ''), string.find('abc', '', 10), string.find('abc', 'c', -1), string.find('aXa', '%u'), string.find('a', 'a', 5)}`,
	`return {string.match('key = value', '^(%w+)%s*=%s*(%w+)$'), string.match('aaa', 'a-'), string.match('aaab', '^a-b')}`,
	`return {string.match('2024-01-02', '(%d%d%d%d)-(%d%d)'), string.match('a-b', '[a%-]+'), string.match('x^', '[%^x]+')}`,
	`return {string.match('0x1F', '%x+', 3), string.match('a.b', '%.'), string.match('tab\there', '%c'), string.match('Ab1_', '[%a%d]+')}`,
	`return {string.match('aXb', '%U+'), string.match('  x', '^%s*(.-)%s*$'), string.match('', '.*'), string.match('abc', '[^a]+'), string.match('a-z', '[a-]+'), string.match('x', 'xy?')}`,
	`local all = {} for w in string.gmatch('one two', '%a*') do all[#all + 1] = w end return all`,
	`return string.match('a', '[a')`, `return string.match('a', '(a')`, `return string.match('a', 'a)')`,
	`return string.rep('x', 3):match('x+')`, `return ('abc'):find('b')`,
	// tables
	`local t = {1, 2, 3} t[#t + 1] = 4 return {#t, unpack(t)}`, `return {unpack({1, 2, 3}, 2)}`, `return select('#', unpack({}))`, `return {table.concat({1, 2, 'x'}, ','), table.concat({})}`,
	`return table.concat({1, {}, 2})`, `local t = {3, 1, 2} table.sort(t) return t`, `return type(table.unpack)`, `local n = 0 for i, v in ipairs({1, 2, nil, 4}) do n = n + 1 end return n`,
	`local function f(...) local a, b = ... return select('#', ...), a, b end return {f(1, nil, 3)}`, `return {(function(...) return ... end)(1, 2)}`,
	// what a script may not do
	`x = 1`, `return x`, `return type(_G.x)`, `error('x')`, `return pcall(error, 'x')`, `return (pcall(redis.call, 'GET', 'y'))`,
	`local ok, e = pcall(redis.call, 'GET', 'y') return type(e) == 'table' and e.err or e`, `this is no Lua`, `return (`, `local function f() return f() + 1 end return f()`,
	`return redis.call('HSET', 'y', unpack({}))`, `local t = {} for i = 1, 5000 do t[i] = 'm' .. i end return redis.call('RPUSH', 'z', unpack(t))`,
}

// Scripts get from commands, from Lua and from Redis's own functions what they get in redis-server, and so do their callers.
func TestLuaIsAsInRedis(t *testing.T) {
	const begin = 1_700_000_000_000_000
	r := startRival(t, begin)
	s := New(NewInterpreter())
	s.Micros = begin
	for _, snippet := range snippets {
		ours := s.Eval(snippet, nil, []string{"arg"})
		theirs := r.wire.pipe([]string{"EVAL", snippet, "0", "arg"})[0]
		said, other := comparable([]string{"EVAL"}, ours), comparable([]string{"EVAL"}, theirs)
		if strings.Contains(snippet, "'HGETALL'") {
			said, other = said[:6], other[:6] // of the digits of a third there are as many as versions
		}
		if said != other {
			t.Errorf("%s: %s answered\n%v, the server\n%v", r.name, snippet, ours, theirs)
		}
	}
}

// matching is everything that a pattern finds in a text, or the error.
const matching = `local text, pattern = ARGV[1], ARGV[2]
local found = {'match', string.match(text, pattern)}
found[#found + 1] = 'find'
for _, part in ipairs({string.find(text, pattern, 2)}) do found[#found + 1] = part end
if string.sub(pattern, 1, 1) == '^' then return found end
for part in string.gmatch(text, pattern) do found[#found + 1] = part end
return found`

// Random patterns of the sort that scripts use find in random texts what they find in Lua, or are refused.
func TestPatternsAreAsInLua(t *testing.T) {
	const n, begin = 5000, 1_700_000_000_000_000
	r := startRival(t, begin)
	s := New(NewInterpreter())
	g := generator{Rand: rand.New(rand.NewPCG(*seedFlag, 0))}
	word := func(most int, letters ...string) (word string) {
		for range g.IntN(most + 1) {
			word += g.one(letters...)
		}
		return word
	}
	var questions [][]string
	var ours []Value
	for range n {
		text := word(8, "a", "b", "1", "-", ":", "(", " ", "\x00", "%", "]", "X")
		pattern := word(7, "a", "b", "1", ".", "%d", "%a", "%-", "(", ")", "*", "+", "-", "?", "^", "$", "[ab]", "[^a]", "[a-c%d]", "[%W:]", "%W", "%s")
		if strings.Contains(pattern, "()") {
			continue
		}
		questions = append(questions, []string{"EVAL", matching, "0", text, pattern})
		ours = append(ours, s.Eval(matching, nil, []string{text, pattern}))
	}
	wrong := 0
	for i, theirs := range r.wire.pipe(questions...) {
		said, other := comparable(questions[i], ours[i]), comparable(questions[i], theirs)
		if ours[i].Kind != Err && said != other {
			t.Fatalf("%s, seed %d: %q in %q: found\n%v, the server\n%v", r.name, *seedFlag, questions[i][4], questions[i][3], ours[i], theirs)
		}
		if ours[i].Kind == Err {
			wrong++
		}
	}
	t.Logf("%d patterns, %d of them wrong", n, wrong)
}

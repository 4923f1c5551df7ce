package doctor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// askTime is how long one answer is waited for.
const askTime = 3 * time.Second

// node is one server that has data. One goroutine at a time uses it.
//
// A check asks by text, number and config. If one of them is not answered, err says why, and what the check finds does not count.
type node struct {
	*deployment
	addr    string
	client  rueidis.Client
	replica bool
	unfit   bool // rights are missing

	err    error
	facts  map[string]string // of INFO; nil: not asked yet, or in vain
	seen   []sample          // see samples
	wall   time.Duration     // our wall clock at the first, since 1970
	unseen error             // why there are none
}

// ask sends one command.
func (d *deployment) ask(client rueidis.Client, args ...string) rueidis.RedisResult {
	ctx, stop := context.WithTimeout(d.ctx, askTime)
	defer stop()
	return client.Do(ctx, client.B().Arbitrary(args...).Build())
}

// do sends one command to the server.
func (n *node) do(args ...string) rueidis.RedisResult { return n.ask(n.client, args...) }

// gone reports whether an error is that of a server that does not answer.
func gone(err error) bool {
	_, said := rediserr.Said(err)
	return err != nil && !said
}

// failed notes why a question was not answered.
func (n *node) failed(question string, err error) {
	if err != nil && n.err == nil {
		n.err = errors.New(question + ": " + rediserr.Text(err))
	}
}

// info returns what INFO says, or nothing.
func (n *node) info() map[string]string {
	if n.facts == nil {
		text, err := n.do("INFO").ToString()
		if n.failed("INFO", err); err == nil {
			n.facts = fieldsOf(text)
		}
	}
	return n.facts
}

// fieldsOf reads lines "name:value".
func fieldsOf(text string) map[string]string { return resp.InfoFields(unmarked(text)) }

// linesOf are the lines of a text.
func linesOf(text string) iter.Seq[string] { return strings.Lines(unmarked(text)) }

// unmarked is a text without the mark that RESP3 puts before some texts.
func unmarked(text string) string { return strings.TrimPrefix(text, "txt:") }

// text returns a field of INFO.
func (n *node) text(field string) string {
	value, has := n.info()[field]
	if !has {
		n.failed("INFO", errors.New("it has no "+field))
	}
	return value
}

// number returns a field of INFO that is a number.
func (n *node) number(field string) int64 { return n.read(field, n.text(field)) }

// config returns a parameter.
func (n *node) config(name string) string {
	values, err := n.do("CONFIG", "GET", name).AsStrMap()
	value, has := values[name]
	if err == nil && !has {
		err = errors.New("there is no such parameter")
	}
	n.failed("CONFIG GET "+name, err)
	return value
}

// configured returns a parameter that is a number.
func (n *node) configured(name string) int64 { return n.read(name, n.config(name)) }

func (n *node) read(name, text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	n.failed(name, err)
	return value
}

// set is the command that sets a parameter.
func set(parameter string, value any) string {
	return fmt.Sprintf("CONFIG SET %s %v", parameter, value)
}

package dispatcher

import (
	"hash/maphash"
	"iter"
	"math/bits"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// names is the entries of all live names: a hash table with buckets that are chained through the entries. It grows by one
// bucket with each entry that finds it full (linear hashing; Litwin, VLDB 1980), so that a name takes two pointers
// however many there are, and no turn of the loop pays for the growth of all. A map takes 30 to 60 bytes for each:
// it holds the header of the name, which the entry has too, and is half empty after it has grown.
type names struct {
	seed    maphash.Seed
	pages   []*page // of buckets
	buckets int     // in use
	live    int
}

// page is as many buckets as there are at least.
type page [512]*gate.Entry

func newNames() names {
	return names{seed: maphash.MakeSeed(), pages: []*page{new(page)}, buckets: len(page{})}
}

// find returns the entry of a name; nil: it is not live.
func (n *names) find(name string) *gate.Entry {
	e := *n.bucket(name)
	for e != nil && e.Name != name {
		e = e.Next
	}
	return e
}

// add takes the entry of a name that is not live yet.
func (n *names) add(e *gate.Entry) {
	if n.live == n.buckets {
		n.grow()
	}
	n.live++
	n.link(e)
}

// remove forgets an entry.
func (n *names) remove(e *gate.Entry) {
	at := n.bucket(e.Name)
	for *at != e {
		at = &(*at).Next
	}
	*at, e.Next = e.Next, nil
	n.live--
}

// all yields every entry. The body must not add or remove any.
func (n *names) all() iter.Seq[*gate.Entry] {
	return func(yield func(*gate.Entry) bool) {
		for _, p := range n.pages {
			for _, e := range p {
				for ; e != nil; e = e.Next {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
}

// bucket is the head of the chain of a name: by as many bits of its hash as number all buckets, or by one less while
// that bucket is still to come.
func (n *names) bucket(name string) **gate.Entry {
	mask := 1<<bits.Len(uint(n.buckets-1)) - 1
	i := int(maphash.String(n.seed, name)) & mask
	if i >= n.buckets {
		i &= mask >> 1
	}
	return n.at(i)
}

func (n *names) at(i int) **gate.Entry { return &n.pages[i/len(page{})][i%len(page{})] }

func (n *names) link(e *gate.Entry) {
	head := n.bucket(e.Name)
	e.Next, *head = *head, e
}

// grow adds a bucket and splits the one that has the hashes with the same last bits but for the first.
func (n *names) grow() {
	added := n.buckets
	if added%len(page{}) == 0 {
		n.pages = append(n.pages, new(page))
	}
	n.buckets++
	full := n.at(added - 1<<(bits.Len(uint(added))-1))
	e := *full
	*full = nil
	for e != nil {
		next := e.Next
		n.link(e)
		e = next
	}
}

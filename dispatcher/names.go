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
func (ns *names) find(name string) *gate.Entry {
	c := *ns.bucket(name)
	for c != nil && c.Name != name {
		c = c.Next
	}
	return c
}

// add takes the entry of a name that is not live yet.
func (ns *names) add(c *gate.Entry) {
	if ns.live == ns.buckets {
		ns.grow()
	}
	ns.live++
	ns.link(c)
}

// remove forgets an entry.
func (ns *names) remove(c *gate.Entry) {
	at := ns.bucket(c.Name)
	for *at != c {
		at = &(*at).Next
	}
	*at, c.Next = c.Next, nil
	ns.live--
}

// all yields every entry. The body must not add or remove any.
func (ns *names) all() iter.Seq[*gate.Entry] {
	return func(yield func(*gate.Entry) bool) {
		for _, p := range ns.pages {
			for _, c := range p {
				for ; c != nil; c = c.Next {
					if !yield(c) {
						return
					}
				}
			}
		}
	}
}

// bucket is the head of the chain of a name: by as many bits of its hash as number all buckets, or by one less while
// that bucket is still to come.
func (ns *names) bucket(name string) **gate.Entry {
	mask := 1<<bits.Len(uint(ns.buckets-1)) - 1
	i := int(maphash.String(ns.seed, name)) & mask
	if i >= ns.buckets {
		i &= mask >> 1
	}
	return ns.at(i)
}

func (ns *names) at(i int) **gate.Entry { return &ns.pages[i/len(page{})][i%len(page{})] }

func (ns *names) link(c *gate.Entry) {
	head := ns.bucket(c.Name)
	c.Next, *head = *head, c
}

// grow adds a bucket and splits the one that has the hashes with the same last bits but for the first.
func (ns *names) grow() {
	added := ns.buckets
	if added%len(page{}) == 0 {
		ns.pages = append(ns.pages, new(page))
	}
	ns.buckets++
	full := ns.at(added - 1<<(bits.Len(uint(added))-1))
	c := *full
	*full = nil
	for c != nil {
		next := c.Next
		ns.link(c)
		c = next
	}
}

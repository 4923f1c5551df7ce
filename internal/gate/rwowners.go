package gate

// ownerHolds is the living holds of one Owner.
type ownerHolds struct{ reads, writes holdCount }

func (p *ownerHolds) of(write bool) *holdCount {
	if write {
		return &p.writes
	}
	return &p.reads
}

// rwOwners are the Owners with living holds.
type rwOwners map[uint64]*ownerHolds

// holdCount is that of an Owner's next hold.
func (all *rwOwners) holdCount(owner uint64, write bool) *holdCount {
	if owner == 0 {
		return nil
	}
	p := (*all)[owner]
	if p == nil {
		p = &ownerHolds{reads: holdCount{owner: owner}, writes: holdCount{owner: owner}}
		if *all == nil {
			*all = make(rwOwners)
		}
		(*all)[owner] = p
	}
	return p.of(write)
}

// left forgets an Owner that holds nothing any more.
func (all rwOwners) left(owner uint64) {
	if p := all[owner]; p != nil && p.reads.count() == 0 && p.writes.count() == 0 {
		delete(all, owner)
	}
}

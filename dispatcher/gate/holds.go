package gate

import "container/heap"

// holds are the living holds of a lease. Most leases have one. Readers may be thousands, each with an end of its own, so what comes after the first
// is a heap (invariant: cost-of-an-event).
type holds struct {
	first *Hold     // ends first by its own time; nil: there is none
	more  *holdHeap // the others; nil: there were none
}

func (hs *holds) add(h *Hold) {
	switch first := hs.first; {
	case first == nil:
		hs.first = h
		return
	case h.until < first.until:
		hs.first, h = h, first
	}
	if hs.more == nil {
		hs.more = new(holdHeap)
	}
	heap.Push(hs.more, h)
}

func (hs *holds) remove(h *Hold) {
	switch {
	case h != hs.first:
		heap.Remove(hs.more, int(h.index))
	case hs.more == nil || len(*hs.more) == 0:
		hs.first = nil
	default:
		hs.first = heap.Pop(hs.more).(*Hold)
	}
}

// all yields all holds. None may be added or removed meanwhile.
func (hs *holds) all(yield func(*Hold) bool) {
	if hs.first == nil || !yield(hs.first) || hs.more == nil {
		return
	}
	for _, h := range *hs.more {
		if !yield(h) {
			return
		}
	}
}

// holdHeap implements heap.Interface.
type holdHeap []*Hold

func (hp holdHeap) Len() int           { return len(hp) }
func (hp holdHeap) Less(i, j int) bool { return hp[i].until < hp[j].until }

func (hp holdHeap) Swap(i, j int) {
	hp[i], hp[j] = hp[j], hp[i]
	hp[i].index, hp[j].index = int32(i), int32(j)
}

func (hp *holdHeap) Push(h any) {
	h.(*Hold).index = int32(len(*hp))
	*hp = append(*hp, h.(*Hold))
}

func (hp *holdHeap) Pop() any {
	last := len(*hp) - 1
	h := (*hp)[last]
	(*hp)[last] = nil
	*hp = (*hp)[:last]
	return h
}

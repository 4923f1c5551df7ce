package engine

type second struct{}

func (second) do() { now() }

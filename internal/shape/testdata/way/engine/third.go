package engine

type third struct{}

func (third) Write([]byte) (int, error) { return now(), nil }

package engine

func now() int { return 1 }

package engine

import "io"

type step interface{ do() }

var _ = []step{first{}, second{}}

var _ io.Writer = third{}

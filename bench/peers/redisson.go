package main

import (
	"slices"
	"time"
)

// redissonEntry is the Java original, driven by the jar of bench/redisson.
func redissonEntry(jar string) entry {
	return entry{
		name: "redisson",
		settings: "Redisson's defaults, a thread per caller; a warm-up of 10 s for the JIT; but for the hand-over its times are of whole pairs, " +
			"its threads keep their names, its semaphores have one permit, and exclusion is not checked",
		lacks:    "no order of waiters but with RFairLock, no fencing but with RFencedLock, nobody is told of a lost lock",
		title:    "Redisson (Java)",
		commands: []string{"del", "subscribe", "unsubscribe", "ping", "hello"},
		measure:  redisson(redissonWarmUp, "-jar", jar).measure,
		takes: func(w work) bool {
			return w.Kind != quorum && w.Kind != limit && (w.Load == handover || w.Load == blocking && (w.Hot == 1 || w.apart()) && w.Inside == 0 && w.Processes <= redissonProcesses && !w.together())
		},
	}
}

const (
	// redissonWarmUp is before a turn, for the JIT. After 10,000 pairs of a hot name its hand-overs do not get faster any more;
	// hand-overs alone, which are few a second, still did after 16 s.
	redissonWarmUp = 10 * time.Second
	// redissonProcesses is how many JVMs start on two processors before drivenPatience ends.
	redissonProcesses = 8
)

// redisson is Redisson in JVMs with these arguments.
func redisson(warmUp time.Duration, java ...string) driven {
	return driven{warmUp: warmUp, command: func(s *server) []string {
		command := slices.Concat([]string{"java"}, java, []string{"--redis", s.url})
		if s.cluster {
			command = append(command, "--cluster")
		}
		return command
	}}
}

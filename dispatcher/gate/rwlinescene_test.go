package gate

import "testing"

// B wants to write. Its question in line got no answer, and was granted when it was asked again. C of the same Owner reads, and B unlocks.
const orphanOfAWriterReads = `
			codes
			b locks write owner 7            -> acquire write 1 3s
			answer held 2s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 3s n 1002
			lost
			after 20ms                       -> (17ms) acquire write in line 2 3s n 1002
			answer 1                         -> b: granted until 2.987s
			c locks owner 7                  -> c: granted until 2.987s, re-entered
			b unlocks                        -> downgrade 2 3s`

// A and B read, each under a tenure of its own.
const laterReaderInLine = `
			codes
			a locks                          -> acquire read 1 3s
			answer 1                         -> a: granted until 2.97s
			after 10ms
			b locks                          -> confirm read 1 3s
			answer 0                         -> b: granted until 2.98s`

// B wants to write. It has been refused and stands in line.
const writerPlaced = `
			codes
			b locks write                    -> acquire write 1 3s
			answer held 2s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 3s n 1002
			answer joins 2s                  -> `

// B wants to read. It has been refused and stands in line.
const readerPlaced = `
			codes
			b locks                          -> acquire read 1 3s
			answer held 2s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire read 2 3s n 1002
			answer joins 2s                  -> `

// A writer that is given the lock.
// invariant: gift-counts-from-its-acquire
func TestRWGiftScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"a writer is given the lock by its code": writerPlaced + `
			given 2                          -> b: granted until 2.97s
			after 50ms                       -> renew write 2 3s
			answer 1
			b until                          -> 3.02s
			b unlocks                        -> release write 2
			answer given 0                   -> b ok: granted`,
		"a lock that was given over an earlier link is asked for": writerPlaced + `
			link-breaks
			given 2                          -> acquire write in line 2 3s n 1002`,
		"readers behind a writer that was given the lock ask for it": writerPlaced + `
			c locks
			given 2                          -> b: granted until 2.97s
			b unlocks                        -> release write 2
			answer given 0                   -> b ok: granted; acquire read 3 3s n 1003
			answer joins 2s
			told 0                           -> acquire read 3 3s n 1003
			answer 1                         -> c: granted until 2.97s`,
		"a writer that was given the lock reads, too": `
			codes
			b locks write owner 7            -> acquire write 1 3s
			answer held 2s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 3s n 1002
			answer joins 2s
			given 2                          -> b: granted until 2.97s
			c locks owner 7                  -> c: granted until 2.97s, re-entered
			d locks
			b unlocks                        -> downgrade 2 3s
			answer 0                         -> b ok: granted; d: granted until 2.97s, handed on`,
		"a lock that was given to a place that is being given up": writerPlaced + `
			c locks
			b waits-no-longer                -> b: gave up, last taken for 2s; release write from line 2 n 1002
			given 2
			answer 1                         -> acquire read 3 3s n 1003
			answer 1                         -> c: granted until 2.97s`,
		"a lock that was given and has vanished is asked for under a fresh owner id": writerPlaced + `
			given 2                          -> b: granted until 2.97s
			after 50ms                       -> renew write 2 3s
			answer not-mine                  -> b ends: lost; release write from line 2 n 1002
			c locks write
			answer not-mine                  -> acquire write in line 3 3s n 1003`,
		"a lock that is freed while others stand in line is left to the first": writerPlaced + `
			given 2                          -> b: granted until 2.97s
			c locks
			b unlocks                        -> release write 2
			answer waiting 0 2               -> b ok: granted
			after 17ms
			after 1ms                        -> acquire read 3 3s n 1003`,
		"a writer that has left the lock to others in line asks for it in line": `
			codes
			b locks write                    -> acquire write 1 3s
			answer 1                         -> b: granted until 2.97s
			b unlocks                        -> release write 1
			answer waiting 0 1               -> b ok: granted; subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed
			c locks write
			after 17ms
			after 1ms                        -> acquire write in line 2 3s n 1002`,
		"a message on the channel has a lock that was given looked for": writerPlaced + `
			given 2                          -> b: granted until 2.97s
			message                          -> renew write 2 3s`,
	})
}

// Readers and writers in line, who are told when to ask.
// invariant: released-owner-is-dead
func TestRWLineScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"readers are given nothing": readerPlaced + `
			given 2                          -> acquire read 2 3s n 1002
			answer stands 2s`,
		"readers in line ask by themselves as seldom as others": readerPlaced + `
			after 1566ms
			after 2ms                        -> (1ms) acquire read 2 3s n 1002`,
		"the first in line listens to the channel while an owner is no engine": readerPlaced + `
			told 0                           -> acquire read 2 3s n 1002
			answer leads 2s                  -> subscribe redisson_rwlock:{stock}
			subscribed                       -> acquire read 2 3s n 1002
			answer leads 2s
			message                          -> acquire read 2 3s n 1002
			answer stands 2s
			after 1500ms                     -> (1s) unsubscribe redisson_rwlock:{stock}`,
		"who has begun to read ceases to listen, whoever waits": readerPlaced + `
			told 0                           -> acquire read 2 3s n 1002
			answer leads 2s                  -> subscribe redisson_rwlock:{stock}
			subscribed                       -> acquire read 2 3s n 1002
			answer 1                         -> b: granted until 2.97s
			after 10ms
			c locks                          -> confirm read 2 3s
			after 1s                         -> (990ms) unsubscribe redisson_rwlock:{stock}`,
		"an Owner that reads passes those in line": `
			codes
			a locks owner 7                  -> acquire read 1 3s
			answer 1                         -> a: granted until 2.97s
			after 10ms
			b locks                          -> confirm read 1 3s
			answer 1                         -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> confirm read 1 3s
			answer waiting 0 1
			c locks owner 7 lease 5s
			told 0                           -> confirm read 1 5s
			answer 0                         -> c: granted until 2.98s; b: granted until 2.98s`,
		"a confirmation that finds a writer in line, after a pause for others in vain": laterReaderInLine + `
			after 10ms
			c locks                          -> confirm read 1 3s
			answer 1                         -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> confirm read 1 3s
			answer 2
			after 140ms                      -> confirm read 1 3s
			answer waiting 1 1
			after 140ms                      -> confirm read 1 3s
			answer 1                         -> c: granted until 3.27s`,
		"a reader at the head gives up, and a writer follows": readerPlaced + `
			c locks write
			b waits-no-longer                -> b: gave up, last taken for 2s; release read from line 2 n 1002
			answer not-mine                  -> acquire write in line 3 3s n 1003
			answer joins 2s
			given 3                          -> c: granted until 2.97s`,
		"a writer at the head gives up, and another follows at its place": writerPlaced + `
			c locks write
			b waits-no-longer                -> b: gave up, last taken for 2s
			given 2                          -> c: granted until 2.97s`,
		"a writer that is granted when it has given up, and a reader follows": writerPlaced + `
			c locks
			told 0                           -> acquire write in line 2 3s n 1002
			b waits-no-longer                -> b: gave up, last taken for 2s
			answer 1                         -> release write 2
			answer given 0                   -> acquire read 3 3s n 1003`,
		"who asks once beside a place is told at once": writerPlaced + `
			c locks try                      -> c: taken for 2s
			d locks try write                -> d: taken for 2s`,
		"who asks once stands nowhere, and who waits beside it joins the line": readerPlaced + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release read from line 2 n 1002
			answer not-mine
			c locks try write                -> acquire write 3 3s
			d locks
			answer held 2s                   -> c: taken for 2s; acquire read 4 3s n 1004`,
		"an owner that is freed by force while it stands in line: a writer": writerPlaced + `
			force u:2:write 2                -> release write from line 2 u:2:write n 1002
			given 2
			answer 1                         -> force ok: granted; acquire write in line 3 3s n 1003`,
		"an owner that is freed by force while it stands in line: readers": readerPlaced + `
			force u:2 2                      -> release read from line 2 u:2 n 1002
			answer not-mine                  -> force ok: lost; acquire read 3 3s n 1003`,
		"a reader of that number that is freed by force leaves the writer's place as it is": writerPlaced + `
			force u:2 2                      -> release read 2 u:2
			answer not-mine                  -> force ok: lost; acquire write in line 2 3s n 1002
			answer stands 2s
			given 2                          -> b: granted until 2.97s`,
	})
}

// Acquires in line that got no answer. Their owner ids may have a place then, or get one later.
// invariant: released-owner-is-dead, gift-counts-from-its-acquire
func TestRWLineOrphanScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"a writer's place of which a question got no answer is given up at once, and once more at its time": writerPlaced + `
			told 0                           -> acquire write in line 2 3s n 1002
			lost
			after 20ms                       -> (17ms) acquire write in line 2 3s n 1002
			answer stands 2s                 -> release write from line 2 n 1002; subscribe redisson_rwlock:{stock}
			given 2
			answer not-mine                  -> acquire write in line 3 3s n 1003
			answer joins 2s
			given 3                          -> b: granted until 2.99s
			b unlocks                        -> release write 3
			answer 0                         -> b ok: granted
			after 3s                         -> (1s) unsubscribe redisson_rwlock:{stock}; unsubscribe redisson_rwlock:{stock}:wheellock:u; (2.23s) release write from line 2 n 1002
			answer not-mine
			idle                             -> true`,
		"a reader's place of which a question got no answer is given up at once, and once more at its time": readerPlaced + `
			told 0                           -> acquire read 2 3s n 1002
			lost
			after 20ms                       -> (17ms) acquire read 2 3s n 1002
			answer stands 2s                 -> release read from line 2 n 1002; subscribe redisson_rwlock:{stock}
			answer not-mine                  -> acquire read 3 3s n 1003
			answer 1                         -> b: granted until 2.99s
			b unlocks                        -> release read 3
			answer 0                         -> b ok: granted
			after 3s                         -> (1s) unsubscribe redisson_rwlock:{stock}; unsubscribe redisson_rwlock:{stock}:wheellock:u; (2.23s) release read from line 2 n 1002
			answer not-mine
			idle                             -> true`,
		"a first question in line that got no answer": `
			codes
			b locks write                    -> acquire write 1 3s
			answer held 2s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 3s n 1002
			lost
			stall 2.25s
			link-up                          -> acquire write in line 2 3s n 1002
			answer joins 2s
			given 2                          -> acquire write in line 2 3s n 1002`,
		"readers that are granted after a question without an answer": readerPlaced + `
			told 0                           -> acquire read 2 3s n 1002
			lost
			after 20ms                       -> (17ms) acquire read 2 3s n 1002
			answer 1                         -> b: granted until 2.987s
			b unlocks                        -> release read from line 2 n 1002
			answer 0                         -> b ok: granted
			after 3s                         -> (1s) unsubscribe redisson_rwlock:{stock}:wheellock:u; (2.23s) release read from line 2 n 1002
			answer not-mine
			idle                             -> true`,
		"a writer whose question got no answer and that reads now is released as a writer at its time": orphanOfAWriterReads + `
			answer 0                         -> b ok: granted
			d locks                          -> d: granted until 2.99s, handed on
			after 1s                         -> renew read 2 3s; unsubscribe redisson_rwlock:{stock}:wheellock:u
			answer 1
			after 1s                         -> renew read 2 3s
			answer 1
			after 230ms                      -> release write from line 2 n 1002
			answer not-mine
			c until                          -> 4.99s
			c unlocks                        -> c ok: granted
			d unlocks                        -> release read 2
			answer 0                         -> d ok: granted
			idle                             -> true`,
		"also after the last read has ended": orphanOfAWriterReads + `
			answer 0                         -> b ok: granted
			c unlocks                        -> release read 2
			answer 0                         -> c ok: granted
			after 10s                        -> (1s) unsubscribe redisson_rwlock:{stock}:wheellock:u; (2.23s) release write from line 2 n 1002
			answer not-mine
			idle                             -> true`,
		"a downgrade that got no answer, and is released": orphanOfAWriterReads + `
			lost
			c unlocks                        -> release write from line 2 n 1002
			answer not-mine                  -> release read from line 2 n 1002
			answer 0                         -> b ok: granted; c ok: granted
			after 10s                        -> (1s) unsubscribe redisson_rwlock:{stock}:wheellock:u; (2.23s) release write from line 2 n 1002
			answer not-mine
			idle                             -> true`,
		"a place is released for as long as it may stand": readerPlaced + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release read from line 2 n 1002
			stall 70.199s
			not-sent
			after 20ms                       -> (0s) unsubscribe redisson_rwlock:{stock}:wheellock:u; (17ms) release read from line 2 n 1002
			not-sent
			idle                             -> true`,
	})
}

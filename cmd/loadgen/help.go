package main

// help is what -h prints. Every flag works with one dash and with two.
const help = `loadgen puts a lock under contention and measures what that costs.

  loadgen [flags]
  loadgen compare A.json B.json    sets two results side by side; -h explains it

Alone it starts a redis-server from the PATH for itself (or, where there is
none, an emulation of Redis in its own process, and says so), loads it for ten
seconds and leaves nothing behind. It never loads a server that its command line
does not name.

Where
  --redis URL       the Redis to load: redis://user:password@host:port/db,
                    rediss:// (TLS), unix:///path, Sentinel and Cluster as in
                    engine.ParseURL. Left out: a private one. No variable, such
                    as WHEELLOCK_REDIS, names a server to load. All keys of a
                    run have loadgen:<random>: in their names, and no other key
                    is ever touched
  --master URL      quorum: one more server beside --redis; give it twice at
                    least. Without --redis there are three private ones
  --user USER       log in as this user, in place of the URL's
  --password-file FILE
                    its first line is the password, in place of the URL's.
                    This file and those below are read again at each handshake.
                    Without it and without one in the URL, the environment's
                    WHEELLOCK_PASSWORD or REDISCLI_AUTH is. That of sentinels is
                    WHEELLOCK_SENTINEL_PASSWORD. None is ever shown
  --cacert FILE     rediss: the authorities to trust, in PEM, in place of the
                    system's
  --cert FILE       rediss: a certificate of our own, in PEM
  --key FILE        rediss: its private key, in PEM

Who asks, and when
  --workers N       callers in all, 64: in a closed loop each asks again when it
                    is done; in an open loop, how many calls may be under way at
                    once
  --workers A..B    they grow from A to B while it is measured
  --steps N         in so many steps, each of the same time and by the same
                    factor more; 5. The table has the figures of each, the page
                    shows the best one first
  --async           callers are futures with callbacks (LockAsync), not
                    goroutines
  --rate N          open loop: N calls a second in all are due, at even
                    distances, however slow the lock is; latency counts from
                    when a call was due. A run that could not make 98 % of them
                    says so first: asked 200,000/s, got 147,855/s: saturated
  --rate A..B       N grows from A to B, in --steps: up to where is it reached?
  --think TIME      closed loop: pause of a caller after each unlock, 0
  --processes N     child processes that contend for the same names, 1

What they ask for
  --kind KIND       mutex, fair, fenced, spin, simple: locks that exclude all
                    others
                    rw: a read-write lock
                    multi: two mutexes at once, of names that stand side by side
                    quorum: a lock on the majority of several servers
                    semaphore, permits: one permit, of a semaphore without or
                    with holders
                    limit: the same with holders, without being set up
                    latch: a caller who finds it open shuts it, and opens it
                    after --hold; the others wait for that. Usual: mutex
  --readers S       rw: the share of calls that read, from 0 to 1; 0.9
  --permits N       semaphore, permits, limit: how many each name has, 4
  --names N         different names, 16
  --zipf S          popularity: the i-th name is wanted in proportion to 1/i^S;
                    0: all alike
  --hold TIME       how long a lock is held, 0
  --lease TIME      a fixed lease, 10ms or more; left out: renewed by the
                    watchdog
  --wait TIME       how long a caller waits before it gives up; 0: until it has
                    the lock
  --handoff TIME    how long a lock goes from caller to caller inside a process
                    before Redis is asked again, 10ms; "off": each lock is taken
                    from Redis

How long, and how it is recorded
  --duration TIME   what is measured, 10s
  --warmup TIME     what is run before and left out, 1s
  --repeat N        the same N times, with the median and the spread of each
                    figure, 1
  --seed N          of the choice of names; printed, so that a run can be
                    repeated
  --check N         exclusion is checked in memory in every critical section,
                    and in one of N also by a counter in Redis: 100, with
                    --processes 10 at most; 0: none
  --json FILE       write everything there too, "-" for standard output (the
                    table then goes to standard error)
  --html FILE       write a page for a browser there: throughput and latency
                    over time, percentiles, the proof, the settings. It needs no
                    other file and no network
  --title TEXT      what the page is called, and the results are in the JSON and
                    in a comparison
  --fail EXPRESSION exit code 4 if it holds, such as 'acquire.p99>5ms' or
                    'throughput<20k'; any number of them, each of the median of
                    all runs. The figures: throughput, throughput.readers,
                    throughput.writers, reached (what --rate asks for),
                    acquire.p50 (of acquire, readers, writers, handover, across,
                    start_lag: mean, max, any percentile), fairness,
                    fairness.processes, attempts, handoffs, redis.cpu,
                    redis.commands, redis.scripts, across.commands,
                    across.scripts, across.messages, client.cpu, client.allocs,
                    client.bytes, client.goroutines, timeouts, failed,
                    overstayed, late, not_started. A figure that was not
                    measured fails too

Numbers may end in k or M. Ctrl-C ends a run early and still prints the table; a
second one does not wait for the last calls.

What is proved, whatever the load
  in each case      nobody is left waiting for a name that is free, no key stays
                    behind
  exclusive kinds   one is inside, of each name; of multi in both of its names
  fenced            besides, tokens grow from owner to owner
  fair              besides, nobody is served who asked 10 s or more after
                    another who still waits ("out of turn": by how much less
                    than that; callers race to the queue)
  rw                a writer is alone; readers are not alone, but without
                    writers
  semaphore,permits,
  limit             no more are inside than there are permits, and in the end
                    all are back
  latch             nobody passes before it was opened; it is shut by one at a
                    time

What the table says
  acquire           from the call (open loop: from when it was due) to the lock
  readers, writers  rw: acquire and pairs of those who read and who write, apart
  hand-over         from one caller's unlock to the lock in the hands of one who
                    waited for it
  start lag         open loop: from when a call was due to the call. What it
                    shows, this machine was late with, and is in acquire too
  cross-process     hand-over to a waiter in another process. What Redis did in
                    all, also for locks that went another way, divided by the
                    number of these, is a line of its own: the calls of scripts,
                    the messages published, and all commands, those inside
                    scripts too
  fairness          Jain's index: 1 when all got as many locks, 1/n when one got
                    everything; of processes also the smallest share of all
                    locks and the largest
  attempts          how often Redis was asked for a lock, for each one granted
  handoffs          locks that passed from caller to caller without Redis

Exit code: 0 all is well; 1 a proof failed: two callers were in one critical
section, say, or a waiter was forgotten; 2 the flags are wrong; 3 the load could
not run to its end; 4 a --fail holds; 5 a --rate N was not reached (a --rate
A..B is there to find that out, so it ends with 0).

Examples
  loadgen
        a first impression of this machine
  loadgen --names 1 --workers 256
        one hot name: how fast is it handed on, and how fairly?
  loadgen --names 1 --workers 1..512 --steps 10 --html steps.html
        how do throughput and latency change as more and more want it?
  loadgen --names 100k --workers 1k --async
        hardly any contention: how many locks a second can this Redis serve?
  loadgen --redis redis://10.0.0.5 --rate 20k --workers 2k --names 5k --zipf 1
        is that Redis large enough for 20,000 calls a second, skewed as real
        ones are? Exit code 5 is no; start lag and calls that started late say
        by how much
  loadgen --rate 1k..256k --steps 9 --workers 1k --names 10k --html rates.html
        up to how many calls a second is the wait short?
  loadgen --repeat 5 --json before.json
  loadgen compare before.json after.json
        what a change of the code or of the server did, and whether it is more
        than chance
  loadgen --duration 30s --fail 'acquire.p99>5ms' --fail 'throughput<20k'
        a test for CI
  loadgen --names 1 --processes 4 --handoff off
        four processes that contend for one name, with Redis asked each time
  loadgen --names 1 --processes 32 --workers 32 --hold 5ms
        a fleet with one caller in each process: what does a hand-over cost, and
        who gets it?
  loadgen --kind rw --names 1 --readers 0.99 --hold 1ms
        many readers, few writers: what does a writer wait?
  loadgen --kind permits --permits 10 --names 1 --processes 4 --hold 5ms
        ten places for four processes: are there ever eleven inside?
  loadgen --lease 100ms --hold 20ms --wait 50ms
        impatient callers and leases that end by themselves
`

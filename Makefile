# What this repository can do. `make` alone prints the list.

GO ?= go
export GO
# Compiler, linker and vet collect no garbage below 1 GiB: it is a fifth of their processor time. What is built is the same.
export GOFLAGS := $(GOFLAGS) "-toolexec=env GOGC=off GOMEMLIMIT=1GiB"
# Tools have modfiles of their own, GoReleaser one for itself: who uses the module never sees them.
TOOL := $(GO) tool -modfile=tools/go.mod
# Modules of their own inside the repository, the one whose tests wait longest first.
NESTED := internal/trial $(filter-out tools tools/release internal/trial,$(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod */*/*/go.mod)))
# Other machines for which all must be correct Go.
CROSS := linux/386 darwin/arm64 windows/amd64

FUZZTIME ?= 60s
BENCH ?= .
FOR ?= 10m
COUNT ?= 1

.PHONY: help test check prepare static lint api oldest race plain redisson polyglot servers figures cross short-ints nested explore bubble spec selftest mutants shape fuzz bench bench-outage bench-servers micro interop interop-simple release snapshot chaos soak

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "What make test runs, one by one, and what else there is: TESTING.md."

test: ## all that a change must pass, as CI runs it
	@MAKE='$(MAKE)' .ci/test

prepare:
	@.ci/prepare

check: prepare static ## what to run all the time; half a minute
	@# Left out: the packages that break servers, some of the worlds and seeds (-short), the SQL of docs/FENCING.md.
	@echo "== go test -short, without the suites that break things"
	@$(GO) test -vet=off -short -skip 'TestFencingDocument$$' ./futures ./wheel/... ./dispatcher/... ./scripts ./engine ./internal/vocabulary

static:
	@echo "== gofmt"
	@said=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .) && test -z "$$said" || { echo "not as gofmt writes it: $$said"; exit 1; }
	@echo "== go vet"
	@$(GO) vet ./...
	@echo "== staticcheck"
	@# Its garbage is a quarter of its processor time; it ends with 3 GB.
	@GOGC=off GOMEMLIMIT=3GiB $(TOOL) staticcheck ./...

lint: static api ## gofmt, go vet, staticcheck, the public API, govulncheck
	@echo "== govulncheck"
	@.ci/vulnerabilities

api: ## the public API against internal/shape; ACCEPT=1 takes it
	@echo "== the public API"
	@$(GO) -C internal/shape run ./api $(if $(ACCEPT),-accept)

# Go vet of what users import, with the oldest Go that its go.mod allows
oldest:
	@for module in . $(NESTED); do \
		version=$$($(GO) -C $$module list -m -f '{{.GoVersion}}') || exit 1; \
		[ "$$version" = "$$($(GO) list -m -f '{{.GoVersion}}')" ] || continue; \
		echo "== go$$version vet: $$module"; \
		GOTOOLCHAIN=go$$version $(GO) -C $$module vet ./... || exit 1; \
	done

# Only the race detector needs a C compiler.
lint plain redisson polyglot nested bubble figures: export CGO_ENABLED = 0
# Tests are compiled without debug information, which is a tenth of compilation. What is inlined in go-redis, by which only other libraries and
# their adapter speak, costs a processor 30 s, and in the words of rueidis 2 s, under the race detector 20. In make bench both are as usual.
lint race plain redisson polyglot nested bubble figures: export GOFLAGS := $(GOFLAGS) -ldflags=-w -gcflags=all=-dwarf=false \
	"-gcflags=github.com/redis/go-redis/v9=-dwarf=false -l" "-gcflags=github.com/redis/rueidis/internal/cmds=-dwarf=false -l"

# What has goroutines of the product: the engine and what it stands on, but for its machines and what is measured.
RACED := $$($(GO) list ./futures ./wheel/... ./dispatcher/... ./engine/... | grep -vE '/(dispatcher/gate|engine/scale)$$')

# A program under the race detector would sleep for a second when it ends: for threads of C, of which there are none.
race: export GORACE = atexit_sleep_ms=0
# The tests of the engine and what it stands on under the race detector; V=1 names each
race: prepare
	@echo "== go test -race, the engine and what it stands on"
	@# make lint has vetted all.
	@# The model of Redis is no product, runs under a mutex, and every engine loads 640 KB of scripts into it: the detector would spend a
	@# fifth to a third of the processor time of virtual worlds on it. What synchronizes there still counts, whoever calls it. Nor is there
	@# anything to see in the SQL of docs/FENCING.md, which make plain tries, or in the words that rueidis puts into commands.
	@$(GO) test -race $(foreach package,github.com/yuin/gopher-lua/... $(addprefix github.com/wheellock/wheellock/internal/,redismodel redisnet),-gcflags=$(package)=-race=false) \
		'-gcflags=github.com/redis/rueidis/internal/cmds=-race=false -l' -vet=off -count 1 -timeout 15m -skip 'TestFencingDocument$$' $(if $(V),-v) $(RACED)

# Without it: all other tests, and all worlds of those of which make race runs some
plain: prepare
	@echo "== go test, all but what make race runs whole"
	@raced=$$(echo $(RACED) | tr ' ' '\n' | grep -v '/engine$$'); $(GO) test -vet=off -count 1 -timeout 15m $(if $(V),-v) \
		$$($(GO) list ./... | grep -vxF "$$raced")

# Beside a real Redisson, briefly; needs a JDK 17, mvn, and once Maven Central
redisson: prepare
	@.ci/redisson

# Beside redis-py, node-redlock, redislock and redsync, briefly; needs Python, Node, and once PyPI and npm
polyglot: prepare
	@.ci/polyglot

servers: ## tests that decide, on each server, or SERVERS="redis-6.2"
	@.ci/servers $(SERVERS)

figures: export WHEELLOCK_FIGURES = 1
# What the race detector distorts: memory, allocations, times
figures: prepare
	@echo "== go test -v, for the figures"
	@$(GO) test -vet=off -count 1 -v -run 'Allocations|TestScale' ./futures ./engine/scale

# Types for other machines
cross:
	@# From source, the standard library too: nothing is compiled, which would take a minute of processor time for each.
	@$(GO) -C internal/shape run ./typecheck ../.. $(CROSS)

# Unit tests with 32-bit integers, which Linux on amd64 runs by itself; before a release
short-ints:
	@# Ints are short there, and 64-bit atomics must be aligned. Nothing for which miniredis would have to put milliseconds into an int.
	@if [ "$$($(GO) env GOHOSTOS)/$$($(GO) env GOHOSTARCH)" = linux/amd64 ]; then \
		echo "== GOARCH=386 go test"; \
		export GOARCH=386 CGO_ENABLED=0; \
		$(GO) test -vet=off ./futures ./wheel ./dispatcher/... && \
		$(GO) test -vet=off -run 'Reply|Keys' -skip ForeignKeys ./scripts; \
	fi

# The modules inside, two at a time: vet, tests; make release adds internal/kubernetes
nested:
	@# TestBubble runs in make bubble, for longer and with stalled goroutines. -count 1: some tests read files of other modules, which a
	@# cached result does not know of.
	@# The packages in internal/interop/suites have tests only when those of others join them. Two modules that need go-redis at the same
	@# time would compile it twice.
	@$(GO) -C bench/peers build github.com/redis/go-redis/v9
	@for module in $(filter-out internal/kubernetes,$(NESTED)); do \
		packages=./...; [ $$module != internal/interop/suites ] || packages=.; \
		echo "echo == $$module: go test -vet=all && cd $$module && $(GO) test -count 1 -vet=all -skip TestBubble $$packages"; \
	done | .ci/two-at-once

explore: ## every order of events in small worlds, DEEP walks; SEED=n
	@$(GO) test -count 1 ./dispatcher/gate -args -gate.long
	@$(GO) -C internal/trial/explore test -count 1 -timeout 0 -v -run '^(TestSearch|TestWalk)$$' . -args -full -walks $(or $(DEEP),20000) $(if $(SEED),-seed $(SEED))

bubble: ## engines in virtual time, for VIRTUAL (1h); SEED=n
	@# All in one module: each has other versions of what the core imports, so that with the tag the core would be compiled for each.
	@echo "== go test -tags wheellock_stall, with goroutines stalled at named points, and every fault of every kind"
	@$(GO) -C internal/trial test -tags wheellock_stall -vet=off -count 1 -run 'Stalled|Kinds|LeaseShorterThan|WaitsThrough' -skip OnRealServers $(if $(V),-v) \
		$(addprefix github.com/wheellock/wheellock/,dispatcher engine/faults)
	@echo "== go test -tags wheellock_stall, engines in virtual time"
	@$(GO) -C internal/trial/bubble test -count 1 -timeout 0 -tags wheellock_stall -vet=off -v -run '^TestBubble' . -args -for $(or $(VIRTUAL),1h) $(if $(SEED),-seed $(SEED))

selftest: prepare ## planted bugs: each must be found; an hour and a half
	@$(GO) -C internal/trial test -count 1 -timeout 0 -v -run '^TestPlanted$$' ./planted ./chaos ./bubble ./explore -args -planted

mutants: prepare ## small mistakes: found? ONLY=go PACKAGE=x SHARD=1/4 AGAIN=1
	@$(GO) -C internal/trial/mutants run . -results $(abspath $(or $(JSON),mutants.json)) $(if $(ONLY),-only $(ONLY)) \
		$(if $(PACKAGE),-package $(PACKAGE)) $(if $(SHARD),-shard $(SHARD)) $(if $(AGAIN),-again)

spec: prepare ## the specification of a mutex: SAMPLES (400) paths; SEED=n
	@SAMPLES=$(SAMPLES) SEED=$(SEED) .ci/spec

shape: ## lines of core, laboratory and tests; docs/MECHANISMS.md
	@$(GO) -C internal/shape test -count 1 -v .

fuzz: ## every fuzz target for FUZZTIME (60s)
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

bench: ## rivals side by side: table, JSON, pictures; half an hour
	@.ci/prepare redis
	@jar=$$(.ci/redisson-jar) || echo "without Redisson: it needs a JDK and Maven, which make bench does not install"; \
	python=$$(.ci/redis-py) || echo "without redis-py: it needs Python, which make bench does not install"; \
	$(GO) -C bench/peers run . $${jar:+--redisson "../../$$jar"} $${python:+--redis-py "../../$$python"} $(PEERS)

bench-outage: ## a handler beside Redis that is killed, frozen, switched; rivals
	@.ci/prepare redis
	@command -v redis-sentinel >/dev/null || { echo "redis-sentinel is missing"; exit 1; }
	@$(GO) -C bench/peers run . --outages $(PEERS)
	@$(GO) -C bench/peers test -vet=off -count 1 -run '^TestResultsAreDrawnAsTheyStand$$' . -update

# Servers side by side, with and without io-threads: table and JSON; 10 minutes
bench-servers:
	@set -e; for command in redis-7.0 redis-8.0 redis-8.2 valkey-8.1 valkey-9 'redis-8.0 --io-threads 2' 'valkey-8.1 --io-threads 2' 'valkey-9 --io-threads 2'; do \
		folder=$$(.ci/server $${command%% *}); set -- "$$@" --redis-server "$$folder/redis-server$${command#$${command%% *}}"; \
	done; $(GO) -C bench/peers run . --out results/servers --rounds 5 --for 1s --work distinct-1,distinct-64,distinct-1024,hot16-1024,handover \
		--only 'wheellock,ceiling,ceiling x128' "$$@" $(PEERS)

micro: ## our benchmarks that match BENCH, COUNT times
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

chaos: prepare ## processes under kills and stops, for FOR (10m); SEED=n
	@$(GO) -C internal/trial/chaos test -count 1 -timeout 0 -v -run '^TestChaos$$' . -args -for $(FOR) $(if $(SEED),-seed $(SEED))

soak: prepare ## mixed work for FOR (10m), nothing may grow; SEED=n
	@$(GO) -C internal/trial/chaos test -count 1 -timeout 0 -v -run '^TestSoak$$' . -args -soak $(FOR) $(if $(SEED),-seed $(SEED))

release: ## is the last commit ready to be VERSION?
	@.ci/release $(VERSION)

snapshot: ## all that a release publishes, of the last commit; inspected
	@echo "== GoReleaser on the last commit, as if it were VERSION"
	@$(GO) -C tools/release vet . && $(GO) -C tools/release test -vet=off -count 1 -timeout 60m . -args -version $(or $(VERSION),v0.0.1)

interop: ## beside Redisson at length; VERSIONS="3.27.2 4.7.0"
	@CI=1 WHEELLOCK_CONTEND=$${WHEELLOCK_CONTEND:-20s} WHEELLOCK_CHURN=$${WHEELLOCK_CHURN:-1m} WHEELLOCK_VERSIONS="$(VERSIONS)" \
		.ci/redisson -v -count 1 -timeout 60m $(if $(VERSIONS),-run '^TestVersions$$')

interop-simple: prepare ## beside redis-py, redsync, redislock, node-redlock
	@CI=1 .ci/polyglot -v -count 1 -skip '^TestPollers' -args -at-length
	@CI=1 .ci/polyglot -v -count 1 -run '^TestPollers' -parallel 1 -args -at-length

# What can be done with leslie's source. `make help` lists it.
# Only Go is needed; `make race` (part of `make check`) also wants gcc.
.POSIX:

GO = go
# What leslie does not use of its command-line library, left out: it would cost
# time at every start. leslie builds without the tags, too.
TAGS = -tags urfave_cli_no_docs,urfave_cli_no_suggest
# Tests at once: many wait, for a lock or for a deadline.
PARALLEL = $$((2 * $$(getconf _NPROCESSORS_ONLN)))
# At most this many seconds for all fuzz targets together, for one, and for making one input
# shorter: nothing else runs meanwhile, and go would take a minute.
FUZZ_TOTAL = 90
FUZZ_EACH = 10
FUZZ_SHORTEN = 1

MERGES = 200

STATICCHECK = $(GO) tool -modfile=tools/go.mod staticcheck

.PHONY: build help demo test stress lint check fmt vet staticcheck mod source whole next race fuzz short bench micro oracle bytes histories torture soak faults cluster machines ledger agents docs man install dist clean

# Without -trimpath, which "make dist" has: so it shares compiled packages with the tests.
# Copied, the program lies in the system's cache in larger pieces than the linker leaves
# it in, and starts a quarter sooner (docs/internals/performance.md).
build: ## build bin/leslie (the default)
	@version=$$(git describe --tags --always --dirty 2>/dev/null || echo dev); \
	echo "building bin/leslie $$version"; \
	CGO_ENABLED=0 $(GO) build $(TAGS) -buildvcs=false -ldflags "-X main.version=$$version" -o bin/leslie ./cmd/leslie && \
	cp bin/leslie bin/leslie.copy && mv bin/leslie.copy bin/leslie

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s  %s\n", $$1, $$2 }' Makefile

demo: build ## build leslie and play a whole piece of work with it
	@CGO_ENABLED=0 $(GO) run $(TAGS) ./test/demo -leslie bin/leslie

# -short: random walks, kills and rounds are a sample; "make whole" has them all.
# GOGC saves collections that memory for two test processes makes needless. "make vet" vets.
test: ## run every test; needs nothing but Go
	CGO_ENABLED=0 GOGC=400 $(GO) test $(TAGS) -vet=off -short -parallel $(PARALLEL) -timeout 30m ./...

# STRESS="-only busy" and the like: go run ./test/stress -help
stress: ## run every test beside other work, on one processor, in other places, as nobody; a line a round (ten minutes)
	@CGO_ENABLED=0 GOGC=400 $(GO) run $(TAGS) ./test/stress $(STRESS) -- $(TAGS) -vet=off -short -parallel $(PARALLEL) -timeout 30m ./...

lint: fmt vet staticcheck mod source ## what every change must pass beyond the tests (minutes)

CHECKS = lint race fuzz short next whole
check: ## what takes longer, before a release or a large change: the race detector, fuzzing, kills, samples as a whole (two hours)
	@times=; for part in $(CHECKS); do \
		began=$$(date +%s); \
		$(MAKE) $$part || { echo "check: $$part failed;$$times"; exit 1; }; \
		times="$$times $$part $$(($$(date +%s) - began)) s,"; \
	done; echo "check: all passed;$${times%,}"

fmt: ## refuse files that gofmt would change
	@echo "== gofmt"; \
	files=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .) || exit 1; \
	if [ -n "$$files" ]; then echo "not formatted:"; echo "$$files"; exit 1; fi

vet: ## vet the source for linux, darwin and windows
	@for os in linux darwin windows; do \
		echo "== go vet for $$os"; \
		CGO_ENABLED=0 GOOS=$$os $(GO) vet $(TAGS) ./... || exit 1; \
	done
	@echo "== go vet without the build tags"; CGO_ENABLED=0 $(GO) vet -tags= ./cmd/leslie/...

staticcheck: ## run staticcheck as pinned in tools/go.mod
	@echo "== staticcheck"; CGO_ENABLED=0 $(STATICCHECK) $(TAGS) ./...

mod: ## refuse a go.mod that names more or less than the source uses
	@echo "== go mod tidy"; $(GO) mod tidy -diff && $(GO) -C tools mod tidy -diff

source: ## check the rules over the source and the documents that repeat it
	@echo "== rules over the source"; CGO_ENABLED=0 $(GO) test $(TAGS) -count=1 ./test/source

whole: ## run whole what "make test" samples, and every script's calls as processes (an hour)
	@echo "== samples as a whole"; \
	CGO_ENABLED=0 GOGC=400 LESLIE_SCRIPT_PROCESSES=1 $(GO) test $(TAGS) -vet=off -parallel $(PARALLEL) -timeout 120m ./cmd/leslie ./internal/git ./merge ./store/... ./thread ./test/proctest

next: ## run what the errors of all scripts say is next, each on a copy of the script's folder (minutes)
	@echo "== next lines of all scripts"; \
	CGO_ENABLED=0 GOGC=400 LESLIE_SCRIPT_NEXT=1 $(GO) test $(TAGS) -vet=off -parallel $(PARALLEL) -timeout 60m -run TestScripts ./cmd/leslie

# A process with the race detector sleeps a second before it ends unless it is
# told not to; the tests start many. What is left out took minutes and has one goroutine: a
# test of pairs of damages, and sweeps that kill one process after another.
race: ## run the tests of leslie's packages with the race detector; needs gcc
	@echo "== race detector"; \
	packages=$$($(GO) list ./... | grep -v '^leslie/test/') || exit 1; \
	GORACE=atexit_sleep_ms=10 CGO_ENABLED=1 $(GO) test $(TAGS) -vet=off -race -short -skip '^TestTwoDamagesAtOnce$$|^TestScripts$$/killed_at_any_git_call' -parallel $(PARALLEL) -timeout 30m $$packages

# The tests of a package are built once for all of its targets, with the instrumentation
# that -fuzz asks for, and run as "go test" runs them.
fuzz: ## fuzz every fuzz target for a few seconds
	@echo "== fuzz"; \
	export CGO_ENABLED=0; \
	cache="$$($(GO) env GOCACHE)/fuzz" && module=$$($(GO) list -m) || exit 1; \
	found=$$(find . -name '*_test.go' -exec grep -H '^func Fuzz' {} +); \
	if [ -z "$$found" ]; then echo "no fuzz targets"; exit 0; fi; \
	each=$$(($(FUZZ_TOTAL) / $$(echo "$$found" | wc -l))); \
	if [ $$each -gt $(FUZZ_EACH) ]; then each=$(FUZZ_EACH); fi; \
	if [ $$each -lt 1 ]; then each=1; fi; \
	test="$$PWD/bin/fuzz.test"; \
	for dir in $$(echo "$$found" | sed 's,^\./,,; s,/[^/]*_test\.go:.*,,' | sort -u); do \
		$(GO) test $(TAGS) -vet=off -c -fuzz . -ldflags '-s -w' -o "$$test" "./$$dir" || exit 1; \
		targets=$$(cd "$$dir" && "$$test" -test.list '^Fuzz') || { echo "$$targets"; exit 1; }; \
		for target in $$targets; do \
			echo "$$module/$$dir $$target for $${each}s"; \
			out=$$(cd "$$dir" && "$$test" -test.paniconexit0 -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime "$${each}s" -test.fuzzminimizetime $(FUZZ_SHORTEN)s -test.fuzzcachedir "$$cache/$$module/$$dir" 2>&1) && { echo "$$out"; continue; }; \
			echo "$$out"; \
			case "$$out" in \
			*"Failing input"*) exit 1 ;; \
			*"context deadline exceeded"*) echo "(its time ran out while a worker was at it; no input failed)" ;; \
			*) exit 1 ;; \
			esac; \
		done; \
	done

# BENCH=-short for a look; BENCH="-only sizes -runs 11" and the like: go run ./test/bench -help
bench: build ## measure leslie beside floors and print tables (minutes; BENCH=-short for a look)
	@CGO_ENABLED=0 $(GO) run $(TAGS) ./test/bench -leslie bin/leslie $(BENCH)

micro: ## run the benchmarks of single functions and print a table
	@out=$$(CGO_ENABLED=0 $(GO) test $(TAGS) -p 1 -run '^$$' -bench . -benchmem ./...) || { echo "$$out"; exit 1; }; \
	echo "$$out" | awk ' \
		BEGIN { printf "%-44s %14s %12s %12s\n", "benchmark", "time/op", "bytes/op", "allocs/op" } \
		/^Benchmark/ { n++; time = bytes = allocs = "-"; \
			for (i = 3; i < NF; i += 2) { \
				if ($$(i+1) == "ns/op") time = $$i >= 1e6 ? sprintf("%.2f ms", $$i/1e6) : $$i >= 1e3 ? sprintf("%.2f us", $$i/1e3) : $$i " ns"; \
				if ($$(i+1) == "B/op") bytes = $$i; \
				if ($$(i+1) == "allocs/op") allocs = $$i } \
			printf "%-44s %14s %12s %12s\n", substr($$1, 10), time, bytes, allocs } \
		END { if (!n) print "(no benchmarks)" }'

oracle: ## compare the line merge with git merge-file in 5,000 cases and print the figures; needs git
	CGO_ENABLED=0 LESLIE_MERGE_CASES=5000 $(GO) test $(TAGS) ./merge -count=1 -v -run TestTextAgreesWithGit

bytes: ## damage every byte of a small store's files, then 2,000 pairs of them; print what became of it
	@out=$$(LESLIE_EVERY_BYTE=1 LESLIE_DAMAGE_PAIRS=2000 LESLIE_DAMAGE_SEED=$${LESLIE_DAMAGE_SEED:-$$(date +%s)} CGO_ENABLED=0 $(GO) test $(TAGS) ./store -count=1 -timeout 60m -v -run 'TestEvery(Byte|File)|TestTwoDamages') || { echo "$$out"; exit 1; }; \
	echo "$$out" | sed -n 's/^.*damaged: //p' | sort

# HISTORIES="DIR:DIR" names repositories, MERGES how many merges of each.
histories: ## compare merges in the histories of HISTORIES with git merge; needs git
	CGO_ENABLED=0 LESLIE_HISTORIES="$(HISTORIES)" LESLIE_HISTORY_MERGES=$(MERGES) $(GO) test $(TAGS) ./internal/git -count=1 -timeout 60m -v -run TestHistorical

torture: build ## kill and fail the binary at every call of the system that it makes; needs Linux and strace
	$(GO) run $(TAGS) ./test/lab/torture -leslie bin/leslie

soak: build ## 16 processes of random commands and kills for five minutes, against a model (SOAK="-for 1h")
	CGO_ENABLED=0 $(GO) run $(TAGS) ./test/lab/soak -leslie bin/leslie $(SOAK)

bin/nats-server: tools/go.mod
	@cd tools && CGO_ENABLED=0 $(GO) build $(TAGS) -trimpath -o ../bin/nats-server github.com/nats-io/nats-server/v2

# CLUSTER="-dir DIR" keeps what the servers store; go run ./test/cluster/run -help
cluster: bin/nats-server ## run three NATS servers on this machine until Ctrl-C, set up by internal/ledger/jetstream/leslie.conf
	@CGO_ENABLED=0 $(GO) run $(TAGS) ./test/cluster/run -server bin/nats-server $(CLUSTER)

machines: bin/nats-server ## play a day of three machines, while their three NATS servers are killed, lose all and are restored (half a minute); needs git
	LESLIE_NATS_SERVER="$$PWD/bin/nats-server" CGO_ENABLED=0 $(GO) test $(TAGS) -vet=off -count=1 -v -run TestADayOfThreeMachines ./test/proctest

# As root it also cuts the servers' power. FAULTS="-kills", "-measure", "-short", "-only leader".
faults: build bin/nats-server ## one project on eight machines, while its three NATS servers are killed, stopped and damaged (half an hour); needs Linux
	@CGO_ENABLED=0 $(GO) build $(TAGS) -o bin/faults ./test/lab/faults; \
	if [ -n "$(FAULTS)" ]; then bin/faults -leslie bin/leslie $(FAULTS); else bin/faults -leslie bin/leslie && bin/faults -leslie bin/leslie -kills; fi

# As root on Linux LESLIE_NATS_DISKS=1 adds power cuts.
ledger: bin/nats-server ## test logs on three NATS servers that are killed, stopped and damaged (minutes)
	LESLIE_NATS_SERVER="$$PWD/bin/nats-server" CGO_ENABLED=0 $(GO) test $(TAGS) -count=1 -v -timeout 60m ./internal/ledger/jetstream

# AGENTS="claude codex" names some. They are installed in the user's cache folder, with
# npm; LESLIE_AGENTS_CACHE names another, LESLIE_AGENTS_KEEP=1 keeps what the cases made.
agents: build ## run six real agents in pinned versions against a fake model; needs Linux, git, npm and minutes
	LESLIE_AGENTS="$$PWD/bin/leslie" LESLIE_AGENTS_ONLY="$(AGENTS)" CGO_ENABLED=0 $(GO) test $(TAGS) -count=1 -v -parallel 2 -timeout 60m -run TestRealAgents ./test/agents

short: build ## a sample of torture, and half a minute of soak
	@echo "== torture, a sample"; CGO_ENABLED=0 $(GO) run $(TAGS) ./test/lab/torture -leslie bin/leslie -short -seed 1
	@echo "== soak, half a minute"; CGO_ENABLED=0 $(GO) run $(TAGS) ./test/lab/soak -leslie bin/leslie -short

docs: ## write the codes, the commands and the answers in the documents anew
	CGO_ENABLED=0 $(GO) test $(TAGS) ./test/source -count=1 -run Codes -update
	CGO_ENABLED=0 $(GO) test $(TAGS) ./cmd/leslie -count=1 -run CommandsDocument -update
	CGO_ENABLED=0 $(GO) test $(TAGS) ./test/proctest -count=1 -run Pages -update

# The version and the time of what is made for others: those of the commit, so that two
# runs make the same. SOURCE_DATE_EPOCH names another time.
RELEASE = -leslie bin/leslie -version "$$(git describe --tags --always --dirty 2>/dev/null || echo dev)" \
	-time "$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)}"

man: build ## write the manual pages to bin/man, from the texts of leslie help
	@CGO_ENABLED=0 $(GO) run $(TAGS) ./test/dist man $(RELEASE) -out bin/man; \
	echo "bin/man/man1: $$(ls bin/man/man1 | wc -l | tr -d ' ') pages; MANPATH=bin/man man leslie"

# PREFIX is where leslie is to be found, DESTDIR a folder in which a package is made.
PREFIX = /usr/local
install: man ## install binary, manual and completions below PREFIX (/usr/local), in DESTDIR
	@set -e; to="$(DESTDIR)$(PREFIX)"; share="$$to/share"; \
	mkdir -p "$$to/bin" "$$share/man/man1" "$$share/bash-completion/completions" "$$share/zsh/site-functions" "$$share/fish/vendor_completions.d"; \
	put() { cp "$$2" "$$3.new"; chmod "$$1" "$$3.new"; mv -f "$$3.new" "$$3"; }; \
	put 755 bin/leslie "$$to/bin/leslie"; \
	for page in bin/man/man1/*.1; do put 644 "$$page" "$$share/man/man1/$${page##*/}"; done; \
	put 644 cmd/leslie/internal/cli/completion/leslie.bash "$$share/bash-completion/completions/leslie"; \
	put 644 cmd/leslie/internal/cli/completion/leslie.zsh "$$share/zsh/site-functions/_leslie"; \
	put 644 cmd/leslie/internal/cli/completion/leslie.fish "$$share/fish/vendor_completions.d/leslie.fish"; \
	echo "installed below $$to"

dist: build ## write archives for six systems, with manual and completions, and SHA256SUMS to bin/dist
	@CGO_ENABLED=0 $(GO) run $(TAGS) ./test/dist archives $(RELEASE) $(TAGS) -out bin/dist; cat bin/dist/SHA256SUMS

clean: ## remove what was built
	rm -rf bin

package io.github.wheellock.redissondriver;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;

/**
 * The shared-counter test: owns the threads that fight for names, alone or against another process, and the
 * tally of what they saw. Readers (kind read) change nothing; they only look whether a writer is inside.
 */
final class Contend {

    private final Kinds kinds;
    private final Counters counters;
    private final String kind;
    private final List<String> names;
    private final long longestWaitMs; // before somebody gives up; 0: nobody does
    private final long holdMs; // how long each sleeps inside

    Contend(Kinds kinds, Counters counters, String kind, List<String> names, long longestWaitMs, long holdMs) {
        this.kinds = kinds;
        this.counters = counters;
        this.kind = kind;
        this.names = names;
        this.longestWaitMs = longestWaitMs;
        this.holdMs = holdMs;
    }

    /** Runs until the time is up and everybody has left. Who waits has no limit, or a random one. */
    String run(int threads, long nanos) throws InterruptedException, ExecutionException {
        names.forEach(name -> kinds.prepare(kind, name));
        long end = System.nanoTime() + nanos;
        try (Crew crew = new Crew(threads)) {
            Tally total = new Tally();
            crew.run(i -> fighter(end)).forEach(total::add);
            return total.toString();
        }
    }

    private Callable<Tally> fighter(long end) {
        return () -> {
            Tally tally = new Tally();
            do { // once at least, on however slow a machine
                String name = names.get(ThreadLocalRandom.current().nextInt(names.size()));
                try {
                    section(name, tally);
                } catch (RuntimeException e) {
                    tally.error(name, e);
                }
            } while (System.nanoTime() - end < 0);
            return tally;
        };
    }

    private void section(String name, Tally tally) throws InterruptedException {
        long asked = System.nanoTime();
        try (Kinds.Section held = enter(name)) {
            if (held == null) {
                tally.gaveUp();
                return;
            }
            tally.waited(System.nanoTime() - asked);
            boolean alone = kind.equals("read") ? look(name) : change(name);
            tally.section(name, alone);
            Thread.sleep(holdMs);
        }
    }

    private Kinds.Section enter(String name) throws InterruptedException {
        if (longestWaitMs == 0) {
            return kinds.enter(kind, name);
        }
        return kinds.tryEnter(kind, name, ThreadLocalRandom.current().nextLong(longestWaitMs) + 1);
    }

    private boolean look(String name) {
        boolean before = counters.isEmpty(name);
        return counters.isEmpty(name) && before;
    }

    private boolean change(String name) {
        boolean alone = counters.enter(name);
        try {
            counters.add(name);
        } finally {
            counters.leave(name);
        }
        return alone;
    }

    /** What one thread saw, or all of them together. */
    private static final class Tally {
        private long sections;
        private long violations;
        private long errors;
        private long gaveUp;
        private long longestWaitNanos;
        private final Map<String, Long> perName = new TreeMap<>();

        void waited(long nanos) {
            longestWaitNanos = Math.max(longestWaitNanos, nanos);
        }

        void section(String name, boolean alone) {
            sections++;
            violations += alone ? 0 : 1;
            perName.merge(name, 1L, Long::sum);
        }

        void gaveUp() {
            gaveUp++;
        }

        // One report per thread: a Redis that is down would bring thousands.
        void error(String name, RuntimeException cause) {
            if (errors++ == 0) {
                System.err.println("contend " + name + ", first error of this thread: " + cause);
            }
        }

        void add(Tally other) {
            sections += other.sections;
            violations += other.violations;
            errors += other.errors;
            gaveUp += other.gaveUp;
            waited(other.longestWaitNanos);
            other.perName.forEach((name, count) -> perName.merge(name, count, Long::sum));
        }

        @Override
        public String toString() {
            String names = perName.entrySet().stream()
                    .map(entry -> entry.getKey() + ":" + entry.getValue())
                    .collect(Collectors.joining(","));
            return "sections=" + sections + " violations=" + violations + " perName=" + names
                    + " errors=" + errors + " maxWaitMs=" + longestWaitNanos / 1_000_000 + " gaveUp=" + gaveUp;
        }
    }
}

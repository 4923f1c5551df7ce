package io.github.wheellock.redissondriver;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.HdrHistogram.Histogram;

/**
 * Lock and unlock as fast as a number of threads can, each on a name of its own or all on one. Owns the
 * measurement. A closed loop: the next pair starts when the last has ended, so latency is the client's, not
 * that of a queue of calls. The first run in a process also pays for the JIT; keep the second.
 */
final class Bench {

    private static final int DIGITS = 3;

    private final Kinds kinds;
    private final String kind;
    private final String clientId;
    private final String prefix;
    private final boolean hot;

    /** @param clientId makes the distinct names distinct between processes too; the hot name is shared */
    Bench(Kinds kinds, String kind, String mode, String clientId) {
        this.kinds = kinds;
        this.kind = kind;
        this.clientId = clientId;
        this.hot = switch (mode) {
            case "hot" -> true;
            case "distinct" -> false;
            default -> throw new IllegalArgumentException("mode is distinct or hot, not " + mode);
        };
        this.prefix = hot ? "bench:" + kind + ":hot" : "bench:" + kind + ":" + clientId + ":";
    }

    Sample run(int threads, long nanos) throws InterruptedException, ExecutionException {
        for (int i = 0; i < threads; i++) {
            kinds.prepare(kind(i), name(i));
        }
        try (Crew crew = new Crew(threads)) {
            Meter before = Meter.read();
            long start = System.nanoTime();
            List<Lap> laps = crew.run(i -> runner(kind(i), name(i), start + nanos));
            double seconds = (System.nanoTime() - start) / 1e9;
            return sample(laps, seconds, before, Meter.read());
        }
    }

    private String name(int thread) {
        return hot ? prefix : prefix + thread;
    }

    private String kind(int thread) {
        return hot ? kind : Kinds.withOwnMembers(kind, ":" + clientId + ":" + thread);
    }

    private Callable<Lap> runner(String kind, String name, long end) {
        return () -> {
            Lap lap = new Lap();
            long now = System.nanoTime();
            while (now - end < 0) {
                long asked = now;
                try {
                    kinds.enter(kind, name).close();
                    now = System.nanoTime();
                    lap.pair(now - asked);
                } catch (RuntimeException e) {
                    now = System.nanoTime();
                    lap.error(name, e);
                }
            }
            return lap;
        };
    }

    private static Sample sample(List<Lap> laps, double seconds, Meter before, Meter after) {
        Histogram nanos = new Histogram(DIGITS);
        long errors = 0;
        for (Lap lap : laps) {
            nanos.add(lap.nanos);
            errors += lap.errors;
        }
        return new Sample(seconds, nanos.getTotalCount(), nanos,
                after.cpuNanosSince(before), after.allocatedBytesSince(before), errors, 0, 0);
    }

    /** What one thread measured. */
    private static final class Lap {
        private final Histogram nanos = new Histogram(DIGITS);
        private long errors;

        void pair(long took) {
            nanos.recordValue(took);
        }

        void error(String name, RuntimeException cause) {
            if (errors++ == 0) {
                System.err.println("bench " + name + ", first error of this thread: " + cause);
            }
        }
    }
}

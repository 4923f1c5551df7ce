package io.github.wheellock.redissondriver;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * One of two processes that give one lock to and fro. Owns the measurement, which is that of bench/peers/handover.go: the same words of
 * a shared memory (shared.go), the same clock, the same pauses.
 */
final class Handover {

    private static final long LOOK_NANOS = 50_000; // between two looks for the other one's doings
    private static final long LOST_NANOS = 1_000_000_000; // after that a hand-over counts as lost
    private static final long LONGEST_WAIT_MS = LOST_NANOS / 1_000_000 + 50; // of one call, which then asks again

    private static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int WORD_BYTES = 64; // a cache line
    private static final int WORDS = 64;
    private static final int RELEASED = 0; // when the holder called unlock, ns; 0 when somebody has the lock
    private static final int GRANTS = 1;
    private static final int WAITING = 2; // and 3: whether process 0 or 1 asks for the lock
    private static final int HOLDERS = 4;

    private final Kinds kinds;
    private final String kind;
    private final String name;
    private final int mine;
    private final int theirs;
    private final ByteBuffer memory;
    private final long settleMs;

    private final Histogram waits = new Histogram(3);
    private long pairs;
    private long errors;
    private long lost;
    private long broken;
    private long end; // by System.nanoTime

    /**
     * @param process 0 or 1
     * @param memory path of a file of 4,096 bytes, zeros at first; both processes leave it ready for another run
     * @param settleMs how long a waiter is left waiting before it gets the lock
     */
    Handover(Kinds kinds, String kind, String name, int process, String memory, long settleMs) throws IOException {
        if (process != 0 && process != 1) {
            throw new IllegalArgumentException("process is 0 or 1, not " + process);
        }
        this.kinds = kinds;
        this.kind = kind;
        this.name = name;
        this.mine = WAITING + process;
        this.theirs = WAITING + 1 - process;
        this.settleMs = settleMs;
        try (FileChannel file = FileChannel.open(Path.of(memory), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            this.memory = file.map(FileChannel.MapMode.READ_WRITE, 0, WORDS * WORD_BYTES);
        }
    }

    /** Nanoseconds since 1970 by the system's clock, which all processes of a machine share. */
    static long now() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }

    Sample run(long nanos) throws InterruptedException {
        Meter before = Meter.read();
        long start = System.nanoTime();
        end = start + nanos;
        while (!over()) {
            turn();
        }
        set(RELEASED, 0);
        set(mine, 0);
        double seconds = (System.nanoTime() - start) / 1e9;
        Meter after = Meter.read();
        return new Sample(seconds, pairs, waits, after.cpuNanosSince(before), after.allocatedBytesSince(before), errors, lost, broken);
    }

    /** Waits for the lock, keeps it until the other process waits, gives it away and leaves it alone until the other has it. */
    private void turn() throws InterruptedException {
        set(mine, 1);
        long grants;
        try (Kinds.Section held = kinds.tryEnter(kind, name, LONGEST_WAIT_MS)) {
            if (held == null) {
                noteLoss();
                return;
            }
            set(mine, 0);
            grants = receive();
            await(theirs, 1);
            Thread.sleep(settleMs);
            add(HOLDERS, -1);
            set(RELEASED, now());
        } catch (RuntimeException e) {
            if (errors++ == 0) {
                System.err.println("handover " + name + ", first error: " + e);
            }
            return;
        }
        await(GRANTS, grants + 1);
        pairs++;
    }

    /** Notes that this process has the lock from now on, and returns how many grants there were with this one. */
    private long receive() {
        long now = now();
        if (add(HOLDERS, 1) != 1) {
            broken++;
        }
        long released = (long) WORD.getAndSet(memory, RELEASED * WORD_BYTES, 0L);
        if (released > 0) {
            record(now - released);
        }
        return add(GRANTS, 1);
    }

    /** The lock was not had for long. If it has been free for long, the hand-over is lost, and counts with the time it took so far. */
    private void noteLoss() {
        long released = get(RELEASED);
        long waited = now() - released;
        if (released > 0 && waited >= LOST_NANOS && WORD.compareAndSet(memory, RELEASED * WORD_BYTES, released, 0L)) {
            lost++;
            record(waited);
        }
    }

    private void record(long waited) {
        waits.recordValue(Math.max(0, waited));
    }

    private void await(int word, long least) {
        while (get(word) < least && !over()) {
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }

    private boolean over() {
        return System.nanoTime() - end >= 0;
    }

    private long get(int word) {
        return (long) WORD.getVolatile(memory, word * WORD_BYTES);
    }

    private void set(int word, long value) {
        WORD.setVolatile(memory, word * WORD_BYTES, value);
    }

    private long add(int word, long value) {
        return (long) WORD.getAndAdd(memory, word * WORD_BYTES, value) + value;
    }
}

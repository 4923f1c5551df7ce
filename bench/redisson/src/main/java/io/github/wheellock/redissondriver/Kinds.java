package io.github.wheellock.redissondriver;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.Arrays;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/**
 * Owns the way from a kind and a name to a Redisson object. A fresh object each time: they are cheap, and a
 * shared RLock keeps the last lease it was given in a field, so two threads would get each other's.
 */
final class Kinds {

    static final String NAMES = "lock fair fenced spin read write multi:<a,b,c> semaphore permit latch";

    private static final String MULTI = "multi:";

    private final RedissonClient client;

    Kinds(RedissonClient client) {
        this.client = client;
    }

    /** The lock of a kind; a multi lock is of the plain locks its kind lists, and its name is not looked at. */
    RLock lock(String kind, String name) {
        if (kind.startsWith(MULTI)) {
            String[] members = kind.substring(MULTI.length()).split(",");
            return client.getMultiLock(Arrays.stream(members).map(client::getLock).toArray(RLock[]::new));
        }
        return switch (kind) {
            case "lock" -> client.getLock(name);
            case "fair" -> client.getFairLock(name);
            case "fenced" -> client.getFencedLock(name);
            case "spin" -> client.getSpinLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            default -> throw unfit(kind);
        };
    }

    /** A multi kind with members of its own, made different by a suffix; any other kind as it is. */
    static String withOwnMembers(String kind, String suffix) {
        return kind.startsWith(MULTI) ? kind.replace(",", suffix + ",") + suffix : kind;
    }

    RFencedLock fenced(String name) {
        return client.getFencedLock(name);
    }

    RSemaphore semaphore(String name) {
        return client.getSemaphore(name);
    }

    RPermitExpirableSemaphore permit(String name) {
        return client.getPermitExpirableSemaphore(name);
    }

    RCountDownLatch latch(String name) {
        return client.getCountDownLatch(name);
    }

    /** Something the calling thread is inside of until it closes it. */
    interface Section extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Makes a name ready to be entered: gives a semaphore that has none the one permit with which it
     * excludes. Throws IllegalArgumentException for a kind that cannot be entered.
     */
    void prepare(String kind, String name) {
        switch (kind) {
            case "semaphore" -> semaphore(name).trySetPermits(1);
            case "permit" -> permit(name).trySetPermits(1);
            default -> lock(kind, name);
        }
    }

    /** Waits without limit for the lock, or for one permit. Without a lease, so the watchdog keeps locks. */
    Section enter(String kind, String name) throws InterruptedException {
        switch (kind) {
            case "semaphore" -> {
                RSemaphore semaphore = semaphore(name);
                semaphore.acquire();
                return semaphore::release;
            }
            case "permit" -> {
                RPermitExpirableSemaphore permits = permit(name);
                String id = permits.acquire();
                return () -> permits.release(id);
            }
            default -> {
                RLock lock = lock(kind, name);
                lock.lock();
                return lock::unlock;
            }
        }
    }

    /** Waits at most so long for the lock, and returns null when it gives up. Only locks can be tried. */
    Section tryEnter(String kind, String name, long waitMs) throws InterruptedException {
        RLock lock = lock(kind, name);
        return lock.tryLock(waitMs, MILLISECONDS) ? lock::unlock : null;
    }

    static IllegalArgumentException unfit(String kind) {
        return new IllegalArgumentException("kind " + kind + " does not fit here; there are: " + NAMES);
    }
}

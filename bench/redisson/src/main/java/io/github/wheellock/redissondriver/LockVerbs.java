package io.github.wheellock.redissondriver;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.List;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;

/** Owns the verbs on locks: plain, fair, fenced, spin, read, write and multi. */
final class LockVerbs {

    private final Kinds kinds;
    private final String clientId;

    LockVerbs(Kinds kinds, String clientId) {
        this.kinds = kinds;
        this.clientId = clientId;
    }

    List<Verb> all() {
        return List.of(
                new Verb("lock kind name thread [leaseMs]", this::lock),
                new Verb("try kind name thread [waitMs [leaseMs]]", this::tryLock),
                new Verb("unlock kind name thread", this::unlock),
                new Verb("hold kind name thread ms", this::hold),
                new Verb("force kind name", a -> "" + of(a).forceUnlock()),
                new Verb("locked kind name", a -> "" + of(a).isLocked()),
                new Verb("ttl kind name", a -> "" + of(a).remainTimeToLive()),
                new Verb("heldby kind name thread", a -> "" + of(a).isHeldByCurrentThread()),
                new Verb("owner thread", a -> clientId + ":" + Thread.currentThread().getId()),
                new Verb("token name", a -> "" + fenced(a).getToken()),
                new Verb("lock-token name thread [leaseMs]", this::lockToken),
                new Verb("try-token name thread [waitMs [leaseMs]]", this::tryToken));
    }

    private RLock of(Arguments a) {
        return kinds.lock(a.text("kind"), a.text("name"));
    }

    private RFencedLock fenced(Arguments a) {
        return kinds.fenced(a.text("name"));
    }

    private String lock(Arguments a) {
        if (a.has("leaseMs")) {
            of(a).lock(a.number("leaseMs"), MILLISECONDS);
        } else {
            of(a).lock();
        }
        return "";
    }

    private String tryLock(Arguments a) throws InterruptedException {
        RLock lock = of(a);
        if (a.has("leaseMs")) {
            return "" + lock.tryLock(a.number("waitMs"), a.number("leaseMs"), MILLISECONDS);
        }
        // Without a wait it is another script for fair locks, not the same one with a wait of 0.
        return "" + (a.has("waitMs") ? lock.tryLock(a.number("waitMs"), MILLISECONDS) : lock.tryLock());
    }

    private String unlock(Arguments a) {
        of(a).unlock();
        return "";
    }

    private String hold(Arguments a) throws InterruptedException {
        try (Kinds.Section held = kinds.enter(a.text("kind"), a.text("name"))) {
            Thread.sleep(a.number("ms"));
        }
        return "";
    }

    private String lockToken(Arguments a) {
        RFencedLock lock = fenced(a);
        return "" + (a.has("leaseMs")
                ? lock.lockAndGetToken(a.number("leaseMs"), MILLISECONDS)
                : lock.lockAndGetToken());
    }

    private String tryToken(Arguments a) {
        RFencedLock lock = fenced(a);
        Long token;
        if (a.has("leaseMs")) {
            token = lock.tryLockAndGetToken(a.number("waitMs"), a.number("leaseMs"), MILLISECONDS);
        } else if (a.has("waitMs")) {
            token = lock.tryLockAndGetToken(a.number("waitMs"), MILLISECONDS);
        } else {
            token = lock.tryLockAndGetToken();
        }
        return token == null ? "-" : "" + token;
    }
}

package io.github.wheellock.redissondriver;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import java.util.List;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;

/** Owns the verbs on semaphores (kind semaphore) and on permits that expire (kind permit). */
final class SemaphoreVerbs {

    private final Kinds kinds;

    SemaphoreVerbs(Kinds kinds) {
        this.kinds = kinds;
    }

    List<Verb> all() {
        return List.of(
                new Verb("acquire kind name thread n [waitMs [leaseMs]]", this::acquire),
                new Verb("release kind name n|ids", this::release),
                new Verb("set-permits kind name n [ttlMs]", this::setPermits),
                new Verb("resize kind name n", this::resize),
                new Verb("add-permits kind name n", this::addPermits),
                new Verb("drain kind name", a -> "" + semaphore(a).drainPermits()),
                new Verb("available kind name", a -> "" + (isPermit(a)
                        ? permit(a).availablePermits()
                        : semaphore(a).availablePermits())),
                new Verb("acquired kind name", a -> "" + permit(a).acquiredPermits()));
    }

    private String acquire(Arguments a) throws InterruptedException {
        if (isPermit(a)) {
            return acquirePermits(a);
        }
        if (a.has("leaseMs")) {
            throw new IllegalArgumentException("a semaphore has no lease");
        }
        if (a.has("waitMs")) {
            return "" + semaphore(a).tryAcquire(a.count("n"), Duration.ofMillis(a.number("waitMs")));
        }
        semaphore(a).acquire(a.count("n"));
        return "";
    }

    private String acquirePermits(Arguments a) throws InterruptedException {
        RPermitExpirableSemaphore permits = permit(a);
        int n = a.count("n");
        if (n == 1) { // before 3.23.4 there is no other number
            String id = acquireOne(a, permits);
            return id == null ? "-" : id;
        }
        List<String> ids;
        if (a.has("waitMs")) {
            // -1 is Redisson's own "no lease": the permit never expires.
            long lease = a.has("leaseMs") ? a.number("leaseMs") : -1;
            ids = permits.tryAcquire(n, a.number("waitMs"), lease, MILLISECONDS);
        } else if (a.has("leaseMs")) {
            ids = permits.acquire(n, a.number("leaseMs"), MILLISECONDS);
        } else {
            ids = permits.acquire(n);
        }
        return ids == null || ids.isEmpty() ? "-" : String.join(",", ids);
    }

    private static String acquireOne(Arguments a, RPermitExpirableSemaphore permits) throws InterruptedException {
        if (a.has("waitMs")) {
            return permits.tryAcquire(a.number("waitMs"), a.has("leaseMs") ? a.number("leaseMs") : -1, MILLISECONDS);
        }
        return a.has("leaseMs") ? permits.acquire(a.number("leaseMs"), MILLISECONDS) : permits.acquire();
    }

    private String release(Arguments a) {
        if (!isPermit(a)) {
            semaphore(a).release(a.count("n|ids"));
            return "";
        }
        String[] ids = a.list("n|ids");
        // One is another script than a list of one: it publishes another number.
        if (ids.length == 1) {
            permit(a).release(ids[0]);
        } else {
            permit(a).release(List.of(ids));
        }
        return "";
    }

    private String setPermits(Arguments a) {
        if (a.has("ttlMs")) {
            return "" + semaphore(a).trySetPermits(a.count("n"), Duration.ofMillis(a.number("ttlMs")));
        }
        return "" + (isPermit(a) ? permit(a).trySetPermits(a.count("n")) : semaphore(a).trySetPermits(a.count("n")));
    }

    private String resize(Arguments a) {
        permit(a).setPermits(a.count("n"));
        return "";
    }

    private String addPermits(Arguments a) {
        if (isPermit(a)) {
            permit(a).addPermits(a.count("n"));
        } else {
            semaphore(a).addPermits(a.count("n"));
        }
        return "";
    }

    private static boolean isPermit(Arguments a) {
        return a.text("kind").equals("permit");
    }

    private RSemaphore semaphore(Arguments a) {
        if (!a.text("kind").equals("semaphore")) {
            throw Kinds.unfit(a.text("kind"));
        }
        return kinds.semaphore(a.text("name"));
    }

    private RPermitExpirableSemaphore permit(Arguments a) {
        if (!isPermit(a)) {
            throw Kinds.unfit(a.text("kind"));
        }
        return kinds.permit(a.text("name"));
    }
}

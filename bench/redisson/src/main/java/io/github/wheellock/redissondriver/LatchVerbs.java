package io.github.wheellock.redissondriver;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.List;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RObject;

/** Owns the verbs on count-down latches, and the two that latches share with other kinds: count and delete. */
final class LatchVerbs {

    private final Kinds kinds;

    LatchVerbs(Kinds kinds) {
        this.kinds = kinds;
    }

    List<Verb> all() {
        return List.of(
                new Verb("set-count name n", a -> "" + of(a).trySetCount(a.number("n"))),
                new Verb("count-down name", this::countDown),
                new Verb("await name thread [waitMs]", this::await),
                new Verb("count kind name [thread]", this::count),
                new Verb("delete kind name", a -> "" + object(a).delete()));
    }

    private RCountDownLatch of(Arguments a) {
        return kinds.latch(a.text("name"));
    }

    private String countDown(Arguments a) {
        of(a).countDown();
        return "";
    }

    private String await(Arguments a) throws InterruptedException {
        if (a.has("waitMs")) {
            return "" + of(a).await(a.number("waitMs"), MILLISECONDS);
        }
        of(a).await();
        return "";
    }

    /** What a latch has left; of a lock, the hold count of the thread this runs on. */
    private String count(Arguments a) {
        if (a.text("kind").equals("latch")) {
            return "" + of(a).getCount();
        }
        if (!a.has("thread")) {
            throw new IllegalArgumentException("the hold count of a lock is its thread's: name one");
        }
        return "" + kinds.lock(a.text("kind"), a.text("name")).getHoldCount();
    }

    private RObject object(Arguments a) {
        return switch (a.text("kind")) {
            case "latch" -> of(a);
            case "semaphore" -> kinds.semaphore(a.text("name"));
            case "permit" -> kinds.permit(a.text("name"));
            default -> throw Kinds.unfit(a.text("kind"));
        };
    }
}

package io.github.wheellock.redissondriver;

import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Owns the two keys that show whether a name is really exclusive. {@code <prefix>:<name>:count} is read and
 * written back as two commands on purpose: two in the section at once lose an increment.
 * {@code <prefix>:<name>:inside} counts who is in the section now. Another process may use the same keys.
 */
final class Counters {

    private final RedissonClient client;
    private final String prefix;

    Counters(RedissonClient client, String prefix) {
        this.client = client;
        this.prefix = prefix;
    }

    /** INCR of the inside key: true when nobody else was in. */
    boolean enter(String name) {
        return client.getAtomicLong(inside(name)).incrementAndGet() == 1;
    }

    /** DECR of the inside key. */
    void leave(String name) {
        client.getAtomicLong(inside(name)).decrementAndGet();
    }

    /** GET of the inside key: true when no writer is in. */
    boolean isEmpty(String name) {
        return read(inside(name)) == 0;
    }

    /** GET, then SET of one more. */
    void add(String name) {
        String key = prefix + ":" + name + ":count";
        long count = read(key);
        client.<String>getBucket(key, StringCodec.INSTANCE).set(Long.toString(count + 1));
    }

    private String inside(String name) {
        return prefix + ":" + name + ":inside";
    }

    private long read(String key) {
        String value = client.<String>getBucket(key, StringCodec.INSTANCE).get();
        return value == null ? 0 : Long.parseLong(value);
    }
}

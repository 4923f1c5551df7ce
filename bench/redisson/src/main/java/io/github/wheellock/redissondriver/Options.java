package io.github.wheellock.redissondriver;

import java.util.ArrayList;
import java.util.List;

/**
 * What the command line asked for. Owns the parsing of flags and nothing else.
 *
 * @param addresses at least one {@code redis://} address; several only with {@code --cluster}
 * @param cluster whether to speak to Redis Cluster
 * @param watchdogMs lock watchdog timeout in ms, 0 for Redisson's default (30000)
 * @param fairWaitMs fair lock wait timeout in ms, 0 for Redisson's default (300000)
 * @param prefix what the name mapper puts in front of every name, "" for no mapper
 * @param sharded which pub/sub a cluster client uses (shardedSubscriptionMode), "" for Redisson's default
 * @param codec {@code kryo5} or {@code json}, "" for Redisson's default
 * @param scriptCache {@code true} or {@code false} for useScriptCache, "" for Redisson's default
 */
record Options(
        List<String> addresses,
        boolean cluster,
        long watchdogMs,
        long fairWaitMs,
        String prefix,
        String sharded,
        String codec,
        String scriptCache) {

    static final String USAGE =
            "java -jar redisson-driver.jar --redis redis://HOST:PORT[,redis://HOST:PORT...] [--cluster]"
                    + " [--watchdog-ms N] [--fair-wait-ms N] [--prefix P] [--sharded AUTO|ON|OFF]"
                    + " [--codec kryo5|json] [--script-cache true|false]";

    /** Reads the flags; throws IllegalArgumentException that says which one is wrong. */
    static Options parse(String[] words) {
        List<String> addresses = new ArrayList<>();
        boolean cluster = false;
        long watchdogMs = 0;
        long fairWaitMs = 0;
        String prefix = "";
        String sharded = "";
        String codec = "";
        String scriptCache = "";
        for (int i = 0; i < words.length; i++) {
            switch (words[i]) {
                case "--redis" -> addresses.addAll(List.of(value(words, ++i).split(",")));
                case "--cluster" -> cluster = true;
                case "--watchdog-ms" -> watchdogMs = positive(words, ++i);
                case "--fair-wait-ms" -> fairWaitMs = positive(words, ++i);
                case "--prefix" -> prefix = value(words, ++i);
                case "--sharded" -> sharded = value(words, ++i);
                case "--codec" -> codec = value(words, ++i);
                case "--script-cache" -> scriptCache = value(words, ++i);
                default -> throw new IllegalArgumentException("unknown flag " + words[i]);
            }
        }
        if (addresses.isEmpty()) {
            throw new IllegalArgumentException("--redis is required");
        }
        if (addresses.size() > 1 && !cluster) {
            throw new IllegalArgumentException("several addresses need --cluster");
        }
        return new Options(List.copyOf(addresses), cluster, watchdogMs, fairWaitMs, prefix, sharded, codec, scriptCache);
    }

    private static String value(String[] words, int i) {
        if (i >= words.length) {
            throw new IllegalArgumentException(words[i - 1] + " needs a value");
        }
        return words[i];
    }

    private static long positive(String[] words, int i) {
        long number = Long.parseLong(value(words, i));
        if (number <= 0) {
            throw new IllegalArgumentException(words[i - 1] + " must be over 0");
        }
        return number;
    }
}

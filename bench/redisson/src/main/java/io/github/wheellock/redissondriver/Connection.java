package io.github.wheellock.redissondriver;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.BaseConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.NameMapper;
import org.redisson.config.SingleServerConfig;

/**
 * Owns the Redisson clients of this process: the one under test, with Redisson's defaults wherever the
 * command line says nothing, and a second one for the counters of {@link Contend}, made when first asked for.
 */
final class Connection implements AutoCloseable {

    /** Longer than any stall a test provokes: an INCR given up on would spoil the exclusion check. */
    private static final int COUNTERS_TIMEOUT_MS = 30_000;

    private final Options options;
    private final RedissonClient client;
    private RedissonClient counters; // guarded by this

    /** Connects, and fails with Redisson's own exception when it cannot. */
    Connection(Options options) {
        this.options = options;
        Config config = new Config();
        if (options.watchdogMs() > 0) {
            config.setLockWatchdogTimeout(options.watchdogMs());
        }
        if (options.fairWaitMs() > 0) {
            config.setFairLockWaitTimeout(options.fairWaitMs());
        }
        if (!options.prefix().isEmpty()) {
            config.setNameMapper(new Prefix(options.prefix()));
        }
        servers(config);
        this.client = Redisson.create(config);
    }

    /** The client under test. */
    RedissonClient client() {
        return client;
    }

    /** A plain client for counters: strings, names as given (no prefix), and nothing is ever sent twice. */
    synchronized RedissonClient counters() {
        if (counters == null) {
            Config config = new Config().setCodec(StringCodec.INSTANCE);
            servers(config).setRetryAttempts(0).setTimeout(COUNTERS_TIMEOUT_MS);
            counters = Redisson.create(config);
        }
        return counters;
    }

    /** Leaves what is locked locked: it ends when its lease does. */
    @Override
    public synchronized void close() {
        client.shutdown();
        if (counters != null) {
            counters.shutdown();
        }
    }

    private BaseConfig<?> servers(Config config) {
        if (options.cluster()) {
            ClusterServersConfig cluster = config.useClusterServers();
            cluster.addNodeAddress(options.addresses().toArray(String[]::new));
            return cluster.setShardedSubscriptionMode(options.sharded());
        }
        SingleServerConfig single = config.useSingleServer();
        return single.setAddress(options.addresses().get(0));
    }

    /** Puts the same text in front of every name. */
    private record Prefix(String text) implements NameMapper {
        @Override
        public String map(String name) {
            return text + name;
        }

        @Override
        public String unmap(String name) {
            return name.startsWith(text) ? name.substring(text.length()) : name;
        }
    }
}

package io.github.wheellock.redissondriver;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;
import org.redisson.client.codec.StringCodec;
import org.redisson.codec.JsonJacksonCodec;
import org.redisson.codec.Kryo5Codec;
import org.redisson.config.BaseConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ShardedSubscriptionMode;
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

    /** Connects, and fails with Redisson's own exception when it cannot; a LinkageError: it has no such setting. */
    Connection(Options options) {
        this.options = options;
        Config config = new Config();
        BaseConfig<?> servers = servers(config);
        if (options.watchdogMs() > 0) {
            config.setLockWatchdogTimeout(options.watchdogMs());
        }
        if (options.fairWaitMs() > 0) {
            config.setFairLockWaitTimeout(options.fairWaitMs());
        }
        if (!options.prefix().isEmpty()) {
            prefixNames(options.prefix(), config, servers);
        }
        if (!options.codec().isEmpty()) {
            config.setCodec(codec(options.codec()));
        }
        if (!options.scriptCache().isEmpty()) {
            config.setUseScriptCache(Boolean.parseBoolean(options.scriptCache()));
        }
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
            if (!options.sharded().isEmpty()) {
                cluster.setShardedSubscriptionMode(ShardedSubscriptionMode.valueOf(options.sharded()));
            }
            return cluster;
        }
        SingleServerConfig single = config.useSingleServer();
        return single.setAddress(options.addresses().get(0));
    }

    /** Puts a prefix in front of every name, by the NameMapper: before 4.0 it belongs to the servers and to another package. */
    private static void prefixNames(String prefix, Config config, BaseConfig<?> servers) {
        InvocationHandler mapper = (self, method, names) -> {
            String name = (String) names[0];
            return switch (method.getName()) {
                case "map" -> prefix + name;
                case "unmap" -> name.startsWith(prefix) ? name.substring(prefix.length()) : name;
                default -> throw new UnsupportedOperationException(method.toString());
            };
        };
        for (Object settings : List.of(config, servers)) {
            for (Method method : settings.getClass().getMethods()) {
                if (method.getName().equals("setNameMapper")) {
                    Class<?> type = method.getParameterTypes()[0];
                    Object proxy = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, mapper);
                    set(settings, method, proxy);
                    return;
                }
            }
        }
        throw new NoSuchMethodError("setNameMapper");
    }

    private static void set(Object settings, Method setter, Object value) {
        try {
            setter.invoke(settings, value);
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(setter.toString(), e);
        }
    }

    private static Codec codec(String name) {
        return switch (name) {
            case "kryo5" -> new Kryo5Codec();
            case "json" -> new JsonJacksonCodec();
            default -> throw new IllegalArgumentException("unknown codec " + name);
        };
    }
}

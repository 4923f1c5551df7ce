package io.github.wheellock.redissondriver;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/**
 * Owns a fixed number of threads, started before there is work and alive until closed, so that what they
 * allocate can still be read from them after the work.
 */
final class Crew implements AutoCloseable {

    private final int size;
    private final ThreadPoolExecutor pool;

    Crew(int size) {
        this.size = size;
        this.pool = (ThreadPoolExecutor) Executors.newFixedThreadPool(size, task -> {
            Thread thread = new Thread(task, "crew");
            thread.setDaemon(true);
            return thread;
        });
        pool.prestartAllCoreThreads();
    }

    /** Gives every thread its own work and returns what they brought, in order; fails when one of them did. */
    <T> List<T> run(IntFunction<Callable<T>> work) throws InterruptedException, ExecutionException {
        List<Callable<T>> shares = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            shares.add(work.apply(i));
        }
        List<T> results = new ArrayList<>();
        for (Future<T> share : pool.invokeAll(shares)) {
            results.add(share.get());
        }
        return results;
    }

    /** Returns when its threads have ended; their work has, unless run was interrupted. */
    @Override
    public void close() throws InterruptedException {
        pool.shutdownNow();
        pool.awaitTermination(1, TimeUnit.SECONDS);
    }
}

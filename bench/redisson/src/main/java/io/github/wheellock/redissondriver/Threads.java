package io.github.wheellock.redissondriver;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Owns the threads commands run on. A label is one thread for ever, since Redisson counts a lock as its
 * thread's; commands of one label run in the order they came. Commands without a label run side by side.
 */
final class Threads {

    private final Map<String, ExecutorService> labelled = new ConcurrentHashMap<>();
    private final ExecutorService free = Executors.newCachedThreadPool(task -> daemon(task, "free"));
    private final Phaser running = new Phaser(1); // one party for the owner, one per command

    void run(String label, Runnable command) {
        running.register();
        labelled.computeIfAbsent(label, Threads::single).execute(() -> finish(command));
    }

    void run(Runnable command) {
        running.register();
        free.execute(() -> finish(command));
    }

    /** Waits for the commands now running or queued, at most this long. Called once, by the reader. */
    void drain(long seconds) throws InterruptedException {
        try {
            running.awaitAdvanceInterruptibly(running.arrive(), seconds, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            System.err.println("driver: input ended, leaving " + running.getUnarrivedParties() + " commands behind");
        }
    }

    private void finish(Runnable command) {
        try {
            command.run();
        } finally {
            running.arriveAndDeregister();
        }
    }

    private static ExecutorService single(String label) {
        return Executors.newSingleThreadExecutor(task -> daemon(task, label));
    }

    // Daemons, so that a lock() that waits for ever does not keep the process.
    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }
}

package io.github.wheellock.redissondriver;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/**
 * What this process has used up to one moment. Owns the reading of the JVM's own meters.
 *
 * @param cpuNanos processor time of all threads, collector and compiler included
 * @param allocatedBytes heap allocated since birth by each thread alive at that moment, by thread id
 */
record Meter(long cpuNanos, Map<Long, Long> allocatedBytes) {

    static Meter read() {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
        long[] ids = threads.getAllThreadIds();
        long[] bytes = threads.getThreadAllocatedBytes(ids);
        Map<Long, Long> allocated = new HashMap<>();
        for (int i = 0; i < ids.length; i++) {
            allocated.put(ids[i], Math.max(0, bytes[i])); // -1: ended while we looked
        }
        return new Meter(system.getProcessCpuTime(), allocated);
    }

    long cpuNanosSince(Meter earlier) {
        return cpuNanos - earlier.cpuNanos;
    }

    /** Without the share of threads that ended in between: their meter ended with them. */
    long allocatedBytesSince(Meter earlier) {
        return allocatedBytes.entrySet().stream()
                .mapToLong(now -> now.getValue() - earlier.allocatedBytes.getOrDefault(now.getKey(), 0L))
                .sum();
    }
}

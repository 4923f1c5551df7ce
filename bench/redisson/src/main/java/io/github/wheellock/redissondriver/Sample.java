package io.github.wheellock.redissondriver;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/**
 * What this process measured of one load, as bench/peers reads it: the sample of its child.go.
 *
 * @param nanos times in ns, one for each pair or hand-over
 * @param failed calls that ended with an exception
 * @param lost hand-overs that did not come
 * @param broken times that somebody else had the lock as well
 */
record Sample(
        double seconds,
        long pairs,
        Histogram nanos,
        long cpuNanos,
        long allocatedBytes,
        long failed,
        long lost,
        long broken) {

    /** JSON, with the histogram in its usual text form. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, """
                {"Seconds":%.6f,"Pairs":%d,"Waits":"%s","Usage":{"cpu_ns":%d,"bytes":%d},"Failed":%d,"Lost":%d,"Broken":%d}""",
                seconds, pairs, text(nanos), cpuNanos, allocatedBytes, failed, lost, broken);
    }

    private static String text(Histogram histogram) {
        ByteBuffer bytes = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(bytes);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(bytes.array(), length));
    }
}

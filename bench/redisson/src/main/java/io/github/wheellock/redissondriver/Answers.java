package io.github.wheellock.redissondriver;

import java.io.PrintStream;

/** Owns stdout: one whole line per answer, from any thread, flushed at once. */
final class Answers {

    private final PrintStream out;

    Answers(PrintStream out) {
        this.out = out;
    }

    void ready(String version, String clientId) {
        line("ready " + version + " " + clientId);
    }

    void ok(String id, String result) {
        line(result.isEmpty() ? id + " ok" : id + " ok " + result);
    }

    void err(String id, Throwable cause) {
        String message = cause.getMessage() == null ? "no message" : cause.getMessage();
        // Redisson wraps what it did not expect; the caller wants to know what that was.
        if (cause.getCause() != null) {
            message += " (" + cause.getCause() + ")";
        }
        line(id + " err " + cause.getClass().getSimpleName() + " " + message.replaceAll("\\s+", " ").strip());
    }

    private synchronized void line(String text) {
        out.print(text + "\n");
        out.flush();
    }
}

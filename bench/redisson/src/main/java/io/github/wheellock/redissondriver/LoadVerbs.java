package io.github.wheellock.redissondriver;

import java.util.List;

/** Owns the verbs that bring their own threads: contend and bench. */
final class LoadVerbs {

    private final Connection connection;
    private final Kinds kinds;

    LoadVerbs(Connection connection, Kinds kinds) {
        this.connection = connection;
        this.kinds = kinds;
    }

    List<Verb> all() {
        return List.of(
                new Verb("contend kind names threads seconds counterPrefix [waitMs [holdMs]]", this::contend),
                new Verb("bench kind mode threads seconds", this::bench));
    }

    private String contend(Arguments a) throws Exception {
        Counters counters = new Counters(connection.counters(), a.text("counterPrefix"));
        long waitMs = a.has("waitMs") ? a.number("waitMs") : 0;
        long holdMs = a.has("holdMs") ? a.number("holdMs") : 0;
        return new Contend(kinds, counters, a.text("kind"), List.of(a.list("names")), waitMs, holdMs)
                .run(a.count("threads"), a.secondsAsNanos("seconds"));
    }

    private String bench(Arguments a) throws Exception {
        return new Bench(kinds, a.text("kind"), a.text("mode"), connection.client().getId())
                .run(a.count("threads"), a.secondsAsNanos("seconds"));
    }
}

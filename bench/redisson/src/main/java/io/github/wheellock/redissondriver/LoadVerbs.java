package io.github.wheellock.redissondriver;

import java.util.List;

/** Owns the verbs that measure or check something for a while: contend, bench and handover; and the clock of the last. */
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
                new Verb("bench kind mode threads seconds", this::bench),
                new Verb("handover kind name process memory settleMs seconds", this::handover),
                new Verb("now", a -> "" + Handover.now()));
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
                .run(a.count("threads"), a.secondsAsNanos("seconds")).toString();
    }

    private String handover(Arguments a) throws Exception {
        return new Handover(kinds, a.text("kind"), a.text("name"), a.count("process"), a.text("memory"), a.number("settleMs"))
                .run(a.secondsAsNanos("seconds")).toString();
    }
}

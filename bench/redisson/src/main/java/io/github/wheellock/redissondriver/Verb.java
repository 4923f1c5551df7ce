package io.github.wheellock.redissondriver;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One thing the driver can be asked to do. Owns its usage line, which is also how its words are read:
 * names in order, those in brackets optional.
 */
final class Verb {

    /** What a verb does. The text it returns follows "ok"; "" when there is nothing to say. */
    interface Body {
        String run(Arguments arguments) throws Exception;
    }

    private final String usage;
    private final String name;
    private final List<String> parameters;
    private final long required;
    private final Body body;

    Verb(String usage, Body body) {
        List<String> words = List.of(usage.split(" "));
        this.usage = usage;
        this.name = words.get(0);
        this.parameters = words.stream().skip(1).map(word -> word.replaceAll("[\\[\\]]", "")).toList();
        // Once a bracket has opened, all that follows is optional: it closes at the end of the line.
        this.required = words.stream().skip(1).takeWhile(word -> !word.startsWith("[")).count();
        this.body = body;
    }

    String name() {
        return name;
    }

    String usage() {
        return usage;
    }

    /** Names the words after the verb; throws IllegalArgumentException with the usage when they do not fit. */
    Arguments bind(List<String> words) {
        if (words.size() < required || words.size() > parameters.size()) {
            throw new IllegalArgumentException("usage: id " + usage);
        }
        Map<String, String> named = new LinkedHashMap<>();
        for (int i = 0; i < words.size(); i++) {
            boolean leftOut = i >= required && words.get(i).equals("-");
            if (!leftOut) {
                named.put(parameters.get(i), words.get(i));
            }
        }
        return new Arguments(named);
    }

    String run(Arguments arguments) throws Exception {
        return body.run(arguments);
    }
}

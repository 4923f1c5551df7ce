package io.github.wheellock.redissondriver;

import java.util.Map;

/**
 * The words of one command, by the names its verb's usage gives them. Owns their conversion.
 *
 * <p>An optional argument written as {@code -} counts as left out, so a later one can still be given.
 */
final class Arguments {

    private final Map<String, String> words;

    Arguments(Map<String, String> words) {
        this.words = words;
    }

    boolean has(String name) {
        return words.containsKey(name);
    }

    String text(String name) {
        String word = words.get(name);
        if (word == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return word;
    }

    String[] list(String name) {
        return text(name).split(",");
    }

    long number(String name) {
        String word = text(name);
        try {
            return Long.parseLong(word);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + " is not a whole number: " + word, e);
        }
    }

    int count(String name) {
        return Math.toIntExact(number(name));
    }

    /** A duration in seconds, fractions allowed, as nanoseconds. */
    long secondsAsNanos(String name) {
        String word = text(name);
        try {
            return Math.round(Double.parseDouble(word) * 1e9);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + " is not a number: " + word, e);
        }
    }
}

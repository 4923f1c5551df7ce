package io.github.wheellock.redissondriver;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.redisson.Redisson;

/**
 * A real Redisson client in a process of its own, driven by lines: {@code <id> <verb> args...} on stdin,
 * exactly one {@code <id> ok ...} or {@code <id> err ...} on stdout for each, as they finish. Owns the line
 * loop and the end of the process; the verbs are in {@link LockVerbs}, {@link SemaphoreVerbs},
 * {@link LatchVerbs} and {@link LoadVerbs}, the threads they run on in {@link Threads}.
 */
public final class Driver {

    private static final long DRAIN_SECONDS = 10;
    private static final int KILLED = 137; // what a shell reports for SIGKILL

    private final Connection connection;
    private final Answers answers;
    private final Threads threads = new Threads();
    private final Map<String, Verb> verbs = new LinkedHashMap<>();

    private Driver(Connection connection, Answers answers) {
        this.connection = connection;
        this.answers = answers;
        Kinds kinds = new Kinds(connection.client());
        Stream.of(
                        new LockVerbs(kinds, connection.client().getId()).all(),
                        new SemaphoreVerbs(kinds).all(),
                        new LatchVerbs(kinds).all(),
                        new LoadVerbs(connection, kinds).all(),
                        List.of(new Verb("help", a -> help())))
                .flatMap(List::stream)
                .forEach(verb -> verbs.put(verb.name(), verb));
    }

    public static void main(String[] words) throws Exception {
        // Answers own stdout; whatever any library prints goes to stderr.
        Answers answers = new Answers(new PrintStream(System.out, false, StandardCharsets.UTF_8));
        System.setOut(System.err);
        Connection connection;
        try {
            connection = new Connection(Options.parse(words));
        } catch (RuntimeException e) {
            System.err.println("driver: " + e + System.lineSeparator() + "usage: " + Options.USAGE);
            System.exit(2);
            return;
        } catch (LinkageError e) {
            System.err.println("driver: this Redisson has no such setting: " + e);
            System.exit(3);
            return;
        }
        answers.ready(Redisson.class.getPackage().getImplementationVersion(), connection.client().getId());
        new Driver(connection, answers).serve();
    }

    /** Obeys until the input ends, which is how a driver whose parent has died goes too. */
    private void serve() throws IOException, InterruptedException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isBlank()) {
                obey(List.of(line.strip().split("\\s+")));
            }
        }
        threads.drain(DRAIN_SECONDS);
        connection.close();
        System.exit(0);
    }

    private void obey(List<String> words) {
        String id = words.get(0);
        String name = words.size() > 1 ? words.get(1) : "";
        switch (name) {
            case "kill" -> kill(id);
            case "quit" -> quit(id);
            default -> start(id, name, words);
        }
    }

    private void start(String id, String name, List<String> words) {
        try {
            Verb verb = verbs.get(name);
            if (verb == null) {
                throw new IllegalArgumentException("no verb \"" + name + "\"; help lists them");
            }
            Arguments arguments = verb.bind(words.subList(2, words.size()));
            Runnable command = () -> answer(id, verb, arguments);
            if (arguments.has("thread")) {
                threads.run(arguments.text("thread"), command);
            } else {
                threads.run(command);
            }
        } catch (IllegalArgumentException e) {
            answers.err(id, e);
        }
    }

    private void answer(String id, Verb verb, Arguments arguments) {
        String result;
        try {
            result = verb.run(arguments);
        } catch (Throwable e) { // even an Error is owed its one line
            answers.err(id, e);
            return;
        }
        answers.ok(id, result);
    }

    private String help() {
        String usages = verbs.values().stream().map(Verb::usage).collect(Collectors.joining(" ; "));
        return usages + " ; kill ; quit ; kinds: " + Kinds.NAMES;
    }

    /** Dies as if by SIGKILL: no goodbye to Redis, locks stay until their lease ends. */
    private void kill(String id) {
        answers.ok(id, "");
        Runtime.getRuntime().halt(KILLED);
    }

    /** Closes the clients. Commands still running may end in an error or without an answer. */
    private void quit(String id) {
        connection.close();
        answers.ok(id, "");
        System.exit(0);
    }
}

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/** Reads requests and writes answers: the protocol of README.md. */
final class Line {
    /** A lock that it has is kept inside. */
    interface Library {
        void open(List<URI> nodes) throws Exception;

        Locked lock(String key, long ttl, int tries) throws Exception;

        void unlock() throws Exception;

        void extend(long ttl) throws Exception;
    }

    /** What a library tells of its lock; null is what it does not tell. */
    record Locked(String value, Long validity, Long token) {}

    /** Somebody else has the lock. */
    static final class Refused extends Exception {
        Refused(String why) {
            super(why);
        }
    }

    /** The lock had ended before it was released or extended. */
    static final class Gone extends Exception {
        Gone(Exception why) {
            super(why.toString());
        }
    }

    /** Milliseconds between two tries. */
    static final long PAUSE = 10;

    private final Library library;
    private final PrintStream out;

    private Line(Library library, PrintStream out) {
        this.library = library;
        this.out = out;
    }

    static void serve(Library library, String[] words) throws Exception {
        Line line = new Line(library, System.out);
        // Whatever a library prints is for people.
        System.setOut(System.err);
        if (words.length > 2 && words[0].equals("cycles")) {
            line.measure(Integer.parseInt(words[1]), Arrays.asList(words).subList(2, words.length));
        } else {
            line.answerAll();
        }
        line.out.flush();
        // Not to wait for the threads of a library, which go on.
        Runtime.getRuntime().halt(0);
    }

    /** Locks and unlocks new keys, and prints what each cycle took, in microseconds. The first tenth warms up. */
    private void measure(int count, List<String> urls) throws Exception {
        open(urls);
        for (int number = -count / 10; number < count; number++) {
            long started = System.nanoTime();
            library.lock("lone:" + started, 10_000, 1);
            library.unlock();
            if (number >= 0) {
                out.println((System.nanoTime() - started) / 1_000);
            }
        }
    }

    private void answerAll() throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null && !line.equals("quit"); line = lines.readLine()) {
            out.println(answer(line).replace('\n', ' '));
            out.flush();
        }
    }

    private String answer(String line) {
        List<String> words = Arrays.asList(line.split(" "));
        try {
            switch (words.get(0)) {
                case "open":
                    open(words.subList(1, words.size()));
                    return "ready";
                case "lock":
                    Locked locked = library.lock(words.get(1), Long.parseLong(words.get(2)), Integer.parseInt(words.get(3)));
                    String token = locked.token() == null ? "" : " " + locked.token();
                    return "locked " + told(locked.value()) + " " + told(locked.validity()) + token;
                case "unlock":
                    library.unlock();
                    return "unlocked";
                case "extend":
                    library.extend(Long.parseLong(words.get(1)));
                    return "extended";
                default:
                    return "failed there is no request " + words.get(0);
            }
        } catch (Refused refused) {
            return "refused " + refused.getMessage();
        } catch (Gone gone) {
            return "gone " + gone.getMessage();
        } catch (Exception | LinkageError error) {
            error.printStackTrace();
            return "failed " + error.getClass().getSimpleName() + ": " + error.getMessage();
        }
    }

    private static String told(Object what) {
        return what == null ? "?" : what.toString();
    }

    /** A lock of nobody's interest makes the machine load what it needs, so that none of the real ones waits for that. */
    private void open(List<String> urls) throws Exception {
        library.open(urls.stream().map(URI::create).toList());
        for (int number = 0; number < 3; number++) {
            try {
                library.lock("warm:" + UUID.randomUUID(), 10_000, 1);
                library.unlock();
            } catch (Exception error) {
                // A node may be away; who asks for a lock is told.
                System.err.println("warming up: " + error);
            }
        }
    }
}

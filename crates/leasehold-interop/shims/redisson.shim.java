import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisTimeoutException;
import org.redisson.config.Config;
import org.redisson.config.ConstantDelay;

/** Redisson's locks: which of them, the property `peer` says. */
final class Shim implements Line.Library {
    private final String peer = System.getProperty("peer");
    private final List<RedissonClient> nodes = new ArrayList<>();
    private RLock held;

    public static void main(String[] words) throws Exception {
        Line.serve(new Shim(), words);
    }

    @Override
    public void open(List<URI> urls) {
        for (URI url : urls) {
            Config config = new Config();
            // A node that is away is no error before it is asked.
            config.setLazyInitialization(true).setThreads(2).setNettyThreads(2);
            ConstantDelay atOnce = new ConstantDelay(java.time.Duration.ofMillis(1));
            config.useSingleServer()
                    .setAddress(url.toString())
                    .setRetryAttempts(0)
                    .setRetryDelay(atOnce)
                    .setReconnectionDelay(atOnce)
                    .setConnectionMinimumIdleSize(1)
                    .setConnectionPoolSize(4)
                    .setSubscriptionConnectionPoolSize(2);
            nodes.add(Redisson.create(config));
        }
    }

    private RLock lockOf(String key) {
        RLock[] each = nodes.stream().map(node -> node.getLock(key)).toArray(RLock[]::new);
        return switch (peer) {
            case "redisson" -> each[0];
            case "redisson-fenced" -> nodes.get(0).getFencedLock(key);
            case "redisson-redlock" -> new RedissonRedLock(each);
            case "redisson-multilock" -> new RedissonMultiLock(each);
            default -> throw new IllegalArgumentException(peer + " is none of its locks");
        };
    }

    @Override
    public Line.Locked lock(String key, long ttl, int tries) throws Exception {
        try {
            return tryLock(lockOf(key), ttl, tries);
        } catch (RedisTimeoutException error) {
            // So it ends, instead of with false, where it has not even begun to wait when its time is over.
            if (!String.valueOf(error.getMessage()).contains("subscription lock")) {
                throw error;
            }
            throw new Line.Refused(error.getMessage());
        }
    }

    private Line.Locked tryLock(RLock lock, long ttl, int tries) throws Exception {
        Long token = null;
        boolean isLocked = false;
        if (lock instanceof RFencedLock fenced) {
            token = fenced.tryLockAndGetToken(wait(tries), ttl, TimeUnit.MILLISECONDS);
            isLocked = token != null;
        } else if (lock instanceof RedissonMultiLock) {
            // While it waits it locks each node for twice the wait only, and lengthens that when it has them all.
            for (int number = 0; number < tries && !isLocked; number++) {
                if (number > 0) {
                    Thread.sleep(Line.PAUSE);
                }
                isLocked = lock.tryLock(0, ttl, TimeUnit.MILLISECONDS);
            }
        } else {
            isLocked = lock.tryLock(wait(tries), ttl, TimeUnit.MILLISECONDS);
        }
        if (!isLocked) {
            throw new Line.Refused("tryLock is " + (lock instanceof RFencedLock ? "null" : "false"));
        }
        held = lock;
        // What stands under the key is a field for each holder: its client and its thread.
        return new Line.Locked(null, null, token);
    }

    private static long wait(int tries) {
        return (tries - 1) * Line.PAUSE;
    }

    @Override
    public void unlock() throws Exception {
        try {
            held.unlock();
        } catch (IllegalMonitorStateException error) {
            throw new Line.Gone(error);
        }
    }

    @Override
    public void extend(long ttl) {
        throw new UnsupportedOperationException("it extends by itself, and not when it is asked to");
    }
}

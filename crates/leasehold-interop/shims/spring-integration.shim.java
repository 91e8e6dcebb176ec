import java.net.URI;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.locks.DistributedLock;

final class Shim implements Line.Library {
    private RedisLockRegistry registry;
    private DistributedLock held;
    private String key;

    public static void main(String[] words) throws Exception {
        Line.serve(new Shim(), words);
    }

    @Override
    public void open(List<URI> urls) {
        URI url = urls.get(0);
        LettuceConnectionFactory factory = new LettuceConnectionFactory(url.getHost(), url.getPort());
        factory.afterPropertiesSet();
        factory.start();
        registry = new RedisLockRegistry(factory, "locks");
        registry.setIdleBetweenTries(Duration.ofMillis(Line.PAUSE));
    }

    @Override
    public Line.Locked lock(String name, long ttl, int tries) throws Exception {
        DistributedLock lock = registry.obtain(name);
        Duration patience = Duration.ofMillis((tries - 1) * Line.PAUSE);
        if (!lock.tryLock(patience, Duration.ofMillis(ttl))) {
            throw new Line.Refused("tryLock is false");
        }
        held = lock;
        key = name;
        // The value is the registry's, and is not told.
        return new Line.Locked(null, null, null);
    }

    @Override
    public void unlock() throws Exception {
        try {
            held.unlock();
        } catch (ConcurrentModificationException | IllegalStateException error) {
            throw new Line.Gone(error);
        }
    }

    @Override
    public void extend(long ttl) throws Exception {
        try {
            registry.renewLock(key, Duration.ofMillis(ttl));
        } catch (IllegalStateException error) {
            throw new Line.Gone(error);
        }
    }
}

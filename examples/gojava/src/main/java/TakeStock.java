import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** Takes from the stock under the lock that main.go uses, too. */
public class TakeStock {
    public static void main(String[] args) {
        String url = args.length > 0 ? args[0] : "redis://127.0.0.1:6379";
        int take = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        Config config = new Config();
        config.useSingleServer().setAddress(url);
        RedissonClient redisson = Redisson.create(config);
        try {
            RLock lock = redisson.getLock("stock:7"); // e.Mutex("stock:7")
            RBucket<String> stock = redisson.getBucket("stock:7:count", StringCodec.INSTANCE);
            for (int i = 0; i < take; i++) {
                lock.lock();
                try {
                    String before = stock.get();
                    stock.set(Long.toString((before == null ? 0 : Long.parseLong(before)) - 1));
                } finally {
                    lock.unlock();
                }
            }
            System.out.println("java: took " + take);
        } finally {
            redisson.shutdown();
        }
    }
}

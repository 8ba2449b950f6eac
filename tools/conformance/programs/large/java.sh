# Uses Java's monitors, locks, tables and garbage collector. Prints three sums, and a count of a
# parallel stream. $1 is the folder, and $2 the number of threads.
cd "$1"; threads=$2
cat >Work.java <<'JAVA'
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

public class Work {
    static long total;
    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        var pool = Executors.newFixedThreadPool(2 * threads);
        var lock = new ReentrantLock();
        var notEmpty = lock.newCondition();
        var queue = new ArrayDeque<Integer>();
        var taken = new LongAdder();
        var table = new ConcurrentHashMap<Integer, Integer>();
        var done = new ArrayList<Future<?>>();
        for (int t = 0; t < threads; t++) {
            int first = t;
            done.add(pool.submit(() -> {
                for (int n = first; n < 20000; n += threads) {
                    synchronized (Work.class) { total += n; }
                    table.merge(n % 100, 1, Integer::sum);
                    lock.lock();
                    try { queue.add(n); notEmpty.signal(); } finally { lock.unlock(); }
                }
            }));
            done.add(pool.submit(() -> {
                for (int n = first; n < 20000; n += threads) {
                    lock.lock();
                    try {
                        while (queue.isEmpty()) notEmpty.await();
                        taken.add(queue.remove());
                    } finally { lock.unlock(); }
                }
                return null;
            }));
            // Garbage for the collector's threads.
            var garbage = new ArrayList<byte[]>();
            for (int n = 0; n < 200; n++) {
                garbage.add(new byte[100000]);
                if (n % 50 == 0) garbage.clear();
            }
        }
        for (var future : done) future.get();
        pool.shutdown();
        int counted = table.values().stream().mapToInt(n -> n).sum();
        System.out.println(total + " " + taken.sum() + " " + counted);
        System.out.println(IntStream.range(0, 1000000).parallel().filter(n -> n % 7 == 3).count());
    }
}
JAVA
java -Xmx256m Work.java "$threads"

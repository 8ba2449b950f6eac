// Threads that share locks and queues, in a Java virtual machine. Each line of the output is the
// number of rounds so far that were right.
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.locks.LockSupport;

public final class Busy {
    private static long counted;

    private static synchronized void count() {
        counted++;
    }

    public static void main(String[] words) throws Exception {
        long expected = 0;
        System.out.println("ready");
        for (int round = 1;; round++) {
            var queue = new ArrayBlockingQueue<Integer>(16);
            var threads = new Thread[4];
            var failed = new boolean[1];
            for (int n = 0; n < threads.length; n++) {
                threads[n] = new Thread(() -> {
                    for (int i = 0; i < 2000; i++) {
                        count();
                        if (i % 100 == 0) {
                            queue.offer(i);
                            LockSupport.parkNanos(100_000);
                            queue.poll();
                        }
                    }
                });
                threads[n].start();
            }
            for (var thread : threads) {
                thread.join();
            }
            expected += 4 * 2000;
            if (counted != expected || failed[0]) {
                System.out.println("wrong: " + counted + " of " + expected);
                System.exit(1);
            }
            System.out.println(round);
        }
    }
}

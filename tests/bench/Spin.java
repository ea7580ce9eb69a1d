// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;

/** spin.cpp in Java: Spin SECONDS THREADS, or Spin - THREADS. Work in the first second of each leg, while code is compiled, does not count. */
final class Spin {
  private static final int DEPTH = 20;
  private static final int TURNS = 200;
  private static final long WARM_NS = 1_000_000_000L;
  private static final AtomicLong rounds = new AtomicLong();
  private static final AtomicLong cpu = new AtomicLong();
  private static final AtomicLong values = new AtomicLong();

  private Spin() {}

  private static long work(int depth, long value) {
    if (depth > 0) return work(depth - 1, value ^ depth) + 1;
    for (int i = 0; i < TURNS; i++) value = value * 6364136223846793005L + 1442695040888963407L;
    return value;
  }

  private static void spin(long end) {
    long value = 0;
    for (long warm = System.nanoTime() + WARM_NS; System.nanoTime() < warm; ) value = work(DEPTH, value);
    long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    long done = 0;
    while (System.nanoTime() < end)
      for (int i = 0; i < 1000; i++, done++) value = work(DEPTH, value);
    cpu.addAndGet(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before);
    rounds.addAndGet(done);
    values.addAndGet(value);
  }

  private static void runLeg(double seconds, int number) throws InterruptedException {
    rounds.set(0);
    cpu.set(0);
    long end = System.nanoTime() + WARM_NS + (long) (seconds * 1e9);
    Thread[] threads = new Thread[number];
    for (int i = 0; i < threads.length; i++) {
      threads[i] = new Thread(() -> spin(end));
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
    System.out.println("{\"rounds\": " + rounds + ", \"cpu_ns\": " + cpu + ", \"value\": " + values + "}");
  }

  public static void main(String[] words) throws InterruptedException {
    int threads = Integer.parseInt(words[1]);
    if (!words[0].equals("-")) {
      runLeg(Double.parseDouble(words[0]), threads);
      return;
    }
    Scanner seconds = new Scanner(System.in);
    while (seconds.hasNextDouble()) runLeg(seconds.nextDouble(), threads);
  }
}

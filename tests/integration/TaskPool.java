// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Runs tasks as executors of Spark do: a thread of a pool gets the name of its task, and keeps it until its next one. Arguments: the
 * stage, the number of tasks, and the remainder by 8 of the indices of slow tasks. Starts at a line of its input; prints a line per
 * task: index, number, start and end in ms, CPU time in ns. Ends at the end of its input.
 */
public class TaskPool {
  static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
  static volatile long x;

  static void work() { for (int i = 0; i < 20_000; ++i) x = x * 3 + 1; }

  // Short calls, many times, so that they are compiled and have names.
  static void usual() { work(); work(); }

  static void planted() { work(); work(); }

  static void repeat(Runnable function, long ms) {
    long end = CLOCK.getCurrentThreadCpuTime() + ms * 1_000_000;
    while (CLOCK.getCurrentThreadCpuTime() < end) function.run();
  }

  static synchronized void print(String line) {
    System.out.println(line);
    System.out.flush();
  }

  static void task(String stage, int index, int number, boolean isSlow) {
    Thread.currentThread().setName("Executor task launch worker for task " + index + ".0 in stage " + stage + ".0 (TID " + number + ")");
    long begin = System.currentTimeMillis(), cpu = CLOCK.getCurrentThreadCpuTime();
    repeat(TaskPool::usual, 600);
    if (isSlow) repeat(TaskPool::planted, 1500);
    print(index + " " + number + " " + begin + " " + System.currentTimeMillis() + " " + (CLOCK.getCurrentThreadCpuTime() - cpu));
  }

  public static void main(String[] words) throws Exception {
    String stage = words[0];
    int tasks = Integer.parseInt(words[1]), slow = Integer.parseInt(words[2]);
    repeat(TaskPool::usual, 1500);
    repeat(TaskPool::planted, 1500);
    print("ready");
    System.in.read();
    ExecutorService pool = Executors.newFixedThreadPool(2, run -> new Thread(run, "Executor task launch worker-0"));
    for (int i = 0; i < tasks; ++i) {
      final int index = i;
      pool.submit(() -> task(stage, index, 100 + index, index % 8 == slow));
    }
    pool.shutdown();
    pool.awaitTermination(1, TimeUnit.HOURS);
    print("done");
    while (System.in.read() >= 0) continue;
  }
}

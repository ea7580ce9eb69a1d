// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayDeque;

/** Makes garbage in a small heap, and keeps some of it for a while. */
public class Churn {
  public static void main(String[] arguments) {
    long until = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
    ArrayDeque<byte[]> kept = new ArrayDeque<>();
    long sum = 0;
    while (System.nanoTime() < until) {
      kept.add(new byte[1024]);
      if (kept.size() > 40_000) kept.poll();
      sum += word(kept.size()).length();
    }
    System.err.println(sum);
  }

  static String word(int number) {
    return "word " + number;
  }
}

// SPDX-License-Identifier: Apache-2.0
// A code region: each call of a method is a span of level region. Set your class, method and name here.
import static org.openjdk.btrace.core.BTraceUtils.println;
import static org.openjdk.btrace.core.BTraceUtils.timeMillis;
import static org.openjdk.btrace.core.BTraceUtils.timeNanos;

import org.openjdk.btrace.core.annotations.BTrace;
import org.openjdk.btrace.core.annotations.Duration;
import org.openjdk.btrace.core.annotations.Kind;
import org.openjdk.btrace.core.annotations.Location;
import org.openjdk.btrace.core.annotations.OnMethod;

@BTrace
public class Region {
  // Unix time at 0 of the nanosecond clock, so that two calls in one millisecond are two spans.
  private static long zero = timeMillis() * 1000000L - timeNanos();

  @OnMethod(clazz = "com.example.Parser", method = "parse", location = @Location(Kind.RETURN))
  public static void parsed(@Duration long ns) {
    long end = zero + timeNanos();
    println("atalaya span region name=parse start=" + (end - ns) + " end=" + end);
  }
}

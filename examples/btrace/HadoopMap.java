// SPDX-License-Identifier: Apache-2.0
// The phases of a Hadoop map task (MapReduce 2 and 3) as phase lines: read, map, collect, spill, merge.
//
// read, map and collect take turns with each record. They are told when the mapper ends, one behind the other from its begin, each as
// long as it took in total: their lengths and bytes are measured, their places are not. spill and merge are told as they happen, each
// spill by itself, with the bytes that were written.
//
// A task's JVM runs one attempt; its id is the third argument of its main class.
import static org.openjdk.btrace.core.BTraceUtils.Reflective.getLong;
import static org.openjdk.btrace.core.BTraceUtils.Strings.lastIndexOf;
import static org.openjdk.btrace.core.BTraceUtils.Strings.substr;
import static org.openjdk.btrace.core.BTraceUtils.indexOf;
import static org.openjdk.btrace.core.BTraceUtils.println;
import static org.openjdk.btrace.core.BTraceUtils.timeMillis;

import org.openjdk.btrace.core.annotations.BTrace;
import org.openjdk.btrace.core.annotations.Duration;
import org.openjdk.btrace.core.annotations.Kind;
import org.openjdk.btrace.core.annotations.Location;
import org.openjdk.btrace.core.annotations.OnMethod;
import org.openjdk.btrace.core.annotations.Return;
import org.openjdk.btrace.core.annotations.Self;
import org.openjdk.btrace.core.annotations.TLS;
import org.openjdk.btrace.core.types.AnyType;

@BTrace
public class HadoopMap {
  private static String task = "";  // the keys of this attempt
  private static long began;        // the mapper, ns since 1970
  private static long reading, collecting;  // ns in total
  private static long firstRead, lastRead;  // the file system's count of bytes
  private static boolean anyRead;
  private static long collected, records;

  @TLS private static long phaseBegan;  // ns since 1970, of the spill or merge of this thread
  @TLS private static long written;     // bytes of the files closed in it
  @TLS private static int inCollect;    // spills of the same thread belong to no collect

  @OnMethod(clazz = "org.apache.hadoop.mapred.YarnChild", method = "main")
  public static void start(String[] arguments) {
    String attempt = arguments[2];
    int kind = indexOf(attempt, "_m_");
    if (kind > 0) {
      task = " framework=hadoop stage=map job=job_" + substr(attempt, 8, kind) + " task=task_"
          + substr(attempt, 8, lastIndexOf(attempt, "_")) + " attempt=" + attempt;
    }
  }

  // ---- The mapper, by the new interface and the old one ----------------------------------------------------------------------

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask", method = "/run(New|Old)Mapper/")
  public static void mapperBegins() {
    began = timeMillis() * 1000000L;
    reading = collecting = collected = records = firstRead = lastRead = 0;
    anyRead = false;
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask", method = "/run(New|Old)Mapper/", location = @Location(Kind.RETURN))
  public static void mapperEnds() {
    long read = began + reading;
    long collect = timeMillis() * 1000000L - collecting;
    long bytes = lastRead - firstRead;
    if (collect > read) {
      println("atalaya span phase phase=read" + task + " start=" + began + " end=" + read + " bytes=" + bytes + " records=" + records);
      println("atalaya span phase phase=map" + task + " start=" + read + " end=" + collect + " bytes=" + bytes + " records=" + records);
      println("atalaya span phase phase=collect" + task + " start=" + collect + " end=" + (collect + collecting) + " bytes=" + collected);
    }
  }

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapred\\.MapTask\\$(NewTrackingRecordReader|TrackedRecordReader)/",
      method = "/nextKeyValue|next/", location = @Location(Kind.RETURN))
  public static void recordRead(@Return boolean more, @Duration long ns) {
    reading = reading + ns;
    if (more) {
      records = records + 1;
    }
  }

  // Called before and after each record.
  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapred\\.MapTask\\$(NewTrackingRecordReader|TrackedRecordReader)/",
      method = "getInputBytes", location = @Location(Kind.RETURN))
  public static void inputBytes(@Return long bytes) {
    if (!anyRead) {
      firstRead = bytes;
    }
    anyRead = true;
    lastRead = bytes;
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask$MapOutputBuffer", method = "collect")
  public static void collectBegins() {
    inCollect = 1;
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask$MapOutputBuffer", method = "collect", location = @Location(Kind.RETURN))
  public static void collectEnds(@Duration long ns) {
    inCollect = 0;
    collecting = collecting + ns;
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask$MapOutputBuffer$Buffer", method = "write")
  public static void bytesCollected(AnyType bytes, int offset, int length) {
    if (inCollect == 1) {
      collected = collected + length;
    }
  }

  // ---- Spills, by a thread of their own or at the end, and the merge of their files -----------------------------------------------

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask$MapOutputBuffer", method = "/sortAndSpill|mergeParts/")
  public static void phaseBegins() {
    phaseBegan = timeMillis() * 1000000L;
    written = 0;
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.IFile$Writer", method = "close", location = @Location(Kind.RETURN))
  public static void fileClosed(@Self Object writer) {
    written = written + getLong("compressedBytesWritten", writer);
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask$MapOutputBuffer", method = "sortAndSpill", location = @Location(Kind.RETURN))
  public static void spillEnds(@Duration long ns) {
    println("atalaya span phase phase=spill source=memory" + task + " start=" + phaseBegan + " end=" + (phaseBegan + ns) + " bytes=" + written
        + " spills=1");
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask$MapOutputBuffer", method = "mergeParts", location = @Location(Kind.RETURN))
  public static void mergeEnds(@Duration long ns) {
    println("atalaya span phase phase=merge source=disk" + task + " start=" + phaseBegan + " end=" + (phaseBegan + ns) + " bytes=" + written);
  }
}

// SPDX-License-Identifier: Apache-2.0
// The phases of a Hadoop map task (MapReduce 2 and 3) as phase lines: read, map, collect, spill, merge.
//
// read, map and collect alternate with each record. The script prints them one after the other from the start of the mapper, each
// with its total length: lengths and bytes are measured, times are not, therefore quality=placed. They end when the output is
// flushed, which spills the rest and merges. Each spill and merge has its real time and the bytes that it wrote. Spills before the
// end run in another thread, at the same time.
//
// In a job without reduces map includes writing of the output, but not the flush when it is closed.
//
// A split loses its locations on the way to the task. Since Hadoop 2.9 the file system reports the distance of each read; remote=
// is printed only if it reported all bytes.
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
  private static long began, ended;  // the mapper, ns since 1970; ended: 0 until its output is flushed
  private static long reading, collecting;  // ns in total
  private static long firstRead, lastRead;  // the file system's count of bytes
  private static long placed, remote;          // of these, those with a reported distance, and those from other nodes
  private static long lastPlaced, lastRemote;  // at the time of lastRead
  private static boolean anyRead;
  private static long collected, records;

  @TLS private static long phaseBegan;  // ns since 1970, of the spill or merge of this thread
  @TLS private static long written;     // bytes of the files closed in it
  @TLS private static int inCollect;    // spills of the same thread are not part of collect

  @OnMethod(clazz = "org.apache.hadoop.mapred.YarnChild", method = "main")
  public static void start(String[] arguments) {
    String attempt = arguments[2];
    int kind = indexOf(attempt, "_m_");
    if (kind > 0) {
      task = " framework=hadoop stage=map job=job_" + substr(attempt, 8, kind) + " task=task_"
          + substr(attempt, 8, lastIndexOf(attempt, "_")) + " attempt=" + attempt;
    }
  }

  // ---- The mapper, with the new interface and the old one ---------------------------------------------------------------------

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask", method = "/run(New|Old)Mapper/")
  public static void mapperBegins() {
    began = timeMillis() * 1000000L;
    ended = reading = collecting = collected = records = 0;
    firstRead = lastRead = placed = remote = lastPlaced = lastRemote = 0;
    anyRead = false;
  }

  // The output of a job with reduces, and without. The first of these calls counts: no records follow it.
  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapred\\.MapTask\\$(MapOutputBuffer|DirectMapOutputCollector|NewDirectOutputCollector)/",
      method = "/flush|close/")
  public static void outputFlushed() {
    if (ended == 0) {
      ended = timeMillis() * 1000000L;
    }
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.MapTask", method = "/run(New|Old)Mapper/", location = @Location(Kind.RETURN))
  public static void mapperEnds() {
    long end = ended;
    if (end == 0) {  // an output of another class
      end = timeMillis() * 1000000L;
    }
    long read = began + reading;
    long collect = end - collecting;
    long bytes = lastRead - firstRead;
    String input = "", far = "";
    if (bytes > 0) {  // 0: also for splits that are not part of a file
      input = " bytes=" + bytes;
      if (lastPlaced == bytes) {
        far = " remote=" + lastRemote;
      }
    }
    if (collect > read) {
      println("atalaya span phase phase=read quality=placed" + task + " start=" + began + " end=" + read + input + far + " records=" + records);
      println("atalaya span phase phase=map quality=placed" + task + " start=" + read + " end=" + collect + input + " records=" + records);
    }
    if (collect > read && collecting > 0) {
      println("atalaya span phase phase=collect quality=placed" + task + " start=" + collect + " end=" + end + " bytes=" + collected);
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
      placed = remote = 0;
    }
    anyRead = true;
    lastRead = bytes;
    lastPlaced = placed;
    lastRemote = remote;
  }

  // Distance 0 is this node.
  @OnMethod(clazz = "org.apache.hadoop.fs.FileSystem$Statistics", method = "incrementBytesReadByDistance")
  public static void bytesRead(int distance, long bytes) {
    placed = placed + bytes;
    if (distance > 0) {
      remote = remote + bytes;
    }
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

  // ---- Spills, in a separate thread or at the end, and the merge of their files -----------------------------------------------

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

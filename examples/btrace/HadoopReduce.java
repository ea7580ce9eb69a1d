// SPDX-License-Identifier: Apache-2.0
// The phases of a Hadoop reduce task (MapReduce 2 and 3) as phase lines: shuffle, merge, sort, reduce, write.
//
// shuffle fetches the output of the maps, with its bytes; merge is each merge of fetched data during the shuffle, in memory or on
// disk; sort is the last merge, after which keys are in order. reduce and write alternate with each record; write includes closing
// the output, which flushes the rest. The script prints them when the reducer ends, one after the other from its start, each with
// its total length: lengths and bytes are measured, times are not, therefore quality=placed.
//
// shuffle has no source, because its bytes include those from maps on the same node. write has none, because its input was in
// memory, and its time can be that of disks or of other nodes.
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
public class HadoopReduce {
  private static String task = "";  // the keys of this attempt
  private static long shuffleBegan;  // ns since 1970
  private static long fetched;       // bytes
  private static long reduceBegan, writing;
  private static long firstWritten, lastWritten;  // the file system's count of bytes
  private static boolean anyWritten;
  private static long records;

  @TLS private static long mergeBegan;  // of this thread
  @TLS private static long merged;      // bytes of the files closed in it

  @OnMethod(clazz = "org.apache.hadoop.mapred.YarnChild", method = "main")
  public static void start(String[] arguments) {
    String attempt = arguments[2];
    int kind = indexOf(attempt, "_r_");
    if (kind > 0) {
      task = " framework=hadoop stage=reduce job=job_" + substr(attempt, 8, kind) + " task=task_"
          + substr(attempt, 8, lastIndexOf(attempt, "_")) + " attempt=" + attempt;
    }
  }

  // ---- Shuffle: until the last merge starts -------------------------------------------------------------------------------------

  @OnMethod(clazz = "org.apache.hadoop.mapreduce.task.reduce.Shuffle", method = "run")
  public static void shuffleBegins() {
    shuffleBegan = timeMillis() * 1000000L;
    fetched = 0;
  }

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapreduce\\.task\\.reduce\\.ShuffleScheduler(Impl)?/", method = "copySucceeded")
  public static void outputFetched(AnyType map, AnyType host, long bytes, long startMs, long endMs, AnyType output) {
    fetched = fetched + bytes;
  }

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapreduce\\.task\\.reduce\\.MergeManager(Impl)?/", method = "close")
  public static void sortBegins() {
    long now = timeMillis() * 1000000L;
    println("atalaya span phase phase=shuffle" + task + " start=" + shuffleBegan + " end=" + now + " bytes=" + fetched);
    mergeBegan = now;
    merged = 0;
  }

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapreduce\\.task\\.reduce\\.MergeManager(Impl)?/", method = "close",
      location = @Location(Kind.RETURN))
  public static void sortEnds(@Duration long ns) {
    println("atalaya span phase phase=sort" + task + " start=" + mergeBegan + " end=" + (mergeBegan + ns) + " bytes=" + merged);
  }

  // ---- Merges during it --------------------------------------------------------------------------------------------------------------

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapreduce\\.task\\.reduce\\.MergeManager(Impl)?\\$(InMemory|OnDisk)Merger/", method = "merge")
  public static void mergeBegins() {
    mergeBegan = timeMillis() * 1000000L;
    merged = 0;
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.IFile$Writer", method = "close", location = @Location(Kind.RETURN))
  public static void fileClosed(@Self Object writer) {
    merged = merged + getLong("compressedBytesWritten", writer);
  }

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapreduce\\.task\\.reduce\\.MergeManager(Impl)?\\$InMemoryMerger/", method = "merge",
      location = @Location(Kind.RETURN))
  public static void memoryMerged(@Duration long ns) {
    println("atalaya span phase phase=merge source=memory" + task + " start=" + mergeBegan + " end=" + (mergeBegan + ns) + " bytes=" + merged);
  }

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapreduce\\.task\\.reduce\\.MergeManager(Impl)?\\$OnDiskMerger/", method = "merge",
      location = @Location(Kind.RETURN))
  public static void diskMerged(@Duration long ns) {
    println("atalaya span phase phase=merge source=disk" + task + " start=" + mergeBegan + " end=" + (mergeBegan + ns) + " bytes=" + merged);
  }

  // ---- The reducer, with the new interface and the old one ----------------------------------------------------------------------------

  @OnMethod(clazz = "org.apache.hadoop.mapred.ReduceTask", method = "/run(New|Old)Reducer/")
  public static void reducerBegins() {
    reduceBegan = timeMillis() * 1000000L;
    writing = records = firstWritten = lastWritten = 0;
    anyWritten = false;
  }

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapred\\.ReduceTask\\$(New|Old)TrackingRecordWriter/", method = "write",
      location = @Location(Kind.RETURN))
  public static void recordWritten(@Duration long ns) {
    writing = writing + ns;
    records = records + 1;
  }

  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapred\\.ReduceTask\\$(New|Old)TrackingRecordWriter/", method = "close",
      location = @Location(Kind.RETURN))
  public static void outputClosed(@Duration long ns) {
    writing = writing + ns;
  }

  // Called before and after each record, and before and after the output is closed.
  @OnMethod(clazz = "/org\\.apache\\.hadoop\\.mapred\\.ReduceTask\\$(New|Old)TrackingRecordWriter/", method = "getOutputBytes",
      location = @Location(Kind.RETURN))
  public static void outputBytes(@Return long bytes) {
    if (!anyWritten) {
      firstWritten = bytes;
    }
    anyWritten = true;
    lastWritten = bytes;
  }

  @OnMethod(clazz = "org.apache.hadoop.mapred.ReduceTask", method = "/run(New|Old)Reducer/", location = @Location(Kind.RETURN))
  public static void reducerEnds() {
    long end = timeMillis() * 1000000L;
    long write = end - writing;
    String output = "";
    if (lastWritten > firstWritten) {  // equal: also for output that is not a file
      output = " bytes=" + (lastWritten - firstWritten);
    }
    if (write > reduceBegan) {
      println("atalaya span phase phase=reduce quality=placed" + task + " start=" + reduceBegan + " end=" + write + " bytes=" + fetched);
      println("atalaya span phase phase=write quality=placed" + task + " start=" + write + " end=" + end + output + " records=" + records);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// MapReduce jobs with one planted cause each, and healthy ones: PlantedJobs [-D KEY=VALUE]... NAME SLICES RECORDS OUTPUT
// Every slice is a map that makes its records itself.

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

public class PlantedJobs extends Configured implements Tool {
  public static class Slice extends InputSplit implements Writable {
    int index;

    @Override public long getLength() { return 1; }
    @Override public String[] getLocations() { return new String[0]; }
    @Override public void write(DataOutput out) throws IOException { out.writeInt(index); }
    @Override public void readFields(DataInput in) throws IOException { index = in.readInt(); }
  }

  public static class Slices extends InputFormat<IntWritable, LongWritable> {
    @Override public List<InputSplit> getSplits(JobContext context) {
      List<InputSplit> slices = new ArrayList<>();
      for (int i = 0; i < context.getConfiguration().getInt("planted.slices", 1); ++i) {
        Slice slice = new Slice();
        slice.index = i;
        slices.add(slice);
      }
      return slices;
    }

    @Override public RecordReader<IntWritable, LongWritable> createRecordReader(InputSplit split, TaskAttemptContext context) {
      return new Records();
    }
  }

  public static class Records extends RecordReader<IntWritable, LongWritable> {
    private final IntWritable slice = new IntWritable();
    private final LongWritable record = new LongWritable(-1);
    private long count;

    @Override public void initialize(InputSplit split, TaskAttemptContext context) {
      slice.set(((Slice) split).index);
      count = context.getConfiguration().getLong("planted.records", 1);
    }

    @Override public boolean nextKeyValue() {
      record.set(record.get() + 1);
      return record.get() < count;
    }

    @Override public IntWritable getCurrentKey() { return slice; }
    @Override public LongWritable getCurrentValue() { return record; }
    @Override public float getProgress() { return (float) Math.max(record.get(), 0) / count; }
    @Override public void close() {}
  }

  /** About 1 us of CPU time for each 100 rounds. */
  static long burn(long seed, int rounds) {
    long value = seed | 1;
    for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005L + 1442695040888963407L ^ value >>> 17;
    return value;
  }

  public static class Work extends Mapper<IntWritable, LongWritable, Text, Text> {
    private final Text key = new Text(), value = new Text();
    private final List<long[]> kept = new ArrayList<>();
    private String name;
    private long records;
    private Random random;

    @Override protected void setup(Context context) {
      name = context.getConfiguration().get("planted.name");
      records = context.getConfiguration().getLong("planted.records", 1);
      random = new Random(context.getTaskAttemptID().getTaskID().getId());
    }

    @Override protected void map(IntWritable slice, LongWritable record, Context context) throws IOException, InterruptedException {
      long at = record.get();
      boolean first = slice.get() == 0;
      if (name.equals("failing") && first && at == records / 2) throw new IllegalStateException("planted error in record " + at);
      long hash = burn(at, name.equals("slow-map") && first ? 120_000 : 20_000);
      if (name.equals("gc")) keep(at);
      key.set(name.equals("skew") && at % 5 < 4 ? "hot" : String.format("%010d", random.nextInt(1_000_000_000)));
      value.set(String.format("%090d", hash));
      context.write(key, value);
    }

    /** Nearly fills the heap with objects that live for some thousand records. */
    private void keep(long at) {
      int limit = (int) (Runtime.getRuntime().maxMemory() * 62 / 100 / 1024);
      for (int i = 0; i < 24; ++i) {
        long[] block = new long[126];
        block[0] = at;
        if (kept.size() < limit) kept.add(block);
        else kept.set(random.nextInt(limit), block);
      }
    }
  }

  public static class Count extends Reducer<Text, Text, Text, LongWritable> {
    @Override protected void reduce(Text key, Iterable<Text> values, Context context) throws IOException, InterruptedException {
      long count = 0;
      for (Text value : values) count += 1 + (burn(value.getLength(), 10_000) & 0);
      context.write(key, new LongWritable(count));
    }
  }

  @Override public int run(String[] words) throws Exception {
    getConf().set("planted.name", words[0]);
    getConf().set("planted.slices", words[1]);
    getConf().set("planted.records", words[2]);
    Job job = Job.getInstance(getConf(), words[0]);
    job.setJarByClass(PlantedJobs.class);
    job.setInputFormatClass(Slices.class);
    job.setMapperClass(Work.class);
    job.setReducerClass(Count.class);
    job.setMapOutputKeyClass(Text.class);
    job.setMapOutputValueClass(Text.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(LongWritable.class);
    FileOutputFormat.setOutputPath(job, new Path(words[3]));
    return job.waitForCompletion(true) ? 0 : 1;
  }

  public static void main(String[] words) throws Exception {
    System.exit(ToolRunner.run(new PlantedJobs(), words));
  }
}

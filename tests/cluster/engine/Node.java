// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * A node of a small map/reduce system with one slot: Node FOLDER ADDRESS. It prints the port where it hands out its files, then runs the
 * lines of its standard input, one after the other, and answers each with "done":
 *   map JOB TASK REDUCES FILE HOLDER
 *   reduce JOB TASK ADDRESS/FILE...
 * Phases go to FOLDER/phases.log; those of the job "warm" (the compiler's warming up) nowhere.
 */
final class Node {
  private Node() {}

  public static void main(String[] words) throws IOException {
    Path folder = Path.of(words[0]);
    Disk disk = new Disk();
    System.out.println(Peer.serve(folder, words[1]));
    try (Phases reported = new Phases(folder.resolve("phases.log"));
        Phases unreported = new Phases(Path.of("/dev/null"))) {
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        String[] task = line.split(" ");
        run(folder, disk, task[1].equals("warm") ? unreported : reported, task);
        System.out.println("done");
      }
    }
  }

  private static void run(Path folder, Disk disk, Phases phases, String[] words) throws IOException {
    String job = words[1];
    String name = words[2];
    if (words[0].equals("map")) {
      MapTask task = new MapTask(folder, disk, phases, name, Integer.parseInt(words[3]));
      phases.task(job, "map", name, () -> task.run(words[4], words[5]));
    } else {
      List<String> sources = Arrays.asList(words).subList(3, words.length);
      ReduceTask task = new ReduceTask(folder, disk, phases, name);
      phases.task(job, "reduce", name, () -> task.run(sources));
    }
  }
}

import java.nio.file.Path;
import java.util.Arrays;

/**
 * Runs one peer on one file of events: Peers NAME WORK FILE PASSES SECONDS. One pass to be warm, then PASSES, fewer
 * once SECONDS of the thread have gone. Prints name, CPU ns per event of the window's thread and of the process
 * (medians), passes, and what all results add up to.
 */
final class Peers {
  interface Peer extends AutoCloseable {
    /** All events once, to the last window. */
    void pass(int number, Meter meter, Sums sums) throws Exception;

    @Override
    default void close() throws Exception {}
  }

  private static Peer open(String name, String work, Events events) throws Exception {
    return switch (name) {
      case "flink-operator" -> new FlinkOperator(work, events);
      case "flink-job" -> new FlinkJob(work, events);
      case "jet" -> new Jet(work, events);
      default -> throw new IllegalArgumentException("no peer '" + name + "': flink-operator, flink-job, jet");
    };
  }

  private static double median(long[] ns, int passes, Events events) {
    final long[] sorted = Arrays.copyOf(ns, passes);
    Arrays.sort(sorted);
    return (double) sorted[passes / 2] / events.count;
  }

  public static void main(String[] words) throws Exception {
    final Events events = new Events(Path.of(words[2]));
    final int most = Integer.parseInt(words[3]);
    final long limit = Long.parseLong(words[4]) * Events.SECOND;
    final long[] thread = new long[most];
    final long[] process = new long[most];
    int passes = 0;
    Sums sums = new Sums();
    try (Peer peer = open(words[0], words[1], events)) {
      long spent = 0;
      for (int pass = 0; pass <= most && (pass < 2 || spent < limit); ++pass) {
        final Meter meter = new Meter();
        sums = new Sums();
        peer.pass(pass, meter, sums);
        spent += meter.thread;
        if (pass > 0) {
          thread[passes] = meter.thread;
          process[passes++] = meter.process;
        }
      }
    }
    System.out.printf("%s %.2f %.2f %d %d %d %d%n", words[0], median(thread, passes, events),
        median(process, passes, events), passes, sums.results, sums.count, sums.sum);
    System.exit(0); // the peers leave threads behind that nobody waits for
  }
}

import java.time.Duration;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/** What the operator alone and the whole job have in common. */
final class FlinkWindows {
  static WindowAssigner<Object, TimeWindow> assigner(String work, Events events) {
    final Duration second = Duration.ofMillis(Events.SECOND);
    return switch (work) {
      case "tumbling" -> TumblingEventTimeWindows.of(second);
      case "sliding" -> SlidingEventTimeWindows.of(second.multipliedBy(10), second);
      case "session" -> EventTimeSessionWindows.withGap(Duration.ofMillis(events.gap));
      default -> throw new IllegalArgumentException("no work '" + work + "': tumbling, sliding, session");
    };
  }

  /** Flink's watermark says that nothing at or before it comes any more; ours, nothing before it. */
  static long watermark(long highest, Events events) {
    return highest - events.bound - 1;
  }

  interface Value<T> extends java.io.Serializable {
    long of(T row);
  }

  record Aggregate<T>(Value<T> value) implements AggregateFunction<T, Stats, Stats> {
    @Override
    public Stats createAccumulator() {
      return new Stats();
    }

    @Override
    public Stats add(T row, Stats stats) {
      stats.add(value.of(row));
      return stats;
    }

    @Override
    public Stats getResult(Stats stats) {
      return stats;
    }

    @Override
    public Stats merge(Stats a, Stats b) {
      a.add(b);
      return a;
    }
  }

  private FlinkWindows() {}
}

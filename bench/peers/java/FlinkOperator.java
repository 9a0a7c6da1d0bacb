import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.operators.windowing.WindowOperatorBuilder;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;

/**
 * Flink's window operator alone, in its test harness, state on the heap. No exchange, no serialisation, one record that
 * is used again for each event, and results are added up where they leave the window: the least that Flink can cost.
 */
final class FlinkOperator implements Peers.Peer {
  /** Public fields, so that Flink knows it without a serializer of its own making. */
  public static final class Row {
    public long key;
    public long value;
  }

  private static Sums sums; // the operator is copied before it runs, and what it refers to as well

  private final Events events;
  private final KeyedOneInputStreamOperatorTestHarness<Long, Row, Long> harness;

  FlinkOperator(String work, Events events) throws Exception {
    this.events = events;
    final WindowAssigner<Object, TimeWindow> assigner = FlinkWindows.assigner(work, events);
    final OneInputStreamOperator<Row, Long> operator =
        new WindowOperatorBuilder<Row, Long, TimeWindow>(assigner, EventTimeTrigger.create(), new ExecutionConfig(),
            TypeInformation.of(Row.class), row -> row.key, Types.LONG)
            .aggregate(new FlinkWindows.Aggregate<Row>(row -> row.value),
                (Long key, TimeWindow window, Iterable<Stats> stats, org.apache.flink.util.Collector<Long> out) ->
                    sums.add(stats.iterator().next()),
                TypeInformation.of(Stats.class));
    harness = new KeyedOneInputStreamOperatorTestHarness<>(operator, row -> row.key, Types.LONG);
    harness.open();
  }

  @Override
  public void pass(int number, Meter meter, Sums result) throws Exception {
    sums = result;
    final long shift = events.shift(number);
    final Row row = new Row();
    final StreamRecord<Row> record = new StreamRecord<>(row);
    meter.start();
    long highest = Long.MIN_VALUE;
    for (int i = 0; i < events.count; ++i) {
      row.key = events.key(i);
      row.value = events.value(i);
      final long time = events.time(i) + shift;
      highest = Math.max(highest, time);
      record.replace(row, time);
      harness.processElement(record);
      if (i % Events.BATCH == Events.BATCH - 1) {
        harness.processWatermark(FlinkWindows.watermark(highest, events));
      }
    }
    harness.processWatermark(highest + 100 * Events.SECOND);
    meter.stop();
    harness.getOutput().clear(); // the watermarks
  }

  @Override
  public void close() throws Exception {
    harness.close();
  }
}

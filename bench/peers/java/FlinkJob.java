import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.streaming.api.environment.LocalStreamEnvironment;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.legacy.RichSinkFunction;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.types.LongValue;
import org.apache.flink.util.Collector;

/**
 * A Flink job in this JVM: a source on its own thread that emits a watermark with each batch, keyBy, the window, a sink
 * on the window's thread. Objects are reused, records are two mutable longs, the cheapest that Flink's own serializers
 * know. A pass is a job; its start is not measured.
 */
final class FlinkJob implements Peers.Peer {
  // The job's functions are copies of what they were built from, in the same JVM.
  private static Events events;
  private static Meter meter;
  private static Sums sums;

  private final String work;

  FlinkJob(String work, Events given) {
    this.work = work;
    events = given;
  }

  private static final class Source implements SourceFunction<Tuple2<LongValue, LongValue>> {
    @Override
    public void run(SourceContext<Tuple2<LongValue, LongValue>> out) {
      final Tuple2<LongValue, LongValue> row = Tuple2.of(new LongValue(), new LongValue());
      long highest = Long.MIN_VALUE;
      for (int i = 0; i < events.count; ++i) {
        row.f0.setValue(events.key(i));
        row.f1.setValue(events.value(i));
        highest = Math.max(highest, events.time(i));
        out.collectWithTimestamp(row, events.time(i));
        if (i % Events.BATCH == Events.BATCH - 1) {
          out.emitWatermark(new Watermark(FlinkWindows.watermark(highest, events)));
        }
      }
    }

    @Override
    public void cancel() {}
  }

  private static final class Emit implements WindowFunction<Stats, Stats, Long, TimeWindow> {
    @Override
    public void apply(Long key, TimeWindow window, Iterable<Stats> stats, Collector<Stats> out) {
      out.collect(stats.iterator().next());
    }
  }

  private static final class Sink extends RichSinkFunction<Stats> {
    @Override
    public void open(org.apache.flink.api.common.functions.OpenContext context) {
      meter.start();
    }

    @Override
    public void invoke(Stats stats, Context context) {
      sums.add(stats);
    }

    @Override
    public void finish() {
      meter.stop();
    }
  }

  @Override
  public void pass(int number, Meter passMeter, Sums result) throws Exception {
    meter = passMeter;
    sums = result;
    final Configuration options = new Configuration();
    options.set(PipelineOptions.OBJECT_REUSE, true);
    final LocalStreamEnvironment job = StreamExecutionEnvironment.createLocalEnvironment(1, options);
    job.addSource(new Source(), TypeInformation.of(new TypeHint<Tuple2<LongValue, LongValue>>() {}))
        .disableChaining()
        .keyBy(row -> row.f0.getValue(), Types.LONG)
        .window(FlinkWindows.assigner(work, events))
        .aggregate(new FlinkWindows.Aggregate<Tuple2<LongValue, LongValue>>(row -> row.f1.getValue()), new Emit(),
            TypeInformation.of(Stats.class), TypeInformation.of(Stats.class))
        .addSink(new Sink());
    job.execute();
  }
}

import static com.hazelcast.jet.core.Edge.between;
import static com.hazelcast.jet.core.SlidingWindowPolicy.slidingWinPolicy;
import static com.hazelcast.jet.core.SlidingWindowPolicy.tumblingWinPolicy;

import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.function.FunctionEx;
import com.hazelcast.function.SupplierEx;
import com.hazelcast.function.ToLongFunctionEx;
import com.hazelcast.jet.aggregate.AggregateOperation;
import com.hazelcast.jet.aggregate.AggregateOperation1;
import com.hazelcast.jet.core.AbstractProcessor;
import com.hazelcast.jet.core.DAG;
import com.hazelcast.jet.core.Processor;
import com.hazelcast.jet.core.SlidingWindowPolicy;
import com.hazelcast.jet.core.TimestampKind;
import com.hazelcast.jet.core.Vertex;
import com.hazelcast.jet.core.Watermark;
import com.hazelcast.jet.core.processor.Processors;
import java.util.List;

/**
 * Hazelcast Jet in this JVM: source, window in one stage and sink share one cooperative thread, so that nothing crosses
 * to another core and nothing is serialised.
 */
final class Jet implements Peers.Peer {
  private record Row(long key, long time, long value) {}

  // Processors are made from what was serialised, in the same JVM.
  private static Events events;
  private static Meter meter;
  private static Sums sums;

  private final String work;
  private final HazelcastInstance member;

  Jet(String work, Events given) {
    this.work = work;
    events = given;
    final Config config = new Config();
    config.setProperty("hazelcast.logging.type", "none");
    config.setProperty("hazelcast.phone.home.enabled", "false");
    config.setProperty("hazelcast.socket.bind.any", "false");
    config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
    config.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
    config.getJetConfig().setEnabled(true).setCooperativeThreadCount(1);
    member = Hazelcast.newHazelcastInstance(config);
  }

  private static final class Source extends AbstractProcessor {
    private int at;
    private long highest = Long.MIN_VALUE;
    private long marked = Long.MIN_VALUE; // the last watermark; Jet takes none twice

    @Override
    public boolean complete() {
      if (at == 0) {
        meter.start();
      }
      while (at < events.count) {
        if (at > 0 && at % Events.BATCH == 0 && highest - events.bound > marked) {
          if (!tryEmit(new Watermark(highest - events.bound))) {
            return false;
          }
          marked = highest - events.bound;
        }
        if (!tryEmit(new Row(events.key(at), events.time(at), events.value(at)))) {
          return false;
        }
        highest = Math.max(highest, events.time(at++));
      }
      return true;
    }
  }

  private static final class Sink extends AbstractProcessor {
    @Override
    protected boolean tryProcess(int ordinal, Object stats) {
      sums.add((Stats) stats);
      return true;
    }

    @Override
    public boolean tryProcessWatermark(Watermark watermark) {
      return true;
    }

    @Override
    public boolean complete() {
      meter.stop();
      return true;
    }
  }

  private static SupplierEx<Processor> window(String work) {
    final FunctionEx<Row, Long> key = Row::key;
    final ToLongFunctionEx<Row> time = Row::time;
    final AggregateOperation1<Row, Stats, Stats> aggregate = AggregateOperation.withCreate(Stats::new)
        .<Row>andAccumulate((stats, row) -> stats.add(row.value()))
        .andCombine(Stats::add)
        .andExport(Jet::copy)
        .andFinish(stats -> stats);
    if (work.equals("session")) {
      return Processors.aggregateToSessionWindowP(events.gap, 0, List.of(time), List.of(key), aggregate,
          (start, end, k, stats, early) -> stats);
    }
    final SlidingWindowPolicy policy = work.equals("tumbling")
        ? tumblingWinPolicy(Events.SECOND)
        : slidingWinPolicy(10 * Events.SECOND, Events.SECOND);
    return Processors.aggregateToSlidingWindowP(List.of(key), List.of(time), TimestampKind.EVENT, policy, 0, aggregate,
        (start, end, k, stats, early) -> stats);
  }

  private static Stats copy(Stats from) {
    final Stats stats = new Stats();
    stats.add(from);
    return stats;
  }

  @Override
  public void pass(int number, Meter passMeter, Sums result) {
    meter = passMeter;
    sums = result;
    final DAG dag = new DAG();
    final Vertex source = dag.newVertex("source", Source::new).localParallelism(1);
    final Vertex window = dag.newVertex("window", window(work)).localParallelism(1);
    final Vertex sink = dag.newVertex("sink", Sink::new).localParallelism(1);
    dag.edge(between(source, window)).edge(between(window, sink));
    member.getJet().newJob(dag).join();
  }

  @Override
  public void close() {
    member.shutdown();
  }
}

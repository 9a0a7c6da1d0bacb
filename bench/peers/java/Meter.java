import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** CPU time between start and stop, both called on the thread that runs the windows. */
final class Meter {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  long thread; // ns
  long process; // ns, with what collects garbage and compiles

  void start() {
    thread = -THREADS.getCurrentThreadCpuTime();
    process = -SYSTEM.getProcessCpuTime();
  }

  void stop() {
    thread += THREADS.getCurrentThreadCpuTime();
    process += SYSTEM.getProcessCpuTime();
  }
}

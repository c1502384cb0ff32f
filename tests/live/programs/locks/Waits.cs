using System;
using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Locks;

public static class Waits
{
    [DllImport("libc", EntryPoint = "pause")]
    private static extern int NativePause();

    private sealed class Fat { public int Number; }
    private sealed class Thin { public int Number; }
    private sealed class Hashed { public int Number; }
    private sealed class Pulsed { public int Number; }
    private sealed class Synchronized
    {
        [MethodImpl(MethodImplOptions.Synchronized)]
        public void Stay(Action inside) => inside();
    }

    private static class SlowInit
    {
        public static readonly int Number = Make();
        private static int Make()
        {
            Forever();
            return 1;
        }
    }

    private static readonly object Kept = new();
    private static readonly System.Collections.Generic.List<object> KeptAll = [];

    private static void Keep(object o) => KeptAll.Add(o);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Forever() => Thread.Sleep(Timeout.Infinite);

    public static void Begin(Said said)
    {
        var held = new CountdownEvent(1);
        void Hold(string name, Action enter)
        {
            held.Reset();
            said.Start(name, () =>
            {
                enter();
                held.Signal();
                Forever();
            }, held.Wait);
        }

        var thin = new Thin();
        Hold("thin-owner", () => { Monitor.Enter(thin); Monitor.Enter(thin); Monitor.Enter(thin); });
        said.Holds("thin-owner", "monitor", thin, 3, "thin");

        var fat = new Fat();
        Hold("fat-owner", () => { Monitor.Enter(fat); Monitor.Enter(fat); });
        said.Holds("fat-owner", "monitor", fat, 2, "sync_block");
        foreach (string name in new[] { "fat-1", "fat-2" })
        {
            said.Start(name, () => { lock (fat) fat.Number++; });
            said.Waits(name, "monitor", fat, "fat-owner", "enter");
        }
        said.Start("fat-try", () => { Monitor.TryEnter(fat, 1_000_000); });
        said.Waits("fat-try", "monitor", fat, "fat-owner", "enter");

        var hashed = new Hashed();
        RuntimeHelpers.GetHashCode(hashed);
        Hold("hashed-owner", () => Monitor.Enter(hashed));
        said.Holds("hashed-owner", "monitor", hashed, 1, "sync_block");

        var pulsed = new Pulsed();
        said.Start("pulse", () => { lock (pulsed) Monitor.Wait(pulsed); });
        said.Waits("pulse", "condition", pulsed, null, "wait");

        var synchronized = new Synchronized();
        Hold("sync-owner", () => said.Start("sync-inner", () => synchronized.Stay(Forever), () => Thread.Sleep(50)));
        said.Holds("sync-inner", "monitor", synchronized);
        said.Start("sync-wait", () => synchronized.Stay(Forever));
        said.Waits("sync-wait", "monitor", synchronized, "sync-inner", "enter");

        var newLock = new Lock();
        Hold("lock-owner", () => { newLock.Enter(); newLock.Enter(); });
        said.Holds("lock-owner", "lock", newLock, 2);
        said.Start("lock-wait", () => { lock (newLock) Forever(); });
        said.Waits("lock-wait", "lock", newLock, "lock-owner", "enter");

        var written = new ReaderWriterLockSlim();
        Hold("writer", written.EnterWriteLock);
        said.Holds("writer", "rwlock", written);
        said.Start("reader-waits", written.EnterReadLock);
        said.Waits("reader-waits", "rwlock", written, "writer", "read");

        var read = new ReaderWriterLockSlim();
        Hold("reader-1", read.EnterReadLock);
        Hold("reader-2", read.EnterReadLock);
        said.Reads("reader-1", read);
        said.Reads("reader-2", read);
        said.Start("writer-waits", read.EnterWriteLock);
        said.Waits("writer-waits", "rwlock", read, null, "write");

        var upgraded = new ReaderWriterLockSlim();
        Hold("upgrader", upgraded.EnterUpgradeableReadLock);
        said.Holds("upgrader", "rwlock", upgraded);
        said.Start("upgrade-waits", upgraded.EnterUpgradeableReadLock);
        said.Waits("upgrade-waits", "rwlock", upgraded, "upgrader", "upgrade");

        // The class that ReaderWriterLockSlim replaced.
        var oldWritten = new ReaderWriterLock();
        Hold("old-writer", () => { oldWritten.AcquireWriterLock(-1); oldWritten.AcquireWriterLock(-1); });
        said.Holds("old-writer", "rwlock", oldWritten, 2);
        said.Start("old-reader-waits", () => oldWritten.AcquireReaderLock(-1));
        said.Waits("old-reader-waits", "rwlock", oldWritten, "old-writer", "read");
        var oldRead = new ReaderWriterLock();
        Hold("old-reader", () => oldRead.AcquireReaderLock(-1));
        said.Reads("old-reader", oldRead);
        said.Start("old-writer-waits", () => oldRead.AcquireWriterLock(-1));
        said.Waits("old-writer-waits", "rwlock", oldRead, null, "write");

        var semaphore = new SemaphoreSlim(0, 5);
        said.Start("semaphore-slim", () => semaphore.Wait());
        said.Waits("semaphore-slim", "semaphore", semaphore);
        var lined = new SemaphoreSlim(0, 5);
        for (int i = 0; i < 3; i++) Keep(lined.WaitAsync());
        said.Start("semaphore-lined", () => lined.Wait());
        said.Waits("semaphore-lined", "semaphore", lined);
        var semaphoreTimed = new SemaphoreSlim(0, 5);
        said.Start("semaphore-timed", () => semaphoreTimed.Wait(10_000_000));
        said.Waits("semaphore-timed", "semaphore", semaphoreTimed);

        var eventSlim = new ManualResetEventSlim();
        said.Start("event-slim", eventSlim.Wait);
        said.Waits("event-slim", "event", eventSlim);

        var countdown = new CountdownEvent(3);
        countdown.Signal();
        said.Start("countdown", countdown.Wait);
        said.Waits("countdown", "countdown", countdown);

        var barrier = new Barrier(3);
        said.Start("barrier", barrier.SignalAndWait);
        said.Waits("barrier", "barrier", barrier);

        var empty = new BlockingCollection<int>();
        said.Start("take", () => empty.Take());
        said.Waits("take", "semaphore", Field(empty, "_occupiedNodes"));
        var full = new BlockingCollection<int>(1) { 1 };
        said.Start("add", () => full.Add(2));
        said.Waits("add", "semaphore", Field(full, "_freeNodes"));

        var manual = new ManualResetEvent(false);
        said.Start("manual-event", () => manual.WaitOne());
        said.Waits("manual-event", "event", manual);
        var auto = new AutoResetEvent(false);
        said.Start("auto-event", () => auto.WaitOne(10_000_000));
        said.Waits("auto-event", "event", auto);
        var mutex = new Mutex();
        Hold("mutex-owner", () => mutex.WaitOne());
        said.Start("mutex", () => mutex.WaitOne());
        said.Waits("mutex", "mutex", mutex, "?");
        var kernel = new Semaphore(0, 2);
        said.Start("semaphore", () => kernel.WaitOne());
        said.Waits("semaphore", "semaphore", kernel);

        var first = new ManualResetEvent(false);
        var second = new AutoResetEvent(false);
        said.Start("wait-any", () => WaitHandle.WaitAny(new WaitHandle[] { first, second }));
        said.Waits("wait-any", "event", first);
        said.Waits("wait-any", "event", second);
        var third = new ManualResetEvent(false);
        var fourth = new Semaphore(0, 1);
        said.Start("wait-all", () => WaitHandle.WaitAll(new WaitHandle[] { third, fourth }));
        said.Waits("wait-all", "event", third);
        said.Waits("wait-all", "semaphore", fourth);

        var signalled = new ManualResetEvent(false);
        var waited = new AutoResetEvent(false);
        said.Start("signal-and-wait", () => WaitHandle.SignalAndWait(signalled, waited));
        said.Waits("signal-and-wait", "event", waited);
        said.Waits("signal-and-wait", "event", signalled); // nothing tells the two apart
        Thread sleeper = said.Start("sleep", Forever);
        said.Waits("sleep", "sleep", null);
        said.Start("join", sleeper.Join);
        said.Waits("join", "join", sleeper, "sleep");

        var source = new TaskCompletionSource<int>();
        said.Start("task-wait", () => source.Task.Wait());
        said.Waits("task-wait", "task", source.Task);
        var result = new TaskCompletionSource<int>();
        said.Start("task-result", () => Kept.Equals(result.Task.Result));
        said.Waits("task-result", "task", result.Task);
        var awaited = new TaskCompletionSource<string>();
        said.Start("get-result", () => awaited.Task.GetAwaiter().GetResult());
        said.Waits("get-result", "task", awaited.Task);
        var all1 = new TaskCompletionSource();
        var all2 = new TaskCompletionSource();
        said.Start("wait-all-tasks", () => Task.WaitAll(all1.Task, all2.Task));
        said.Waits("wait-all-tasks", "task", all1.Task);
        said.Waits("wait-all-tasks", "task", all2.Task);
        var any1 = new TaskCompletionSource();
        var any2 = new TaskCompletionSource();
        said.Start("wait-any-tasks", () => Task.WaitAny(any1.Task, any2.Task));
        said.Waits("wait-any-tasks", "task", any1.Task);
        said.Waits("wait-any-tasks", "task", any2.Task);

        said.Start("native", () => NativePause());
        said.Waits("native", "native", null);
        var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        said.Start("accept", () => listener.Accept());
        said.Waits("accept", "native", null);

        said.Start("init-owner", () => Kept.Equals(SlowInit.Number), () => Thread.Sleep(100));
        said.Start("init-waits", () => Kept.Equals(SlowInit.Number));
        said.Waits("init-waits", "class_init", null, "init-owner");

        Roots = new object[] { thin, fat, hashed, pulsed, synchronized, newLock, written, read, upgraded, oldWritten, oldRead, semaphore, lined, semaphoreTimed, eventSlim, countdown, barrier, empty, full, manual, auto, mutex,
                               kernel, first, second, third, fourth, signalled, waited, source, result, awaited, all1, all2, any1, any2, listener };
    }

    private static object Field(object o, string name) => o.GetType().GetField(name, System.Reflection.BindingFlags.Instance | System.Reflection.BindingFlags.NonPublic).GetValue(o);

    public static object[] Roots;
}

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Locks;

public static class Deadlocks
{
    public static readonly SortedDictionary<string, Action<Said>> All = new()
    {
        ["two-locks"] = TwoLocks,
        ["lock-and-Lock"] = LockAndLock,
        ["three-cycle"] = ThreeCycle,
        ["rw-upgrade"] = Upgrade,
        ["rw-two"] = ReadersAndWriters,
        ["lock-async"] = LockAsync,
        ["sync-over-async"] = SyncOverAsync,
        ["class-init"] = ClassInit,
        ["class-init-lock"] = ClassInitLock,
        ["join"] = JoinCycle,
        ["pool"] = Pool,
        ["pool-signals"] = PoolSignals,
        ["children"] = Children,
        ["class-init-generic"] = ClassInitGeneric,
        ["old-rw-two"] = OldReadersAndWriters,
        ["cancellation"] = Cancellation,
        ["finalizer"] = Finalizer,
        ["timer-dispose"] = TimerDispose,
        ["timer-handle"] = TimerHandle,
        ["timer-lock"] = TimerLock,
        ["timer-async"] = TimerAsync,
        ["self-join"] = SelfJoin,
    };

    public static List<object> Kept = new();

    private static T Keep<T>(T o)
    {
        lock (Kept) Kept.Add(o);
        return o;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Forever() => Thread.Sleep(Timeout.Infinite);

    // Each thread enters its first lock, and its second when all have their first.
    private static void Cross(Said said, string kind, params (string Name, Action First, Action Second)[] threads)
    {
        var gate = new Barrier(threads.Length);
        foreach (var (name, first, second) in threads)
            said.Start(name, () =>
            {
                first();
                gate.SignalAndWait();
                second();
                Forever();
            });
        // Threads that are in no cycle, but wait for members of it or hold locks of their own.
        said.Start("bystander", () => { object own = Keep(new object()); lock (own) Forever(); });
        said.Deadlock(kind, threads.Select(t => t.Name).ToArray());
    }

    private static void TwoLocks(Said said)
    {
        object a = Keep(new object()), b = Keep(new object());
        Cross(said, "locks", ("first", () => Monitor.Enter(a), () => Monitor.Enter(b)), ("second", () => Monitor.Enter(b), () => Monitor.Enter(a)));
        said.Start("victim", () => Monitor.Enter(a));
    }

    private static void LockAndLock(Said said)
    {
        object a = Keep(new object());
        Lock b = Keep(new Lock());
        Cross(said, "locks", ("first", () => Monitor.Enter(a), () => b.Enter()), ("second", () => b.Enter(), () => Monitor.Enter(a)));
    }

    private static void ThreeCycle(Said said)
    {
        object a = Keep(new object()), b = Keep(new object());
        Lock c = Keep(new Lock());
        Cross(said, "locks", ("first", () => Monitor.Enter(a), () => Monitor.Enter(b)), ("second", () => Monitor.Enter(b), () => c.Enter()),
              ("third", () => c.Enter(), () => Monitor.Enter(a)));
    }

    // Two readers, of whom each waits for the other to leave: one as a writer of the same lock, one over a monitor.
    private static void Upgrade(Said said)
    {
        var rw = Keep(new ReaderWriterLockSlim(LockRecursionPolicy.SupportsRecursion));
        object a = Keep(new object());
        Cross(said, "rwlock", ("upgrader", rw.EnterUpgradeableReadLock + (Action)(() => Monitor.Enter(a)), rw.EnterWriteLock),
              ("reader", rw.EnterReadLock, () => Monitor.Enter(a)));
    }

    private static void ReadersAndWriters(Said said)
    {
        var a = Keep(new ReaderWriterLockSlim());
        var b = Keep(new ReaderWriterLockSlim());
        Cross(said, "rwlock", ("first", a.EnterReadLock, b.EnterWriteLock), ("second", b.EnterReadLock, a.EnterWriteLock));
    }

    // A lock is held over the wait for a task, whose code needs the lock.
    private static void LockAsync(Said said)
    {
        object a = Keep(new object());
        var inside = new ManualResetEventSlim();
        async Task Work()
        {
            await Task.Delay(50);
            said.Here("worker");
            inside.Set();
            lock (a) Forever();
        }
        async Task Outer()
        {
            await Work();
        }
        said.Start("holder", () => { lock (a) Outer().Wait(); });
        inside.Wait();
        said.Deadlock("mixed", "holder", "worker");
    }

    private sealed class OneThread : SynchronizationContext
    {
        private readonly BlockingCollection<(SendOrPostCallback, object)> queue_ = new();
        public override void Post(SendOrPostCallback d, object state) => queue_.Add((d, state));
        public void Run()
        {
            foreach (var (d, state) in queue_.GetConsumingEnumerable()) d(state);
        }
    }

    // A thread waits for a task that goes on in the context of this thread.
    private static void SyncOverAsync(Said said)
    {
        static async Task<int> Load()
        {
            await Task.Delay(20);
            return 1;
        }
        static async Task<int> Middle() => await Load() + 1;
        said.Start("ui", () =>
        {
            var context = Keep(new OneThread());
            SynchronizationContext.SetSynchronizationContext(context);
            context.Post(_ => Keep<object>(Middle().Result), null);
            context.Run();
        });
        said.Deadlock("async", "ui");
    }

    private static readonly Barrier classes = new(2);

    private static class Left
    {
        public static int Number;
        static Left()
        {
            classes.SignalAndWait();
            Number = Bridge.OfRight();
        }
    }

    private static class Bridge
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int OfRight() => Run(() => Right.Number);
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Run(Func<int> f)
        {
            int n = 0;
            var t = new Thread(() => n = f()) { IsBackground = true, Name = "bridge" };
            t.Start();
            t.Join();
            return n;
        }
    }

    private static class Right
    {
        public static int Number;
        static Right()
        {
            classes.SignalAndWait();
            object a = ClassLock;
            lock (a) Number = Left.Number + 1;
        }
    }

    private static readonly object ClassLock = new();

    // A class waits for a thread that waits for a class whose constructor needs the first one.
    private static void ClassInit(Said said)
    {
        said.Start("left", () => Keep<object>(Left.Number));
        said.Start("right", () => Keep<object>(Right.Number));
        said.Deadlock("class_init", "left", "right");
    }

    private static readonly ManualResetEventSlim entered = new();

    private static class Needs
    {
        public static int Number;
        static Needs()
        {
            entered.Set();
            lock (ClassLock) Number = 1;
        }
    }

    // A class constructor waits for a lock whose owner waits for that class.
    private static void ClassInitLock(Said said)
    {
        var locked = new ManualResetEventSlim();
        said.Start("owner", () =>
        {
            lock (ClassLock)
            {
                locked.Set();
                entered.Wait();
                Thread.Sleep(100);
                Keep<object>(Needs.Number);
            }
        });
        locked.Wait();
        said.Start("constructor", () => Keep<object>(Needs.Number));
        said.Deadlock("class_init", "owner", "constructor");
    }

    // A thread joins another one, which waits for its lock.
    private static void JoinCycle(Said said)
    {
        object a = Keep(new object());
        Thread other = null;
        said.Start("joiner", () =>
        {
            lock (a)
            {
                while (Volatile.Read(ref other) == null) Thread.Sleep(1);
                Thread.Sleep(100);
                other.Join();
            }
        });
        Thread started = said.Start("joined", () => { lock (a) Forever(); });
        Volatile.Write(ref other, started);
        said.Deadlock("locks", "joiner", "joined");
    }

    // All workers wait for tasks that need a worker.
    private static void Pool(Said said)
    {
        ThreadPool.SetMinThreads(3, 1);
        ThreadPool.SetMaxThreads(Math.Max(Environment.ProcessorCount, 3), 1);
        int started = 0;
        for (int i = 0; i < 60; i++)
            Task.Run(() =>
            {
                int n = Interlocked.Increment(ref started);
                said.Here("worker" + n);
                Later().Wait();
            });
        Thread.Sleep(4000);
        said.Deadlock("pool", Enumerable.Range(1, started).Select(n => "worker" + n).ToArray());
    }

    // All workers wait for signals that only queued work gives.
    private static void PoolSignals(Said said)
    {
        ThreadPool.SetMinThreads(3, 1);
        ThreadPool.SetMaxThreads(Math.Max(Environment.ProcessorCount, 3), 1);
        int started = 0;
        for (int i = 0; i < 60; i++)
            ThreadPool.QueueUserWorkItem(_ =>
            {
                int n = Interlocked.Increment(ref started);
                said.Here("worker" + n);
                var parts = Keep(new CountdownEvent(2));
                for (int part = 0; part < 2; part++) ThreadPool.QueueUserWorkItem(_ => parts.Signal());
                parts.Wait();
            });
        Thread.Sleep(4000);
        said.Deadlock("pool", Enumerable.Range(1, started).Select(n => "worker" + n).ToArray());
    }

    // A lock is held over the wait for a task, whose child needs the lock.
    private static void Children(Said said)
    {
        object a = Keep(new object());
        var inside = new ManualResetEventSlim();
        said.Start("holder", () =>
        {
            lock (a)
                Task.Factory.StartNew(() =>
                {
                    Task.Factory.StartNew(() =>
                    {
                        said.Here("child");
                        inside.Set();
                        lock (a) Forever();
                    }, CancellationToken.None, TaskCreationOptions.AttachedToParent | TaskCreationOptions.LongRunning, TaskScheduler.Default);
                }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default).Wait();
        });
        inside.Wait();
        said.Deadlock("mixed", "holder", "child");
    }

    private static class NeedsOf<T>
    {
        public static int Number;
        static NeedsOf()
        {
            entered.Set();
            lock (ClassLock) Number = typeof(T).Name.Length;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int NumberOf<T>() => NeedsOf<T>.Number;

    // The same of a generic class, whose code is shared.
    private static void ClassInitGeneric(Said said)
    {
        var locked = new ManualResetEventSlim();
        said.Start("owner", () =>
        {
            lock (ClassLock)
            {
                locked.Set();
                entered.Wait();
                Thread.Sleep(100);
                Keep<object>(NumberOf<string>());
            }
        });
        locked.Wait();
        said.Start("constructor", () => Keep<object>(NumberOf<string>()));
        said.Deadlock("class_init", "owner", "constructor");
    }

    private static void OldReadersAndWriters(Said said)
    {
        var a = Keep(new ReaderWriterLock());
        var b = Keep(new ReaderWriterLock());
        Cross(said, "rwlock", ("first", () => a.AcquireReaderLock(-1), () => b.AcquireWriterLock(-1)), ("second", () => b.AcquireReaderLock(-1), () => a.AcquireWriterLock(-1)));
    }

    // A registration is disposed under the lock that its callback wants.
    private static void Cancellation(Said said)
    {
        object a = Keep(new object());
        var source = Keep(new CancellationTokenSource());
        var inside = new ManualResetEventSlim();
        CancellationTokenRegistration registration = source.Token.Register(() =>
        {
            inside.Set();
            lock (a) Forever();
        });
        var locked = new ManualResetEventSlim();
        said.Start("disposer", () =>
        {
            lock (a)
            {
                locked.Set();
                inside.Wait();
                registration.Dispose();
            }
        });
        locked.Wait();
        said.Start("canceler", source.Cancel);
        said.Deadlock("locks", "disposer", "canceler");
    }

    private sealed class WantsLock(Said said, object a, ManualResetEventSlim inside)
    {
        ~WantsLock()
        {
            said.Here("finalizer");
            inside.Set();
            lock (a) Forever();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Drop(Said said, object a, ManualResetEventSlim inside)
    {
        for (int i = 0; i < 10; i++) new WantsLock(said, a, inside);
    }

    // A lock is held over the wait for finalizers, one of which wants it.
    private static void Finalizer(Said said)
    {
        object a = Keep(new object());
        var inside = new ManualResetEventSlim();
        said.Start("collector", () =>
        {
            lock (a)
            {
                Drop(said, a, inside);
                GC.Collect();
                inside.Wait();
                GC.WaitForPendingFinalizers();
            }
        });
        inside.Wait();
        said.FinalizersEnd = false;
        said.Deadlock("locks", "collector", "finalizer");
    }

    // A callback waits for the end of its own timer.
    private static void TimerDispose(Said said)
    {
        var inside = new ManualResetEventSlim();
        Timer timer = null;
        timer = Keep(new Timer(_ =>
        {
            said.Here("callback");
            inside.Set();
            timer.DisposeAsync().AsTask().Wait();
        }));
        timer.Change(10, Timeout.Infinite);
        inside.Wait();
        said.Deadlock("async", "callback");
    }

    private static void TimerHandle(Said said)
    {
        var inside = new ManualResetEventSlim();
        var ended = Keep(new ManualResetEvent(false));
        Timer timer = null;
        timer = Keep(new Timer(_ =>
        {
            said.Here("callback");
            inside.Set();
            timer.Dispose(ended);
            ended.WaitOne();
        }));
        timer.Change(10, Timeout.Infinite);
        inside.Wait();
        said.Deadlock("locks", "callback");
    }

    // The end of a timer is waited for under the lock that its callback wants.
    private static void TimerLock(Said said)
    {
        object a = Keep(new object());
        var inside = new ManualResetEventSlim();
        var locked = new ManualResetEventSlim();
        Timer timer = Keep(new Timer(_ =>
        {
            said.Here("callback");
            inside.Set();
            locked.Wait();
            lock (a) Forever();
        }));
        said.Start("disposer", () =>
        {
            lock (a)
            {
                timer.Change(10, Timeout.Infinite);
                inside.Wait();
                locked.Set();
                timer.DisposeAsync().AsTask().Wait();
            }
        });
        inside.Wait();
        said.Deadlock("mixed", "disposer", "callback");
    }

    private static async Task Close(Timer timer) => await timer.DisposeAsync();

    // A callback waits for a method that waits for the end of the callback's own timer.
    private static void TimerAsync(Said said)
    {
        var inside = new ManualResetEventSlim();
        Timer timer = null;
        timer = Keep(new Timer(_ =>
        {
            said.Here("callback");
            inside.Set();
            Close(timer).Wait();
        }));
        timer.Change(10, Timeout.Infinite);
        inside.Wait();
        said.Deadlock("async", "callback");
    }

    private static void SelfJoin(Said said)
    {
        said.Start("itself", () => Thread.CurrentThread.Join());
        said.Start("another", () => { object own = Keep(new object()); lock (own) Forever(); });
        said.Deadlock("locks", "itself");
    }

    private static async Task Later()
    {
        await Task.Yield();
        await Task.Delay(1);
    }
}

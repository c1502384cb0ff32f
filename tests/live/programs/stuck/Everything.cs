// One process, optimised, with what the other recorded cores do not have: async methods that the runtime suspends, deadlocks whose threads wait for the thread
// pool, callbacks, finalizers and timers, builders of one's own, and objects of every kind. The recorded core stuck-x64 was taken of it; nothing judges
// it live, where the programs that it is made of stand for themselves.
using System;
using System.Collections.Generic;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Microsoft.FSharp.Core
{
    // As F# marks its unions, without its library.
    [AttributeUsage(AttributeTargets.All)]
    public sealed class CompilationMappingAttribute(int flags) : Attribute
    {
        public int Flags => flags;
    }
}

namespace Stuck
{
    [Microsoft.FSharp.Core.CompilationMapping(1)]
    public class Shape
    {
        public static class Tags
        {
            public const int Circle = 0, Box = 1;
        }

        [Microsoft.FSharp.Core.CompilationMapping(4)]
        public class Circle : Shape
        {
            internal double _radius = 1.5;
        }

        public class Box : Shape
        {
            internal int item1 = 2, item2 = 3;
        }

        public static Shape NewCircle(double radius) => new Circle();
        public static Shape NewBox(int item1, int item2) => new Box();
    }

    // As Visual Basic keeps a property.
    public static class Module
    {
        [CompilerGenerated] private static string _Title = "a title";
        public static string Title { get => _Title; set => _Title = value; }
        public static object[] Shapes = [Shape.NewCircle(1), Shape.NewBox(2, 3)];
        public static Action Several;
        public static (char Letter, sbyte Small, (short Deep, float Part) Inner) Named = ('x', -1, (2, 1.5f));
        public static DateTime Day = new(1970, 1, 2);
        public static char Letter = 'y';
        public static byte Byte = 7;
    }

    // What is awaited is held by the object whose method waits. The runtime suspends no method that returns nothing.
    public class Holder
    {
        private readonly TaskCompletionSource _inside = new();

        public async void Waits()
        {
            await _inside.Task;
            GC.KeepAlive(this);
        }

        public static async void Awaits(Task local)
        {
            await local;
            GC.KeepAlive(local);
        }
    }

    // A semaphore that one holds who waits behind it, or works.
    public class Door<T>
    {
        private readonly SemaphoreSlim _gate = new(1);

        public async void Enter(bool works, Task begin, Task never)
        {
            await begin;
            await _gate.WaitAsync();
            if (works) Thread.Sleep(Timeout.Infinite);
            await never;
        }
    }

    // Timers that are not the framework's own, around one that is.
    public class OwnTime : TimeProvider
    {
        private class OwnTimer(Timer inner) : ITimer
        {
            private readonly Timer _held = inner;
            public bool Change(TimeSpan dueTime, TimeSpan period) => _held.Change(dueTime, period);
            public void Dispose() => _held.Dispose();
            public ValueTask DisposeAsync() => _held.DisposeAsync();
        }

        public override ITimer CreateTimer(TimerCallback callback, object state, TimeSpan dueTime, TimeSpan period) =>
            new OwnTimer(new Timer(callback, state, dueTime, period));
    }

    public static class Everything
    {
        private static readonly string[] s_deadlocks = ["children", "class-init-generic", "old-rw-two", "cancellation", "finalizer", "timer-handle", "timer-lock",
            "timer-async", "self-join", "class-init-lock", "sync-over-async"];

        private static void Begin(string name, Action action)
        {
            new Thread(() => action()) { IsBackground = true, Name = name }.Start();
            Thread.Sleep(800);
        }

        private static async Task Fails()
        {
            await Task.Yield();
            throw new OutOfMemoryException("no room");
        }

        private static async ValueTask Never(Task task)
        {
            await task;
        }

        private static async Task Receives(Socket socket)
        {
            await socket.ReceiveAsync(new byte[1]);
        }

        private static async Task Accepts(Socket socket)
        {
            await socket.AcceptAsync();
        }

        private static async Task Passes(Task task)
        {
            await task;
        }

        private static void Doors<T>(bool works)
        {
            var door = new Door<T>();
            TaskCompletionSource begin = new(), never = new();
            WaitsProgram.Program.Kept.AddRange([door, never]);
            door.Enter(works, begin.Task, never.Task);
            Begin("door", () => begin.SetResult());
            for (int i = 0; i < 50; i++) door.Enter(works, Task.CompletedTask, never.Task);
        }

        private class Closing(Task never) : IAsyncDisposable
        {
            public ValueTask DisposeAsync() => new(never);
        }

        // What is disposed of is kept in a variable where nobody asks for it any more.
        private static async void Closes(Task never)
        {
            await Task.CompletedTask;
            await using (new Closing(never)) GC.KeepAlive(never);
            await using var closing = new Closing(never);
        }

        // Optimised from the start, with awaits on one line, in branches and in a loop.
        [MethodImpl(MethodImplOptions.AggressiveOptimization | MethodImplOptions.NoInlining)]
        private static async Task<int> InOrder(Task<int> done, Task<int> never)
        {
            int sum = await done;
            sum += await done;
            sum += await never;
            return sum + await done;
        }

        [MethodImpl(MethodImplOptions.AggressiveOptimization | MethodImplOptions.NoInlining)]
        private static async Task<int> InBranches(int kind, Task<int> done, Task<int> never)
        {
            int sum = 0;
            for (int i = 0; i < 3; i++)
            {
                if (i == kind) sum += await done + await never;
                else if (kind > 5) sum -= await never;
                else sum += await done;
            }
            try { return sum + await done; }
            finally { await never; }
        }

        private static async void Chooses(int kind, Task<int> number)
        {
            int chosen = kind switch
            {
                1 => await number,
                2 => 1 + await number,
                _ => kind > 3 ? await number : 0,
            };
            GC.KeepAlive(chosen);
        }

        private static async void Yields()
        {
            await Task.Yield();
        }

        private static void Sockets()
        {
            foreach (IPAddress host in new[] { IPAddress.Loopback, IPAddress.IPv6Loopback })
                try
                {
                    var listens = new Socket(host.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
                    listens.Bind(new IPEndPoint(host, 0));
                    listens.Listen();
                    var connects = new Socket(host.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
                    connects.Connect(listens.LocalEndPoint);
                    WaitsProgram.Program.Kept.Add(Receives(connects));
                    WaitsProgram.Program.Kept.Add(Receives(listens.Accept()));
                    WaitsProgram.Program.Kept.Add(Accepts(listens));
                }
                catch (SocketException) { } // a host without IPv6
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Joins(Thread thread) => thread.Join();

        public static int Main()
        {
            Module.Several = () => GC.KeepAlive(Module.Title);
            Module.Several += () => GC.KeepAlive(Module.Day);
            Begin("suspended", Suspended.Program.Main);
            Begin("kinds", () => Kinds.Program.Main(["held", "told"]));
            WaitsProgram.Simple.Start();
            WaitsProgram.Combined.Start();
            WaitsProgram.Shapes.Start();
            WaitsProgram.Builders.Start();
            WaitsProgram.Threads.Start();
            WaitsProgram.Program.Kept.Add(Fails());
            WaitsProgram.Program.Kept.Add(Task.Factory.StartNew(() => Never(new TaskCompletionSource().Task).AsTask()).Unwrap());
            WaitsProgram.Sources.Start();
            var holder = new Holder();
            Holder.Awaits(new TaskCompletionSource().Task);
            Doors<int>(false);
            Doors<string>(true);
            holder.Waits();
            var number = new TaskCompletionSource<int>();
            WaitsProgram.Program.Kept.Add(number);
            for (int kind = 1; kind < 5; kind++) Chooses(kind, number.Task);
            Closes(number.Task);
            WaitsProgram.Program.Kept.Add(InOrder(Task.FromResult(1), number.Task));
            for (int kind = 1; kind < 8; kind++) WaitsProgram.Program.Kept.Add(InBranches(kind, Task.FromResult(kind), number.Task));
            Sockets();
            WaitsProgram.Program.Kept.Add(Passes(Task.Delay(TimeSpan.FromHours(1), new OwnTime())));
            WaitsProgram.Program.Kept.Add(Passes(new PeriodicTimer(TimeSpan.FromHours(1), new OwnTime()).WaitForNextTickAsync().AsTask()));
            WaitsProgram.Program.Kept.Add(Passes(Task.Factory.StartNew<Task>(() => { Thread.Sleep(Timeout.Infinite); return null; },
                TaskCreationOptions.LongRunning).Unwrap()));
            var said = new Locks.Said();
            foreach (string name in s_deadlocks) Begin(name, () => Locks.Deadlocks.All[name](said));
            Begin("memory", () =>
            {
                try { throw new OutOfMemoryException("thrown"); }
                catch (OutOfMemoryException) { Thread.Sleep(Timeout.Infinite); }
            });
            Begin("spins", () => { bool never = false; SpinWait.SpinUntil(() => Volatile.Read(ref never)); });
            var sleeps = new Thread(() => Thread.Sleep(Timeout.Infinite)) { IsBackground = true };
            sleeps.Start();
            Begin("joins", () => Joins(sleeps));
            Begin("pool", () => Locks.Deadlocks.All["pool"](said));
            Thread.Sleep(5000);
            Yields(); // no thread of the pool is left for it
            WaitsProgram.Program.Kept.Add(Fails());
            Console.WriteLine($"READY all");
            Console.Out.Flush();
            Task last = Passes(new TaskCompletionSource().Task);
            while (!last.Wait(TimeSpan.FromHours(1))) GC.KeepAlive(WaitsProgram.Program.Kept);
            return 0;
        }
    }
}

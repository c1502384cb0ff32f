// A service in a known state of trouble, or of health.
//   serving semaphore [N]   N calls wait behind one semaphore, whose holder waits for a source that nobody sets
//   serving thread          the same, and the holder runs on a thread that waits for a lock
//   serving reply           calls wait for the reply of another end, which is this program itself
//   serving source          calls wait for a source that nobody sets
//   serving knot            two async methods wait for each other
//   serving itself          an async method waits for its own task
//   serving callback        a registration is disposed while its callback runs, which does not end
//   serving spins           a thread spins on a word that nobody sets
//   serving polls           a thread gives up the processor again and again until somebody sets a word
//   serving idle            an accept loop, timers, a pipe, a channel and a signal, and nothing to do
//   serving dispatch        the main thread takes work from a queue in a loop, and there is none
//   serving moving          calls wait for each other's semaphore, and all of them go on
//   serving web             a web server without requests, which answers at / and never at /never; prints PORT N
//   serving memory          objects fill the heap nearly up to its hard limit
//   serving failed          a task that nobody asks failed for want of memory
// It prints READY PID, and ends at the first line (or end) of its standard input.
using System;
using System.Collections.Generic;
using System.IO.Pipelines;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Serving;

public sealed class Cache
{
    private readonly SemaphoreSlim _gate = new(1, 1);
    private readonly TaskCompletionSource _reply = new();
    private readonly object _lock = new();

    public async Task<int> Get(int key)
    {
        await _gate.WaitAsync(); // at the gate
        try
        {
            return await Load(key); // behind the gate
        }
        finally { _gate.Release(); }
    }

    private async Task<int> Load(int key)
    {
        await _reply.Task;
        return key;
    }

    public async Task<int> GetOnThread(int key)
    {
        await _gate.WaitAsync(); // at the gate of the thread
        await Task.Yield();
        try
        {
            lock (_lock) return key;
        }
        finally { _gate.Release(); }
    }

    // A thread that keeps the lock.
    public void Lock(ManualResetEventSlim locked)
    {
        lock (_lock)
        {
            locked.Set();
            Thread.Sleep(Timeout.Infinite);
        }
    }
}

public sealed class Worker : BackgroundService
{
    private readonly SemaphoreSlim _signal = new(0);

    protected override async Task ExecuteAsync(CancellationToken stop)
    {
        while (!stop.IsCancellationRequested) await _signal.WaitAsync(stop);
    }
}

public static class Program
{
    public static readonly List<object> Kept = [];

    private static T Keep<T>(T o)
    {
        lock (Kept) Kept.Add(o);
        return o;
    }

    public static int Main(string[] args)
    {
        string mode = args.Length > 0 ? args[0] : "idle";
        switch (mode)
        {
            case "semaphore": Semaphore(args.Length > 1 ? int.Parse(args[1]) : 200); break;
            case "thread": HeldByThread(); break;
            case "source": for (int i = 0; i < 30; i++) Keep(Answer(Source)); break;
            case "reply": Replies(); break;
            case "knot": Knot(); break;
            case "itself": Itself(); break;
            case "callback": Callback(); break;
            case "spins": Spins(); break;
            case "polls": Polls(); break;
            case "dispatch": break;
            case "idle": Idle(); break;
            case "moving": Moving(); break;
            case "web": Web(); break;
            case "memory": Fill(); break;
            case "failed": Keep(Task.FromException(new InvalidOperationException())); Keep(Fail()); break;
            default: Console.Error.WriteLine("no such mode"); return 2;
        }
        Thread.Sleep(1000);
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        Thread.Sleep(300);
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
        if (args[0] == "dispatch") Dispatch();
        Console.In.ReadLine();
        Environment.Exit(0);
        return 0;
    }

    private static void Semaphore(int count)
    {
        var cache = Keep(new Cache());
        for (int i = 0; i < count; i++) Keep(cache.Get(i));
    }

    private static void HeldByThread()
    {
        var cache = Keep(new Cache());
        var locked = new ManualResetEventSlim();
        new Thread(() => cache.Lock(locked)) { IsBackground = true, Name = "keeper" }.Start();
        locked.Wait();
        for (int i = 0; i < 50; i++) Keep(cache.GetOnThread(i));
    }

    private static readonly TaskCompletionSource Source = new();

    private static async Task Answer(TaskCompletionSource reply) => await reply.Task; // at the source

    private static void Replies()
    {
        var listener = Keep(new TcpListener(IPAddress.Loopback, 0));
        listener.Start();
        async Task<int> Ask()
        {
            var client = Keep(new TcpClient());
            await client.ConnectAsync((IPEndPoint)listener.LocalEndpoint);
            return await client.GetStream().ReadAsync(new byte[10]); // at the reply
        }
        for (int i = 0; i < 5; i++) Keep(Ask());
    }

    private static Task s_first;

    private static void Knot()
    {
        var begin = new TaskCompletionSource();
        async Task First() { await begin.Task; await Keep(Second()); }
        async Task Second() { await s_first; }
        s_first = First();
        begin.SetResult();
    }

    private static void Itself()
    {
        var begin = new TaskCompletionSource();
        async Task WaitsForItself() { await begin.Task; await s_first; } // at itself
        s_first = WaitsForItself();
        begin.SetResult();
    }

    private static void Callback()
    {
        var source = Keep(new CancellationTokenSource());
        var inside = new ManualResetEventSlim();
        CancellationTokenRegistration registration = source.Token.Register(() =>
        {
            inside.Set();
            Thread.Sleep(Timeout.Infinite);
        });
        new Thread(source.Cancel) { IsBackground = true, Name = "canceler" }.Start();
        inside.Wait();
        new Thread(() => registration.Dispose()) { IsBackground = true, Name = "disposer" }.Start(); // at the callback
    }

    private static int s_word = 1;

    private static void Spins()
    {
        new Thread(() =>
        {
            var spin = new SpinWait();
            while (Interlocked.CompareExchange(ref s_word, 1, 0) != 0) spin.SpinOnce(); // at the word
        }) { IsBackground = true, Name = "spinner" }.Start();
    }

    private sealed class WorkQueue
    {
        private readonly TaskCompletionSource<int> next_ = new();
        public async Task<int> Take() => await next_.Task;
    }

    private static void Dispatch()
    {
        var queue = Keep(new WorkQueue());
        // No thread of the program's own stands in a call for it.
        Console.OpenStandardInput().ReadAsync(new byte[1], 0, 1).ContinueWith(_ => Environment.Exit(0));
        Task<int> taken = null;
        while (true)
        {
            taken ??= queue.Take();
            WaitForOne(taken);
            if (taken.IsCompleted) taken = null;
        }
    }

    private static void WaitForOne(Task task) => Task.WaitAny([task, Keep(new TaskCompletionSource()).Task]);

    private static void Polls()
    {
        new Thread(() =>
        {
            while (Volatile.Read(ref s_word) != 0) Thread.Sleep(0); // at the turn
        }) { IsBackground = true, Name = "poller" }.Start();
    }

    private static void Idle()
    {
        var listener = Keep(new TcpListener(IPAddress.Loopback, 0));
        listener.Start();
        async Task Accept() { while (true) _ = Keep(Serve(await listener.AcceptTcpClientAsync())); }
        async Task Serve(TcpClient client)
        {
            var buffer = new byte[100];
            while (await client.GetStream().ReadAsync(buffer) > 0) { }
        }
        Keep(Accept());
        Keep(new TcpClient("127.0.0.1", ((IPEndPoint)listener.LocalEndpoint).Port));
        async Task Ticks() { using var timer = new PeriodicTimer(TimeSpan.FromSeconds(30)); while (await timer.WaitForNextTickAsync()) { } }
        Keep(Ticks());
        async Task Delays() { while (true) await Task.Delay(TimeSpan.FromMinutes(1)); }
        Keep(Delays());
        async Task Forever() => await Task.Delay(Timeout.Infinite);
        Keep(Forever());
        var channel = Channel.CreateUnbounded<int>();
        async Task Consume() { await foreach (int i in channel.Reader.ReadAllAsync()) Keep((object)i); }
        for (int i = 0; i < 4; i++) Keep(Consume());
        Keep(channel);
        var pipe = Keep(new Pipe());
        async Task Pipes() { while (true) { var read = await pipe.Reader.ReadAsync(); pipe.Reader.AdvanceTo(read.Buffer.End); } }
        Keep(Pipes());
        var signal = Keep(new SemaphoreSlim(0));
        async Task Signals() { while (true) await signal.WaitAsync(); }
        Keep(Signals());
        Keep(new Timer(_ => { }, null, 60_000, 60_000));
    }

    // Each waits for a short time only.
    private static void Moving()
    {
        var gate = Keep(new SemaphoreSlim(1));
        async Task Turns()
        {
            while (true)
            {
                await gate.WaitAsync();
                await Task.Delay(1);
                gate.Release();
            }
        }
        for (int i = 0; i < 6; i++) Keep(Turns());
    }

    private static readonly ManualResetEventSlim Signal = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string WaitForSignal()
    {
        Signal.Wait(); // at the signal
        return "done";
    }

    private static void Web()
    {
        var builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.Services.AddHostedService<Worker>();
        builder.Services.AddSingleton<Cache>();
        WebApplication app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        app.MapGet("/", async () => { await Task.Delay(5); return "done"; });
        app.MapGet("/signal", WaitForSignal);
        app.MapGet("/never", async (Cache cache) => await cache.Get(1));
        Keep(app);
        app.Start();
        string url = app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>().Addresses.First();
        Console.WriteLine($"PORT {new Uri(url).Port}");
    }

    // Objects of 88 % of what the runtime may have.
    private static void Fill()
    {
        long limit = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        for (long bytes = 0; bytes < limit / 100 * 88; bytes += 40_050) Keep(new Filler());
    }

    public sealed class Filler
    {
        public byte[] Bytes = new byte[40_000];
    }

    private static async Task Fail()
    {
        await Task.Yield();
        throw new OutOfMemoryException();
    }
}

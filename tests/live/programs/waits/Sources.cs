// What is no task: value task sources, awaiters, sockets, pipes, timers.
using System;
using System.Collections.Generic;
using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using System.Threading.Tasks.Sources;

namespace WaitsProgram;

public sealed class ManualSource : IValueTaskSource<int>
{
    private ManualResetValueTaskSourceCore<int> _core;
    public ValueTask<int> Task => new(this, _core.Version);
    public int GetResult(short token) => _core.GetResult(token);
    public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);
    public void OnCompleted(Action<object> continuation, object state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);
}

public sealed class Signal : INotifyCompletion
{
    private Action _continuation;
    public Signal GetAwaiter() => this;
    public bool IsCompleted => false;
    public void GetResult() { }
    public void OnCompleted(Action continuation) => _continuation += continuation;
}

public readonly struct Ticket(Signal signal) : ICriticalNotifyCompletion
{
    private readonly Signal _signal = signal;
    public Ticket GetAwaiter() => this;
    public bool IsCompleted => false;
    public int GetResult() => 1;
    public void OnCompleted(Action continuation) => _signal.OnCompleted(continuation);
    public void UnsafeOnCompleted(Action continuation) => _signal.OnCompleted(continuation);
}

public static class Sources
{
    private static readonly ManualSource s_manual = new(), s_converted = new();
    private static readonly Signal s_signal = new(), s_ticketed = new();
    private static readonly PeriodicTimer s_timer = new(TimeSpan.FromMinutes(90));
    private static readonly Pipe s_pipe = new();
    private static Timer s_callback, s_once;

    // Due times in ms, and periods; null: once.
    public static readonly List<object> Timers = [];

    public static void Start()
    {
        Program.Kept.Add(s_manual);
        Program.Keep("value-source", ValueSource());
        Program.Keep("value-source-as-task", ValueSourceAsTask());
        Program.Keep("awaiter", Awaiter());
        Program.Keep("awaiter-struct", AwaiterStruct());
        Program.Keep("periodic-timer", Periodic());
        Program.Keep("pipe", ReadPipe());
        Program.Keep("provider-delay", ProviderDelay(new Provider()));
        Program.Keep("wrapping-provider-delay", WrappingProviderDelay(new WrappingProvider()));
        Program.Keep("provider-timer", ProviderTimer(new PeriodicTimer(TimeSpan.FromMinutes(95), new WrappingProvider())));
        Program.Keep("provider-timeout", ProviderTimeout(new TaskCompletionSource(), new Provider()));
        // Their boxes are at rest from then on: they wait for nothing.
        for (int i = 0; i < 3; i++) PooledOnce(i).AsTask().Wait();
        Program.Keep("pooled", Pooled2().AsTask());
        Program.Keep("value-task", PlainValueTask2().AsTask());
        s_callback = new Timer(Tick, "state", TimeSpan.FromMinutes(30), TimeSpan.FromMinutes(45));
        s_once = new Timer(static _ => { }, null, TimeSpan.FromMinutes(50), Timeout.InfiniteTimeSpan);
        Program.Kept.Add(s_once);
        Timers.Add(new { due = 1_800_000, period = (long?)2_700_000, callback = "Tick" });
        Timers.Add(new { due = 3_000_000, period = (long?)null, callback = "Start" });
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        Program.Keep("accept", Accept(listener, (IPEndPoint)listener.LocalEndpoint));
    }

    private static void Tick(object state) { }

    private static async Task<int> ValueSource()
    {
        return await s_manual.Task; //@ value-source:0 WaitsProgram.Sources.ValueSource = value_task_source
    }

    private static async Task<int> ValueSourceAsTask()
    {
        return await s_converted.Task.AsTask(); //@ value-source-as-task:0 WaitsProgram.Sources.ValueSourceAsTask = value_task_source
    }

    private static async Task Awaiter()
    {
        await s_signal; //@ awaiter:0 WaitsProgram.Sources.Awaiter = awaiter
    }

    private static async Task AwaiterStruct()
    {
        await new Ticket(s_ticketed); //@ awaiter-struct:0 WaitsProgram.Sources.AwaiterStruct = awaiter
    }

    private static async Task Periodic()
    {
        while (await s_timer.WaitForNextTickAsync()) //@ periodic-timer:0 WaitsProgram.Sources.Periodic = timer
            GC.KeepAlive(s_timer);
    }

    private sealed class Provider : TimeProvider { }

    private sealed class WrappingProvider : TimeProvider
    {
        public override ITimer CreateTimer(TimerCallback callback, object state, TimeSpan due, TimeSpan period) =>
            new Wrapping { Inner = new Timer(callback, state, due, period) };

        private sealed class Wrapping : ITimer
        {
            public Timer Inner;
            public bool Change(TimeSpan due, TimeSpan period) => Inner.Change(due, period);
            public void Dispose() => Inner.Dispose();
            public ValueTask DisposeAsync() => Inner.DisposeAsync();
        }
    }

    private static async Task ProviderDelay(TimeProvider provider)
    {
        await Task.Delay(TimeSpan.FromMinutes(7), provider); //@ provider-delay:0 WaitsProgram.Sources.ProviderDelay = delay
    }

    private static async Task WrappingProviderDelay(TimeProvider provider)
    {
        await Task.Delay(TimeSpan.FromMinutes(8), provider); //@ wrapping-provider-delay:0 WaitsProgram.Sources.WrappingProviderDelay = delay
    }

    private static async Task ProviderTimer(PeriodicTimer timer)
    {
        await timer.WaitForNextTickAsync(); //@ provider-timer:0 WaitsProgram.Sources.ProviderTimer = timer
    }

    private static async Task ProviderTimeout(TaskCompletionSource source, TimeProvider provider)
    {
        await source.Task.WaitAsync(TimeSpan.FromMinutes(9), provider); //@ provider-timeout:0 WaitsProgram.Sources.ProviderTimeout = completion_source
    }

    private static async Task<int> ReadPipe()
    {
        ReadResult result = await s_pipe.Reader.ReadAsync(); //@ pipe:0 WaitsProgram.Sources.ReadPipe = pipe
        return result.Buffer.IsEmpty ? 0 : 1;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> Pooled1(int number)
    {
        await Task.Delay(TimeSpan.FromHours(3)); //@ pooled:0 WaitsProgram.Sources.Pooled1 = delay
        return number;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> PooledOnce(int number)
    {
        await Task.Yield();
        return number;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> Pooled2()
    {
        return await Pooled1(3) + 1; //@ pooled:1 WaitsProgram.Sources.Pooled2
    }

    private static async ValueTask PlainValueTask1()
    {
        await Task.Delay(TimeSpan.FromHours(4)); //@ value-task:0 WaitsProgram.Sources.PlainValueTask1 = delay
    }

    private static async ValueTask<int> PlainValueTask2()
    {
        await PlainValueTask1(); //@ value-task:1 WaitsProgram.Sources.PlainValueTask2
        return 2;
    }

    private static async Task Accept(TcpListener listener, IPEndPoint place)
    {
        Program.Kept.Add(new TcpClient());
        var client = new TcpClient();
        Program.Kept.Add(client);
        Task<Socket> accepted = listener.AcceptSocketAsync();
        await client.ConnectAsync(place);
        Socket server = await accepted;
        Program.Keep("receive", Receive(server));
        await listener.AcceptSocketAsync(); //@ accept:0 WaitsProgram.Sources.Accept = socket
    }

    private static async Task<int> Receive(Socket socket)
    {
        var bytes = new byte[16];
        return await socket.ReceiveAsync(bytes.AsMemory(), SocketFlags.None); //@ receive:0 WaitsProgram.Sources.Receive = socket
    }
}

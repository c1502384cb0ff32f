// A thread pool all of whose threads are blocked.
using System;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace WaitsProgram;

public static class Pool
{
    private const int Workers = 4, Items = 150, Tasks = 30, Methods = 7;
    private static readonly ManualResetEventSlim s_gate = new();
    private static readonly TaskCompletionSource s_source = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public static int Run()
    {
        ThreadPool.SetMinThreads(Workers, 1);
        ThreadPool.SetMaxThreads(Workers, 1);
        var first = new Task[Methods];
        for (int i = 0; i < Methods; i++) first[i] = GoesOn();
        using var started = new CountdownEvent(Workers);
        for (int i = 0; i < Workers; i++)
            ThreadPool.UnsafeQueueUserWorkItem(static s => { ((CountdownEvent)s).Signal(); s_gate.Wait(); }, started);
        started.Wait();
        for (int i = 0; i < Items; i++) ThreadPool.QueueUserWorkItem(Item);
        for (int i = 0; i < Tasks; i++) Program.Kept.Add(Task.Run(Work));
        s_source.SetResult();
        Thread.Sleep(1500);
        Console.WriteLine(JsonSerializer.Serialize(new
        {
            workers = Workers,
            queued = new System.Collections.Generic.Dictionary<string, int> { ["Pool.Item"] = Items, ["Pool.Work"] = Tasks, ["Pool.GoesOn"] = Methods },
        }));
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
        Console.In.ReadLine();
        GC.KeepAlive(first);
        return 0;
    }

    private static void Item(object state) => s_gate.Wait();
    private static void Work() => s_gate.Wait();

    private static async Task GoesOn()
    {
        await s_source.Task;
    }
}

// Threads that wait for tasks.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace WaitsProgram;

public static class Threads
{
    private static readonly TaskCompletionSource s_source = new();

    // The thread's name, and the chain that it waits for.
    public static readonly Dictionary<string, string> Names = [];

    public static void Start()
    {
        Block("thread-wait", () => Waited().Wait());
        Block("thread-result", () => GC.KeepAlive(Number().Result));
        Block("thread-awaiter", () => Awaited().GetAwaiter().GetResult());
        Block("thread-all", () => Task.WaitAll(Each1(), Task.CompletedTask));
        Block("thread-any", () => Task.WaitAny(Each2(), s_source.Task));
        // A method that has not waited yet blocks its thread, below one that has not waited either.
        Block("thread-stack", () => Upper().Wait());
        Program.Keep("running", RunningCaller());
    }

    private static void Block(string name, Action act)
    {
        Names.Add(name, name);
        Program.Started(name);
        new Thread(() => act()) { IsBackground = true, Name = name }.Start();
    }

    private static async Task Waited()
    {
        await s_source.Task; //@ thread-wait:0 WaitsProgram.Threads.Waited = completion_source
    }

    private static async Task<int> Number()
    {
        await s_source.Task; //@ thread-result:0 WaitsProgram.Threads.Number = completion_source
        return 1;
    }

    private static async Task Awaited()
    {
        await s_source.Task; //@ thread-awaiter:0 WaitsProgram.Threads.Awaited = completion_source
    }

    private static async Task Each1()
    {
        await s_source.Task; //@ thread-all:0 WaitsProgram.Threads.Each1 = completion_source
    }

    private static async Task Each2()
    {
        await s_source.Task; //@ thread-any:0 WaitsProgram.Threads.Each2 = completion_source
    }

    private static async Task Lower()
    {
        Below().GetAwaiter().GetResult();
        await Task.Yield();
    }

    private static async Task Upper()
    {
        await Lower();
    }

    // Runs on a thread of the pool, for ever.
    private static async Task RunningMethod()
    {
        await Task.Yield();
        Thread.Sleep(Timeout.Infinite);
    }

    private static async Task RunningCaller()
    {
        await RunningMethod(); //@ running:0 WaitsProgram.Threads.RunningCaller = running
    }

    private static async Task Below()
    {
        await s_source.Task; //@ thread-stack:0 WaitsProgram.Threads.Below = completion_source
    }
}

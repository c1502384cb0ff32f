// Tasks that wait for tasks.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace WaitsProgram;

public static class Combined
{
    private static readonly TaskCompletionSource s_source = new(), s_shared = new(), s_any = new();
    private static readonly TaskCompletionSource<int> s_number = new();

    public static void Start()
    {
        Program.Keep("all", All());
        Program.Keep("all-of-numbers", AllOfNumbers());
        Program.Keep("any", Any());
        Program.Keep("any-of-three", AnyOfThree());
        Program.Keep("wait-async", WaitAsync());
        Program.Keep("wait-async-timeout", WaitAsyncTimeout());
        Program.Keep("run", Run());
        Program.Keep("continue-with", ContinueWith());
        Program.Keep("parallel", ParallelEach());
        Program.Keep("parallel-numbers", ParallelNumbers());
        Task shared = SharedLeaf();
        Program.Keep("shared-1", Shared1(shared));
        Program.Keep("shared-2", Shared2(shared));
    }

    private static async Task Part(int number)
    {
        await s_source.Task; //@ all:0 WaitsProgram.Combined.Part = completion_source
        GC.KeepAlive(number);
    }

    private static async Task All()
    {
        await Task.WhenAll(Task.CompletedTask, Part(1), Task.CompletedTask); //@ all:1 WaitsProgram.Combined.All
    }

    private static async Task<int[]> AllOfNumbers()
    {
        return await Task.WhenAll(s_number.Task, Task.FromResult(1)); //@ all-of-numbers:0 WaitsProgram.Combined.AllOfNumbers = when_all
    }

    private static async Task<Task> Any()
    {
        return await Task.WhenAny(s_any.Task, s_number.Task); //@ any:0 WaitsProgram.Combined.Any = when_any
    }

    private static async Task<Task> AnyOfThree()
    {
        return await Task.WhenAny(s_any.Task, s_number.Task, Task.Delay(TimeSpan.FromHours(5))); //@ any-of-three:0 WaitsProgram.Combined.AnyOfThree = when_any
    }

    private static async Task WaitAsync()
    {
        using var source = new CancellationTokenSource();
        await s_source.Task.WaitAsync(source.Token); //@ wait-async:0 WaitsProgram.Combined.WaitAsync = completion_source
    }

    private static async Task WaitAsyncTimeout()
    {
        await s_source.Task.WaitAsync(TimeSpan.FromHours(6)); //@ wait-async-timeout:0 WaitsProgram.Combined.WaitAsyncTimeout = completion_source
    }

    private static async Task Run()
    {
        await Task.Run(async () => //@ run:1 WaitsProgram.Combined.Run
        {
            await s_source.Task; //@ run:0 WaitsProgram.Combined.Run = completion_source
        });
    }

    private static async Task ContinueWith()
    {
        await s_source.Task.ContinueWith(static t => t.IsCompleted, TaskScheduler.Default); //@ continue-with:0 WaitsProgram.Combined.ContinueWith = task
    }

    private static async Task ParallelEach()
    {
        await Parallel.ForEachAsync([1], async (number, stop) => //@ parallel:1 WaitsProgram.Combined.ParallelEach
        {
            await Task.Yield();
            await s_source.Task; //@ parallel:0 WaitsProgram.Combined.ParallelEach = completion_source
        });
    }

    private static async Task ParallelNumbers()
    {
        await Parallel.ForAsync(0, 1, async (number, stop) => //@ parallel-numbers:1 WaitsProgram.Combined.ParallelNumbers
        {
            await s_source.Task; //@ parallel-numbers:0 WaitsProgram.Combined.ParallelNumbers = completion_source
        });
    }

    private static async Task SharedLeaf()
    {
        await s_shared.Task; //@ shared-1:0 WaitsProgram.Combined.SharedLeaf = completion_source //@ shared-2:0 WaitsProgram.Combined.SharedLeaf = completion_source
    }

    private static async Task Shared1(Task leaf)
    {
        await leaf; //@ shared-1:1 WaitsProgram.Combined.Shared1
    }

    private static async Task Shared2(Task leaf)
    {
        await Task.Yield();
        await leaf; //@ shared-2:1 WaitsProgram.Combined.Shared2
    }
}

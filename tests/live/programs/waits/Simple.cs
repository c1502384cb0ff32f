// One thing that is waited for, below a few methods.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;

namespace WaitsProgram;

public static class Simple
{
    private static readonly TaskCompletionSource s_source = new();
    private static readonly TaskCompletionSource<string> s_text = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private static readonly SemaphoreSlim s_gate = new(0);
    private static readonly Channel<int> s_unbounded = Channel.CreateUnbounded<int>();
    private static readonly Channel<int> s_single = Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleReader = true });
    private static readonly Channel<int> s_waited = Channel.CreateUnbounded<int>();
    private static readonly Channel<int> s_listed = Channel.CreateUnbounded<int>();
    private static readonly Channel<int> s_full = Channel.CreateBounded<int>(1);

    public static void Start()
    {
        Program.Kept.Add(s_gate);
        Program.Keep("delay", Delay());
        Program.Keep("source", Source3());
        Program.Keep("source-of-text", SourceOfText());
        Program.Keep("semaphore", Semaphore());
        Program.Keep("semaphore-timeout", SemaphoreWithTimeout());
        Program.Keep("channel-read", ChannelRead().AsTask());
        Program.Keep("channel-single", ChannelSingle());
        Program.Keep("channel-wait", ChannelWait());
        Program.Keep("channel-all", ChannelAll());
        s_full.Writer.TryWrite(1);
        Program.Keep("channel-write", ChannelWrite());
        Program.Keep("third-await", ThirdAwait());
        Program.Keep("three-in-one", ThreeInOne());
        for (int i = 0; i < 40; i++) Program.Keep("equal", EqualCaller(i));
    }

    private static async Task Delay()
    {
        Console.Write("");
        await Task.Delay(TimeSpan.FromHours(1)); //@ delay:0 WaitsProgram.Simple.Delay = delay
    }

    private static async Task Source1()
    {
        await s_source.Task; //@ source:0 WaitsProgram.Simple.Source1 = completion_source
    }

    private static async Task<int> Source2(int number)
    {
        if (number > 0) await Source1(); //@ source:1 WaitsProgram.Simple.Source2
        return number;
    }

    private static async Task Source3()
    {
        int got = 5;
        got += await Source2(got); //@ source:2 WaitsProgram.Simple.Source3
        GC.KeepAlive(got);
    }

    private static async Task<int> SourceOfText()
    {
        string text = await s_text.Task; //@ source-of-text:0 WaitsProgram.Simple.SourceOfText = completion_source
        return text.Length;
    }

    private static async Task Semaphore()
    {
        await s_gate.WaitAsync(); //@ semaphore:0 WaitsProgram.Simple.Semaphore = semaphore
    }

    private static async Task<bool> SemaphoreWithTimeout()
    {
        using var source = new CancellationTokenSource();
        return await s_gate.WaitAsync(TimeSpan.FromHours(2), source.Token); //@ semaphore-timeout:0 WaitsProgram.Simple.SemaphoreWithTimeout = semaphore
    }

    private static async ValueTask<int> ChannelRead()
    {
        int first = await s_unbounded.Reader.ReadAsync(); //@ channel-read:0 WaitsProgram.Simple.ChannelRead = channel
        return first + 1;
    }

    private static async Task<int> ChannelSingle()
    {
        return await s_single.Reader.ReadAsync(); //@ channel-single:0 WaitsProgram.Simple.ChannelSingle = channel
    }

    private static async Task ChannelWait()
    {
        while (await s_waited.Reader.WaitToReadAsync()) //@ channel-wait:0 WaitsProgram.Simple.ChannelWait = channel
            s_waited.Reader.TryRead(out _);
    }

    private static async Task ChannelAll()
    {
        await foreach (int number in s_listed.Reader.ReadAllAsync()) //@ channel-all:1 WaitsProgram.Simple.ChannelAll
            GC.KeepAlive(number);
    }

    private static async Task ChannelWrite()
    {
        await s_full.Writer.WriteAsync(2); //@ channel-write:0 WaitsProgram.Simple.ChannelWrite = channel
    }

    private static async Task ThirdAwait()
    {
        await Task.Yield();
        await Task.Delay(1).ConfigureAwait(false);
        await s_source.Task.ConfigureAwait(false); //@ third-await:0 WaitsProgram.Simple.ThirdAwait = completion_source
        await Task.Delay(1).ConfigureAwait(false);
    }

    private static async Task<int> Ready(int number)
    {
        await Task.Yield();
        return number;
    }

    private static async Task<int> Late(int number)
    {
        await s_source.Task; //@ three-in-one:0 WaitsProgram.Simple.Late = completion_source
        return number;
    }

    private static async Task<int> ThreeInOne()
    {
        return await Ready(1) //@ three-in-one:1 WaitsProgram.Simple.ThreeInOne
            + await Late(2)
            + await Ready(3);
    }

    private static async Task Equal(int number)
    {
        await s_text.Task; //@ equal:0 WaitsProgram.Simple.Equal = completion_source
        GC.KeepAlive(number);
    }

    private static async Task EqualCaller(int number)
    {
        await Equal(number); //@ equal:1 WaitsProgram.Simple.EqualCaller
    }
}

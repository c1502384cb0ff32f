// Shapes of async methods: iterators, generics, lambdas, local functions, async void, implicit awaits, other contexts.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace WaitsProgram;

public sealed class Closing : IAsyncDisposable
{
    public static readonly TaskCompletionSource Source = new();
    public async ValueTask DisposeAsync()
    {
        await Source.Task; //@ dispose:0 WaitsProgram.Closing.DisposeAsync = completion_source //@ dispose-implicit:0 WaitsProgram.Closing.DisposeAsync = completion_source //@ dispose-configured:0 WaitsProgram.Closing.DisposeAsync = completion_source //@ dispose-variable:0 WaitsProgram.Closing.DisposeAsync = completion_source
    }
}

public class Box<T>
{
    private readonly TaskCompletionSource<T> _source = new();

    public async Task<TOther> Take<TOther>(TOther other)
    {
        await _source.Task; //@ generic:0 WaitsProgram.Box<string>.Take<int> = completion_source //@ generic-values:0 WaitsProgram.Box<int>.Take<System.DateTime> = completion_source
        return other;
    }

    public struct Inner
    {
        private TaskCompletionSource<T> _source;
        public Inner(Box<T> box) => _source = box._source;
        public async Task Wait()
        {
            await _source.Task; //@ struct-method:0 WaitsProgram.Box<string>.Inner.Wait = completion_source
        }
    }
}

/// <summary>A context with a thread of its own, which is idle.</summary>
public sealed class Pump : SynchronizationContext
{
    private readonly BlockingCollection<(SendOrPostCallback, object)> _queue = [];
    public override void Post(SendOrPostCallback call, object state) => _queue.Add((call, state));

    public void Run(Func<Task> first)
    {
        new Thread(() =>
        {
            SetSynchronizationContext(this);
            Program.Keep("context", first());
            foreach (var (call, state) in _queue.GetConsumingEnumerable()) call(state);
        }) { IsBackground = true, Name = "pump" }.Start();
    }
}

public static class Shapes
{
    private static readonly TaskCompletionSource s_source = new();
    private static readonly AsyncLocal<string> s_local = new();

    public static void Start()
    {
        Program.Keep("iterator", Consume());
        Program.Keep("iterator-nested", ConsumeNested());
        Program.Started("void");
        Void();
        Program.Keep("generic", new Box<string>().Take(1));
        Program.Keep("generic-values", new Box<int>().Take(DateTime.UnixEpoch));
        Program.Keep("struct-method", new Box<string>.Inner(new Box<string>()).Wait());
        Program.Keep("lambda", Lambda(2)());
        Program.Keep("local-function", LocalFunction(3));
        Program.Keep("finally", Finally());
        Program.Keep("catch", Catch());
        Program.Keep("dispose", Dispose());
        Program.Keep("dispose-implicit", DisposeImplicit());
        Program.Keep("dispose-configured", DisposeConfigured());
        Program.Keep("dispose-variable", DisposeVariable());
        Program.Keep("async-local", WithLocal());
        Program.Keep("loop", Loop());
        Program.Keep("recursive", Recursive(20));
        Program.Keep("switch-arm", SwitchArm(1));
        Program.Keep("switch-arm-lines", SwitchArmLines(2, "text"));
        Program.Keep("dynamic", Dynamic(s_source.Task));
        Program.Keep("dynamic-method", DynamicMethod(2));
        Program.Keep("with-override", new Derived().Wait());
        new Pump().Run(InContext);
        Faulted.Start();
    }

    private static async IAsyncEnumerable<int> Numbers()
    {
        yield return 1;
        await s_source.Task; //@ iterator:0 WaitsProgram.Shapes.Numbers = completion_source //@ iterator-nested:0 WaitsProgram.Shapes.Numbers = completion_source
        yield return 2;
    }

    private static async IAsyncEnumerable<int> Doubled()
    {
        await foreach (int number in Numbers()) //@ iterator-nested:1 WaitsProgram.Shapes.Doubled
            yield return 2 * number;
    }

    private static async Task<int> Consume()
    {
        int sum = 0;
        await foreach (int number in Numbers()) //@ iterator:1 WaitsProgram.Shapes.Consume
            sum += number;
        return sum;
    }

    private static async Task<int> ConsumeNested()
    {
        int sum = 0;
        await foreach (int number in Doubled().ConfigureAwait(false)) //@ iterator-nested:2 WaitsProgram.Shapes.ConsumeNested
            sum += number;
        return sum;
    }

    private static async void Void()
    {
        await s_source.Task; //@ void:0 WaitsProgram.Shapes.Void = completion_source
    }

    private static Func<Task<int>> Lambda(int number) => async () =>
    {
        await s_source.Task; //@ lambda:0 WaitsProgram.Shapes.Lambda = completion_source
        return number;
    };

    private static async Task LocalFunction(int number)
    {
        await Inner(); //@ local-function:1 WaitsProgram.Shapes.LocalFunction

        async Task<int> Inner()
        {
            await s_source.Task; //@ local-function:0 WaitsProgram.Shapes.LocalFunction = completion_source
            return number;
        }
    }

    private static async Task Finally()
    {
        try
        {
            await Task.Yield();
        }
        finally
        {
            await s_source.Task; //@ finally:0 WaitsProgram.Shapes.Finally = completion_source
        }
    }

    private static async Task Catch()
    {
        try
        {
            await Task.Yield();
            throw new InvalidOperationException();
        }
        catch (InvalidOperationException)
        {
            await s_source.Task; //@ catch:0 WaitsProgram.Shapes.Catch = completion_source
        }
    }

    private static async Task Dispose()
    {
        var closing = new Closing();
        await closing.DisposeAsync(); //@ dispose:1 WaitsProgram.Shapes.Dispose
    }

    private static async Task DisposeImplicit()
    {
        await using var closing = new Closing(); //@ dispose-implicit:1 WaitsProgram.Shapes.DisposeImplicit
        await Task.Yield();
        GC.KeepAlive(closing);
    }

    // Nothing uses it behind an await: in a Release build it is a variable, and no field.
    private static async Task DisposeVariable()
    {
        for (int i = 0; i < 3; i++)
        {
            await Task.Yield();
            await using Closing closing = new(); //@ dispose-variable:1 WaitsProgram.Shapes.DisposeVariable
            if (i == 0) break;
        }
    }

    private static async Task DisposeConfigured()
    {
        var closing = new Closing();
        await using var configured = closing.ConfigureAwait(false); //@ dispose-configured:1 WaitsProgram.Shapes.DisposeConfigured
        await Task.Yield();
        GC.KeepAlive(closing);
    }

    private static async Task WithLocal()
    {
        s_local.Value = "here";
        await s_source.Task; //@ async-local:0 WaitsProgram.Shapes.WithLocal = completion_source
    }

    private static async Task Loop()
    {
        for (int i = 0; i < 10; i++)
        {
            if (i < 3)
                await Task.Yield();
            else
                await s_source.Task; //@ loop:0 WaitsProgram.Shapes.Loop = completion_source
        }
    }

    private static async Task<int> Recursive(int depth)
    {
        if (depth == 0)
        {
            await s_source.Task; //@ recursive:0 WaitsProgram.Shapes.Recursive = completion_source
            return 0;
        }
        return 1 + await Recursive(depth - 1); //@ recursive:1-20 WaitsProgram.Shapes.Recursive
    }

    private static async Task<int> Number(int number)
    {
        await s_source.Task; //@ switch-arm:0 WaitsProgram.Shapes.Number = completion_source //@ switch-arm-lines:0 WaitsProgram.Shapes.Number = completion_source //@ dynamic-method:0 WaitsProgram.Shapes.Number = completion_source
        return number;
    }

    private static async Task<int> SwitchArm(int number) => number switch
    {
        0 => 0,
        1 => await Number(1), //@ switch-arm:1 WaitsProgram.Shapes.SwitchArm
        _ => await Number(2) + await Number(3),
    };

    private static async Task<string> SwitchArmLines(int number, string text)
    {
        string found = text + number switch
        {
            1 => await Number(4),
            2 when text.Length == 4 =>
                number + await Number(5), //@ switch-arm-lines:1 WaitsProgram.Shapes.SwitchArmLines
            _ => 0,
        };
        return found;
    }

    private static async Task Dynamic(dynamic awaited)
    {
        await awaited; //@ dynamic:0 WaitsProgram.Shapes.Dynamic = completion_source
    }

    private static async Task<int> DynamicMethod(dynamic number)
    {
        int found = await Number(number); //@ dynamic-method:1 WaitsProgram.Shapes.DynamicMethod
        return found;
    }

    private static async Task InContext()
    {
        await Task.Yield();
        await s_source.Task; //@ context:0 WaitsProgram.Shapes.InContext = completion_source
    }

    private class Base
    {
        public virtual async Task Wait()
        {
            await s_source.Task; //@ with-override:0 WaitsProgram.Shapes.Base.Wait = completion_source
        }
    }

    private sealed class Derived : Base
    {
        public override async Task Wait()
        {
            await base.Wait(); //@ with-override:1 WaitsProgram.Shapes.Derived.Wait
        }
    }
}

/// <summary>Tasks that failed, and that nobody asked.</summary>
public static class Faulted
{
    public static readonly List<string> Messages = [];
    private static readonly List<List<Task>> s_forgotten = [];

    public static void Start()
    {
        s_forgotten.Add([Fail("forgotten one"), Fail("forgotten two")]);
        Messages.AddRange(["forgotten one", "forgotten two"]);
    }

    private static async Task Fail(string message)
    {
        await Task.Yield();
        throw new InvalidOperationException(message);
    }
}

// Async methods whose builders are the program's own, each of which keeps its state machine in another way.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Threading;
using System.Threading.Tasks;

namespace WaitsProgram;

/// <summary>What a method of one's own kind returns: it keeps who goes on.</summary>
public abstract class Promise : ICriticalNotifyCompletion
{
    private Action _continuation;
    public bool IsCompleted { get; private set; }
    public void GetResult() { }
    public void OnCompleted(Action continuation) => _continuation += continuation;
    public void UnsafeOnCompleted(Action continuation) => _continuation += continuation;
    public void Complete()
    {
        IsCompleted = true;
        _continuation?.Invoke();
    }
}

/// <summary>The builder is the framework's, in a structure around it.</summary>
[AsyncMethodBuilder(typeof(WrappedBuilder<>))]
public readonly struct Wrapped<T>(Task<T> task)
{
    public readonly Task<T> Inner = task;
    public TaskAwaiter<T> GetAwaiter() => Inner.GetAwaiter();
}

public struct WrappedBuilder<T>
{
    private AsyncTaskMethodBuilder<T> _inner;
    public static WrappedBuilder<T> Create() => new() { _inner = AsyncTaskMethodBuilder<T>.Create() };
    public Wrapped<T> Task => new(_inner.Task);
    public void SetResult(T result) => _inner.SetResult(result);
    public void SetException(Exception e) => _inner.SetException(e);
    public void SetStateMachine(IAsyncStateMachine machine) { }
    public void Start<TMachine>(ref TMachine machine) where TMachine : IAsyncStateMachine => _inner.Start(ref machine);
    public void AwaitOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion where TMachine : IAsyncStateMachine => _inner.AwaitOnCompleted(ref awaiter, ref machine);
    public void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion where TMachine : IAsyncStateMachine => _inner.AwaitUnsafeOnCompleted(ref awaiter, ref machine);
}

/// <summary>The builder boxes the machine itself, and the delegate's target is the boxed machine.</summary>
[AsyncMethodBuilder(typeof(BoxedBuilder))]
public sealed class Boxed : Promise
{
    public Boxed GetAwaiter() => this;
}

public struct BoxedBuilder
{
    private Boxed _promise;
    private IAsyncStateMachine _machine;
    public static BoxedBuilder Create() => new() { _promise = new Boxed() };
    public Boxed Task => _promise;
    public void SetResult() => _promise.Complete();
    public void SetException(Exception e) => _promise.Complete();
    public void SetStateMachine(IAsyncStateMachine machine) => _machine = machine;
    public void Start<TMachine>(ref TMachine machine) where TMachine : IAsyncStateMachine => machine.MoveNext();

    private Action GoOn<TMachine>(ref TMachine machine) where TMachine : IAsyncStateMachine
    {
        if (_machine == null)
        {
            IAsyncStateMachine boxed = machine;
            _machine = boxed;
            boxed.SetStateMachine(boxed);
        }
        return _machine.MoveNext;
    }

    public void AwaitOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion where TMachine : IAsyncStateMachine => awaiter.OnCompleted(GoOn(ref machine));
    public void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion where TMachine : IAsyncStateMachine => awaiter.UnsafeOnCompleted(GoOn(ref machine));
}

/// <summary>The builder keeps the machine in a generic object of its own, which is the promise as well.</summary>
[AsyncMethodBuilder(typeof(RunnerBuilder<>))]
public readonly struct Run<T>(Runner<T> runner)
{
    private readonly Runner<T> _runner = runner;
    public Awaiter GetAwaiter() => new(_runner);

    public readonly struct Awaiter(Runner<T> runner) : ICriticalNotifyCompletion
    {
        private readonly Runner<T> _runner = runner;
        public bool IsCompleted => _runner.IsCompleted;
        public T GetResult() => _runner.Result;
        public void OnCompleted(Action continuation) => _runner.OnCompleted(continuation);
        public void UnsafeOnCompleted(Action continuation) => _runner.OnCompleted(continuation);
    }
}

public abstract class Runner<T> : Promise
{
    public T Result;
    public Action GoOn;
}

public sealed class Runner<T, TMachine> : Runner<T> where TMachine : IAsyncStateMachine
{
    private TMachine _held;
    public Runner() => GoOn = () => _held.MoveNext();
    public ref TMachine Held => ref _held;
}

public struct RunnerBuilder<T>
{
    private Runner<T> _runner;
    public static RunnerBuilder<T> Create() => default;
    public Run<T> Task => new(_runner);
    public void SetResult(T result)
    {
        _runner.Result = result;
        _runner.Complete();
    }
    public void SetException(Exception e) => _runner.Complete();
    public void SetStateMachine(IAsyncStateMachine machine) { }
    public void Start<TMachine>(ref TMachine machine) where TMachine : IAsyncStateMachine => machine.MoveNext();

    private Action GoOn<TMachine>(ref TMachine machine) where TMachine : IAsyncStateMachine
    {
        if (_runner == null)
        {
            var runner = new Runner<T, TMachine>();
            _runner = runner;
            runner.Held = machine;
        }
        return _runner.GoOn;
    }

    public void AwaitOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion where TMachine : IAsyncStateMachine => awaiter.OnCompleted(GoOn(ref machine));
    public void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion where TMachine : IAsyncStateMachine => awaiter.UnsafeOnCompleted(GoOn(ref machine));
}

/// <summary>The builder is a class, boxes the machine anew at each await, and goes on by a closure.</summary>
[AsyncMethodBuilder(typeof(ClosureBuilder))]
public sealed class Closed : Promise
{
    public Closed GetAwaiter() => this;
}

public sealed class ClosureBuilder
{
    public Closed Task { get; } = new();
    public static ClosureBuilder Create() => new();
    public void SetResult() => Task.Complete();
    public void SetException(Exception e) => Task.Complete();
    public void SetStateMachine(IAsyncStateMachine machine) { }
    public void Start<TMachine>(ref TMachine machine) where TMachine : IAsyncStateMachine => machine.MoveNext();

    public void AwaitOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion where TMachine : IAsyncStateMachine
    {
        IAsyncStateMachine copy = machine;
        ExecutionContext context = ExecutionContext.Capture();
        awaiter.OnCompleted(() => ExecutionContext.Run(context, static m => ((IAsyncStateMachine)m).MoveNext(), copy));
    }

    public void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion where TMachine : IAsyncStateMachine => AwaitOnCompleted(ref awaiter, ref machine);
}

public static class Builders
{
    private static readonly TaskCompletionSource s_source = new(), s_first = new();

    public static void Start()
    {
        Program.Keep("wrapped", WrappedCaller());
        Program.Keep("boxed", BoxedTop());
        Program.Keep("runner", RunnerTop());
        Program.Keep("closure", ClosureTop());
        Program.Keep("mixed-builders", MixedTop());
        // Machines and objects that have done their work.
        for (int i = 0; i < 3; i++)
        {
            Program.Kept.Add(BoxedEnds());
            Program.Kept.Add(ClosureEnds());
            Program.Kept.Add(RunnerEnds());
        }
        s_first.SetResult();
    }

    private static async Wrapped<int> WrappedLeaf()
    {
        await s_source.Task; //@ wrapped:0 WaitsProgram.Builders.WrappedLeaf = completion_source
        return 1;
    }

    private static async Wrapped<int> WrappedMiddle()
    {
        return await WrappedLeaf() + 1; //@ wrapped:1 WaitsProgram.Builders.WrappedMiddle
    }

    private static async Task<int> WrappedCaller()
    {
        return await WrappedMiddle(); //@ wrapped:2 WaitsProgram.Builders.WrappedCaller
    }

    private static async Boxed BoxedLeaf(int number)
    {
        await s_first.Task;
        await Task.Yield();
        await s_source.Task; //@ boxed:0 WaitsProgram.Builders.BoxedLeaf = completion_source
        GC.KeepAlive(number);
    }

    private static async Boxed BoxedMiddle()
    {
        await BoxedLeaf(1); //@ boxed:1 WaitsProgram.Builders.BoxedMiddle
    }

    private static async Task BoxedTop()
    {
        await BoxedMiddle(); //@ boxed:2 WaitsProgram.Builders.BoxedTop
    }

    private static async Boxed BoxedEnds()
    {
        await s_first.Task;
    }

    private static async Run<int> RunnerLeaf(string text)
    {
        await s_first.Task;
        await s_source.Task.ConfigureAwait(false); //@ runner:0 WaitsProgram.Builders.RunnerLeaf = completion_source
        return text.Length;
    }

    private static async Run<string> RunnerMiddle()
    {
        int number = await RunnerLeaf("text"); //@ runner:1 WaitsProgram.Builders.RunnerMiddle
        return number.ToString();
    }

    private static async Task RunnerTop()
    {
        await RunnerMiddle(); //@ runner:2 WaitsProgram.Builders.RunnerTop
    }

    private static async Run<int> RunnerEnds()
    {
        await s_first.Task;
        return 1;
    }

    private static async Closed ClosureLeaf()
    {
        await s_first.Task;
        await s_source.Task; //@ closure:0 WaitsProgram.Builders.ClosureLeaf = completion_source
    }

    private static async Closed ClosureMiddle()
    {
        await Task.Yield();
        await ClosureLeaf(); //@ closure:1 WaitsProgram.Builders.ClosureMiddle
    }

    private static async ValueTask ClosureTop()
    {
        await ClosureMiddle(); //@ closure:2 WaitsProgram.Builders.ClosureTop
    }

    private static async Closed ClosureEnds()
    {
        await s_first.Task;
    }

    private static async Run<int> MixedLeaf()
    {
        await Task.Delay(TimeSpan.FromHours(2)); //@ mixed-builders:0 WaitsProgram.Builders.MixedLeaf = delay
        return 0;
    }

    private static async Closed MixedClosure()
    {
        await MixedLeaf(); //@ mixed-builders:1 WaitsProgram.Builders.MixedClosure
    }

    private static async Wrapped<int> MixedWrapped()
    {
        await MixedClosure(); //@ mixed-builders:2 WaitsProgram.Builders.MixedWrapped
        return 1;
    }

    private static async Boxed MixedTop()
    {
        await MixedWrapped(); //@ mixed-builders:3 WaitsProgram.Builders.MixedTop
    }
}

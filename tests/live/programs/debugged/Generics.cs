// Shared generic code: each method writes which instantiation it is, in the words of the debugger, then calls the next; the last one waits.
// A line is the whole name without parameters: Debugged.Box<string>.Get<Debugged.Dog>.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Debugged;

public class Box<T>
{
    public T Held;
    private readonly string said = $"Box<{Generics.Name<T>()}>";

    // It needs no generic context: only its object tells what it runs.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Quiet(int depth)
    {
        int result = Generics.Next(depth, said + ".Quiet");
        GC.KeepAlive(this);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Static(int depth) => Generics.Next(depth, $"Box<{Generics.Name<T>()}>.Static");

    // It looks at no type argument: unoptimised code alone keeps the hidden one that it was passed. Its caller tells what it is.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Bare(int depth) => Generics.Next(depth, null);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Fail(int depth)
    {
        Generics.Said($"Box<{Generics.Name<T>()}>.Fail");
        int result = Generics.PlainFail<T[]>(depth);
        GC.KeepAlive(typeof(T));
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public virtual int Get(int depth)
    {
        int result = Generics.Next(depth, $"Box<{Generics.Name<T>()}>.Get");
        GC.KeepAlive(this);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Map<U>(int depth, U with)
    {
        int result = Generics.Next(depth, $"Box<{Generics.Name<T>()}>.Map<{Generics.Name<U>()}>");
        GC.KeepAlive(this);
        GC.KeepAlive(with);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Catch(int depth)
    {
        try
        {
            throw new InvalidOperationException(typeof(T).Name);
        }
        catch (InvalidOperationException) when (depth >= 0)
        {
            return Generics.Next(depth, $"Box<{Generics.Name<T>()}>.Catch");
        }
    }
}

public sealed class Chest<T> : Box<List<T>>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Own(int depth)
    {
        int result = Generics.Next(depth, $"Chest<{Generics.Name<T>()}>.Own");
        GC.KeepAlive(this);
        return result;
    }
}

public struct Slot<T>
{
    public T Held;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Look(int depth) => Generics.Next(depth, $"Slot<{Generics.Name<T>()}>.Look");

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Blind(int depth) => Generics.Next(depth, null);
}

public class Lost<T>
{
    public T Held;

    // Each object lies at another distance from the next.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Throw(int left)
    {
        if (left == 0)
            throw new InvalidOperationException(typeof(T).Name);
        object between = left % 3 == 0 ? new byte[8] : left % 3 == 1 ? new object() : null;
        return new Lost<T>().Throw(left - 1) + (between == null ? 0 : 1);
    }
}

public static class Generics
{
    private static readonly List<object> later = new();

    // While the handler runs, the frames of Throw still stand, but their objects are gone, and others lie where they were.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Replace(int depth)
    {
        try
        {
            return new Lost<string>().Throw(30);
        }
        catch (InvalidOperationException)
        {
            for (int i = 0; i < 3; i++)
                GC.Collect(2, GCCollectionMode.Forced, true, true);
            for (int i = 0; i < 1_000_000; i++)
            {
                var other = new Lost<Dog>();
                if (i % 2 == 0)
                    later.Add(other);
            }
            return Next(depth, null);
        }
    }

    private static readonly List<string> said = new();
    private static Func<int, int>[] steps;
    private static string path;

    public static string Name<T>() => Name(typeof(T));

    private static string Name(Type type) => type == typeof(string) ? "string" : type == typeof(int) ? "int" : type == typeof(object) ? "object"
        : type.IsArray ? Name(type.GetElementType()) + "[]" : !type.IsGenericType ? type.FullName
        : $"{type.Namespace}.{type.Name.Split('`')[0]}<{string.Join(", ", type.GetGenericArguments().Select(Name))}>";

    public static void Said(string name) => said.Add("Debugged." + name);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Next(int depth, string name)
    {
        if (name != null)
            Said(name);
        return steps[depth + 1](depth + 1) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Plain<T>(int depth, T with)
    {
        int result = Next(depth, $"Generics.Plain<{Name<T>()}>");
        GC.KeepAlive(with);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int PlainBare<T>(int depth) => Next(depth, null);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int PlainFail<T>(int depth)
    {
        Said($"Generics.PlainFail<{Name<T>()}>");
        throw new InvalidOperationException(typeof(T).Name);
    }

    // While its filter runs, the frames of the exception still stand.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Guard(int depth)
    {
        try
        {
            return Box<string>.Fail(depth);
        }
        catch (InvalidOperationException) when (Wait() == 0)
        {
            return 0;
        }
    }

    public static void Begin(string file)
    {
        path = file;
        var slot = new Slot<Dog>();
        steps = new Func<int, int>[]
        {
            depth => Box<string>.Static(depth),
            depth => Box<object>.Static(depth),
            depth => new Box<string>().Get(depth),
            depth => new Box<int>().Get(depth),
            depth => new Chest<Dog>().Get(depth),   // of the base class Box<List<Dog>>
            depth => new Chest<string>().Own(depth),
            depth => new Box<Dog>().Map(depth, "text"),
            depth => new Box<string>().Map(depth, new List<string>()),
            depth => Plain(depth, "text"),
            depth => Plain(depth, new Dog("d")),
            depth => Plain(depth, 5),
            depth => slot.Look(depth),
            depth => new Box<string>().Quiet(depth),
            depth => new Chest<Dog>().Quiet(depth),
            depth => Tell("Box<string>.Bare", () => Box<string>.Bare(depth)),
            depth => Tell("Box<System.Collections.Generic.List<Debugged.Dog>>.Bare", () => Box<List<Dog>>.Bare(depth)),
            depth => Tell("Slot<Debugged.Dog>.Blind", () => slot.Blind(depth)),
            depth => Tell("Generics.PlainBare<string>", () => PlainBare<string>(depth)),
            depth => Tell("Generics.PlainBare<Debugged.Dog[]>", () => PlainBare<Dog[]>(depth)),
            depth => Box<Dog>.Catch(depth),
            depth => Replace(depth),
            depth => Guard(depth),
        };
        steps[0](0);
    }

    private static int Tell(string name, Func<int> call)
    {
        Said(name);
        return call();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Wait()
    {
        File.WriteAllLines(path, said);
        Program.Ready();
        Thread.Sleep(Timeout.Infinite);
        return 0;
    }
}

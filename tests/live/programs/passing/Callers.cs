// One method for each way to pass references. The callee needs an assembly that is not there, so that it is never entered.
using System;
using System.Collections.Generic;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using static Passing.Program;

namespace Passing;

public struct Pair { public object First; public string Second; }
public struct Triple { public object First; public int Number; public string Second; }
public struct Mixed { public double Real; public object First; }
public struct Two { public double A, B; }
public struct Deep { public Pair Inner; public int Number; public Mixed Last; }
[StructLayout(LayoutKind.Sequential, Pack = 1)] public struct Packed { public byte Small; public long Large; }
[StructLayout(LayoutKind.Explicit)] public struct Overlaid { [FieldOffset(0)] public object First; [FieldOffset(8)] public int Number; [FieldOffset(8)] public float Real; }
[InlineArray(3)] public struct Three { public object Element; }
public enum Color : short { Red }

public static class Callers
{
    const MethodImplOptions Apart = MethodImplOptions.NoInlining;

    [MethodImpl(Apart)] public static void Objects() => Callees.Objects(Text("a"), Text("b"), Text("c"), Text("d"), Text("e"), Text("f"), Text("g"), Text("h"));
    [MethodImpl(Apart)] public static void PairOf() => Callees.PairOf(Text("a"), new Pair { First = Text("b"), Second = Text("c") }, Text("d"));
    [MethodImpl(Apart)] public static void TripleOf() => Callees.TripleOf(Text("a"), new Triple { First = Text("b"), Number = 7, Second = Text("c") }, Text("d"));
    [MethodImpl(Apart)] public static void MixedOf() => Callees.MixedOf(Text("a"), new Mixed { Real = 1.5, First = Text("b") }, 2.5, Text("c"));
    [MethodImpl(Apart)] public static void Reals() => Callees.Reals(1.5, Text("a"), 2.5f, new Two { A = 1, B = 2 }, Text("b"), 3, Text("c"));
    [MethodImpl(Apart)] public static void Full() => Callees.Full(Text("a"), Text("b"), Text("c"), Text("d"), Text("e"), new Pair { First = Text("f"), Second = Text("g") }, Text("h"));
    [MethodImpl(Apart)] public static void ByRefs()
    {
        string[] held = { Text("b") };
        Callees.ByRefs(Text("a"), ref held[0]);
    }
    [MethodImpl(Apart)] public static void SpanOf() => Callees.SpanOf(Text("a").AsSpan(), Text("b"));
    [MethodImpl(Apart)] public static void Instance() => new Callees(Text("this")).Instance(Text("a"), Text("b"), Text("c"), Text("d"), Text("e"), 1.0, Text("f"), 5, Text("g"));
    [MethodImpl(Apart)] public static void Value()
    {
        Pair[] held = { new Pair { First = Text("field") } };
        Holder.Of(ref held[0]).Value(Text("a"));
    }
    [MethodImpl(Apart)] public static void Buffer() => new Callees(Text("this")).Buffer(Text("a"), Text("b"));
    [MethodImpl(Apart)] public static void Generic() => Callees.Generic<string>(Text("a"), new Pair { First = Text("b") });
    [MethodImpl(Apart)] public static void Nested() => Callees.Nested(new Deep { Inner = new Pair { First = Text("a"), Second = Text("b") }, Last = new Mixed { First = Text("c") } }, Text("d"), Text("e"));
    [MethodImpl(Apart)] public static unsafe void Numbers() => Callees.Numbers(1, Text("a"), 2, null, Color.Red, 3m, Guid.Empty, 'x', true, 4L, Text("b"));
    [MethodImpl(Apart)] public static void Interface()
    {
        ICalled called = (ICalled)(object)new Castable();
        called.Call(Text("a"), Text("b"));
    }
    [MethodImpl(Apart)] public static void Lazy() => Callees.Lazy(Text("a"));
    [MethodImpl(Apart)] public static void Shared() => Shelf<string>.Put(Text("a"), new KeyValuePair<string, string>(Text("b"), Text("c")));
    [MethodImpl(Apart)] public static void TupleOf() => Callees.TupleOf((Text("a"), Text("b")), (Text("c"), 5, Text("d")), new KeyValuePair<string, double>(Text("e"), 2), Text("f"));
    [MethodImpl(Apart)] public static void PackedOf() => Callees.PackedOf(Text("a"), new Packed { Large = 5 }, Text("b"));
    [MethodImpl(Apart)] public static void NullableOf() => Callees.NullableOf(5, Text("a"), (Text("b"), 2), new DateTime(5), Text("c"));
    [MethodImpl(Apart)] public static void Many() => Callees.Many(1, 2, 3, 4, 5, Text("a"), 1, 2, 3, 4, 5, 6, 7, 8, 9, Text("b"), new Pair { First = Text("c") }, new Mixed { First = Text("d") }, Text("e"));
    [MethodImpl(Apart)] public static void ExplicitOf() => Callees.ExplicitOf(new Overlaid { First = Text("a"), Real = 2 }, Text("b"));
    [MethodImpl(Apart)] public static void InlineOf()
    {
        Three three = default;
        three[0] = Text("a");
        three[1] = Text("b");
        three[2] = Text("c");
        Callees.InlineOf(three, Text("d"));
    }
}

public interface ICalled { void Call(object a, object b); }

[DynamicInterfaceCastableImplementation]
public interface ICalledImplementation : ICalled { void ICalled.Call(object a, object b) => GC.KeepAlive(new Absent.Thing()); }

public class Castable : IDynamicInterfaceCastable
{
    public RuntimeTypeHandle GetInterfaceImplementation(RuntimeTypeHandle type)
    {
        BlockForever();
        return typeof(ICalledImplementation).TypeHandle;
    }
    public bool IsInterfaceImplemented(RuntimeTypeHandle type, bool throws) => true;
}

public struct Holder
{
    public object Field;
    public static ref Holder Of(ref Pair pair) => ref Unsafe.As<Pair, Holder>(ref pair);
    [MethodImpl(MethodImplOptions.NoInlining)] public void Value(object a) => GC.KeepAlive(new Absent.Thing { Value = a });
}

public static class Shelf<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)] public static void Put(T a, KeyValuePair<T, T> b) => GC.KeepAlive(new Absent.Thing { Value = typeof(T) });
}

public class Callees
{
    const MethodImplOptions Apart = MethodImplOptions.NoInlining;
    readonly string own;
    public Callees(string own) => this.own = own;

    [MethodImpl(Apart)] public static void Objects(object a, string b, object c, string d, object e, object f, object g, object h) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void PairOf(object a, Pair b, object c) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void TripleOf(object a, Triple b, object c) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void MixedOf(object a, Mixed b, double c, object d) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void Reals(double a, object b, float c, Two d, object e, int f, object g) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void Full(object a, object b, object c, object d, object e, Pair f, object g) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void ByRefs(object a, ref string b) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void SpanOf(ReadOnlySpan<char> a, object b) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public void Instance(object a, object b, object c, object d, object e, double f, object g, int h, object i) => GC.KeepAlive(new Absent.Thing { Value = own });
    [MethodImpl(Apart)] public Deep Buffer(object a, object b)
    {
        GC.KeepAlive(new Absent.Thing());
        return default;
    }
    [MethodImpl(Apart)] public static void Generic<T>(T a, Pair b) => GC.KeepAlive(new Absent.Thing { Value = typeof(T) });
    [MethodImpl(Apart)] public static void Nested(Deep a, object b, object c) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static unsafe void Numbers(int a, object b, nint c, byte* d, Color e, decimal f, Guid g, char h, bool i, long j, object k) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static bool Lazy(object a) => a is Absent.Thing;
    [MethodImpl(Apart)] public static void TupleOf((string, string) a, (string, int, string) b, KeyValuePair<string, double> c, object d) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void PackedOf(object a, Packed b, object c) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void NullableOf(int? a, object b, (string, long)? c, DateTime d, object e) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void Many(int a, int b, int c, int d, int e, object f, double g, double h, double i, double j, double k, double l, double m, double n, double o, object p, Pair q, Mixed r, object s) =>
        GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void ExplicitOf(Overlaid a, object b) => GC.KeepAlive(new Absent.Thing());
    [MethodImpl(Apart)] public static void InlineOf(Three a, object b) => GC.KeepAlive(new Absent.Thing());
}

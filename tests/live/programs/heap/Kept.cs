// The objects that live as long as the program.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace HeapProgram;

public sealed class Node { public Node Next; public int Number; }
public struct Pair { public object Left; public int Number; public string Right; }
public struct Deep { public long Before; public Pair Inner; public object After; }
public class Base { public object InBase; public int Filler; }
public sealed class Derived : Base { public string InDerived; public Pair Inside; public Node[] Nodes; }
public sealed class Box<T> { public T Value; }
public sealed class Wide { public object A; public long B; public object C; public double D; public object E; public byte F; public object G; }
public sealed class WithFinalizer { public int Number; ~WithFinalizer() { Number = -1; } }
public sealed class Order { public int Id; public string Customer; public DayOfWeek Day; public decimal Total; public double Weight; public bool Paid; }

public static class Statics
{
    public static object Object = new Derived { InDerived = "held by a static" };
    public static readonly List<Order> Orders = new();
    [ThreadStatic] public static object OfThread;
}

public sealed class Kept
{
    private readonly Node first;
    private readonly int nodes;
    private readonly List<object> objects = new();
    private readonly ConditionalWeakTable<object, object> table = new();
    private readonly List<GCHandle> handles = new();
    private readonly List<WeakReference> weak = new();

    public Kept(int count)
    {
        nodes = count;
        for (int i = 0; i < count; i++) first = new Node { Next = first, Number = i };
        Values();
        Arrays();
        Handles();
        for (int i = 0; i < 40; i++) objects.Add(new WithFinalizer { Number = i });
        for (int i = 0; i < 3; i++) objects.Add(Collectible(i));
        for (int i = 0; i < 50; i++) Statics.Orders.Add(new Order { Id = 4700 + i, Customer = "customer " + i % 5, Day = (DayOfWeek)(i % 7), Total = i * 1.5m, Weight = i / 4.0, Paid = i % 2 == 0 });
        Statics.OfThread = new Box<int> { Value = 77 };
    }

    private void Values()
    {
        objects.Add(new Derived { InBase = "in base", InDerived = "in derived", Inside = new Pair { Left = first, Right = "right" } });
        objects.Add(new Box<Deep> { Value = new Deep { After = "after", Inner = new Pair { Left = "left" } } });
        objects.Add(new Box<string> { Value = "boxed text" });
        objects.Add(new Wide { A = "a", C = "c", E = "e", G = "g" });
        objects.Add(42);
        objects.Add(new Pair { Left = "of a boxed pair", Number = 7 });
        for (int i = 0; i < 200; i++) objects.Add("twice " + (i / 2).ToString(CultureInfo.InvariantCulture));
        objects.Add(string.Empty);
        objects.Add("text beyond ASCII: \u00e9\u4e2d\ud83d\ude00");
        objects.Add(new string('x', 60_000));
        objects.Add((Action)Values);
    }

    private void Arrays()
    {
        objects.Add(new byte[100_000]);
        objects.Add(new byte[0]);
        objects.Add(new object[] { "one", null, 3, new Node() });
        objects.Add(new object[20_000]);
        objects.Add(new Pair[] { new() { Left = "l0" }, new() { Right = "r1" }, default });
        objects.Add(new Deep[5]);
        objects.Add(new int[3, 4]);
        objects.Add(new object[2, 2] { { "a", "b" }, { "c", null } });
        objects.Add(Array.CreateInstance(typeof(string), new[] { 2 }, new[] { 5 }));
        objects.Add(new[] { new[] { 1, 2 }, new[] { 3 } });
        objects.Add(GC.AllocateArray<byte>(5_000, pinned: true));
        objects.Add(GC.AllocateUninitializedArray<long>(300, pinned: true));
        objects.Add(new decimal[7]);
    }

    private void Handles()
    {
        for (int i = 0; i < 30; i++)
        {
            var target = new Node { Number = 1000 + i };
            handles.Add(GCHandle.Alloc(target, i % 3 == 0 ? GCHandleType.Normal : i % 3 == 1 ? GCHandleType.Weak : GCHandleType.WeakTrackResurrection));
            handles.Add(GCHandle.Alloc(new byte[64 + i], GCHandleType.Pinned));
            weak.Add(new WeakReference(target));
            if (i % 2 == 0) objects.Add(target);
            table.Add(target, new Order { Id = i, Customer = "hangs on a node" });
        }
    }

    // An object of a type that can be unloaded.
    private static object Collectible(int number)
    {
        AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("collectible" + number), AssemblyBuilderAccess.RunAndCollect);
        TypeBuilder type = assembly.DefineDynamicModule("m").DefineType("Collectible.Type" + number, TypeAttributes.Public);
        type.DefineField("Link", typeof(object), FieldAttributes.Public);
        Type made = type.CreateType();
        object value = Activator.CreateInstance(made);
        made.GetField("Link").SetValue(value, "from a collectible type");
        return value;
    }

    // 20 of the orders that hang on nodes live: 15 of their nodes are in the list, and 5 more have a strong handle.
    public string Describe() =>
        $"{{\"nodes\": {nodes}, \"with_finalizer\": 40, \"orders\": {Statics.Orders.Count + 20}, \"bytes\": {GC.GetTotalMemory(false)}, \"collections\": {GC.CollectionCount(0)}, " +
        $"\"server\": {(System.Runtime.GCSettings.IsServerGC ? "true" : "false")}}}";
}

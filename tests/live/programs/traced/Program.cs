// A process that says of itself what a trace of it must say, too: traced REPORT_FILE [ROUNDS]
// At each point it writes its own stack to REPORT_FILE (see situations/Report.cs; the situation is "point N") and an event of the source
// `traced` with the number N, whose stack the runtime records in the trace. Each round makes code in a collectible assembly and a dynamic
// method, passes a point below each, and lets them go. The runtime uses the dynamic method's addresses again at once; those of collectible
// assemblies it leaves alone for long.
using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;
using Situations;

namespace Traced;

[EventSource(Name = "traced")]
public sealed class Source : EventSource
{
    public static readonly Source Log = new();
    [Event(1)] public void Point(int number, string text) => WriteEvent(1, number, text);
}

public static class Program
{
    private static int points;

    public static int Main(string[] args)
    {
        Report.Path = Path.GetFullPath(args[0]);
        Report.Quiet = true;
        int rounds = args.Length > 1 ? int.Parse(args[1]) : 40;
        Shapes.All(Point);
        int alive = 0;
        for (int i = 0; i < rounds; i++)
        {
            WeakReference gone = Round(i);
            for (int n = 0; n < 20 && gone.IsAlive; n++) { GC.Collect(); GC.WaitForPendingFinalizers(); }
            if (gone.IsAlive) alive++;
            GC.Collect();   // once: after more the code heap of dynamic methods goes, too, and the next is elsewhere
            GC.WaitForPendingFinalizers();
        }
        Console.WriteLine($"POINTS {points} ALIVE {alive}");
        return 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    public static void Point()
    {
        points++;
        Report.Situation = "point " + points;
        Report.Before();
        Source.Log.Point(points, "größer");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference Round(int i)
    {
        string name = "Round" + i;
        ModuleBuilder module = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.RunAndCollect).DefineDynamicModule(name);
        TypeBuilder type = module.DefineType(name + ".Type", TypeAttributes.Public);
        MethodInfo next = typeof(Action).GetMethod("Invoke");
        for (int m = 0; m < 8; m++)
        {
            MethodBuilder method = type.DefineMethod("M" + m, MethodAttributes.Public | MethodAttributes.Static, typeof(void), new[] { typeof(Action) });
            Call(method.GetILGenerator(), next, (i + m) % 5);
            next = method;
        }
        Type made = type.CreateType();
        made.GetMethod("M7").CreateDelegate<Action<Action>>()(Point);

        var dynamic = new DynamicMethod("round_" + i, typeof(void), new[] { typeof(Action) }, typeof(Program).Module);
        Call(dynamic.GetILGenerator(), typeof(Action).GetMethod("Invoke"), i % 7);
        dynamic.CreateDelegate<Action<Action>>()(Point);
        return new WeakReference(made);
    }

    private static void Call(ILGenerator il, MethodInfo next, int padding)
    {
        for (int i = 0; i < padding * 20; i++) { il.Emit(OpCodes.Ldarg_0); il.Emit(OpCodes.Pop); il.Emit(OpCodes.Nop); }
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(next.IsStatic ? OpCodes.Call : OpCodes.Callvirt, next);
        il.Emit(OpCodes.Nop);
        il.Emit(OpCodes.Ret);
    }
}

public static class Shapes
{
    public static void All(Action point)
    {
        Deep(12, point);
        Generic<string>.Run<int>(point);
        Generic<(int, long)>.Run<Guid>(point);
        new Outer<string>.Inner<DateTime>(point);
        ((ITake)new Value { Point = point }).Take(3);
        foreach (int _ in Numbers(point)) { }
        _ = Enumerable.Range(0, 3).Select(x => { if (x == 1) point(); return x; }).ToList();
        Async(point).GetAwaiter().GetResult();
        typeof(Shapes).GetMethod(nameof(Reflected)).Invoke(null, new object[] { point });
        Statics.Touch(point);
        try { throw new InvalidOperationException(); } catch (InvalidOperationException) when (Filter(point)) { point(); } finally { point(); }
        new List<int> { 3, 1, 2 }.Sort((a, b) => { if (point != null) { point(); point = null; } return a - b; });
    }

    private static int Deep(int n, Action point) { if (n > 0) return Deep(n - 1, point) + 1; point(); return 0; }
    private static bool Filter(Action point) { point(); return true; }
    private static IEnumerable<int> Numbers(Action point) { yield return 1; point(); yield return 2; }
    private static async Task Async(Action point) { await Task.Yield(); point(); }
    public static void Reflected(Action point) { point(); }

    private static class Generic<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)] public static void Run<U>(Action point) { new Instance<U>().Go(point); }
        private sealed class Instance<V> { [MethodImpl(MethodImplOptions.NoInlining)] public void Go(Action point) { point(); } }
    }

    private class Outer<A>
    {
        public class Inner<B> { public Inner(Action point) { point(); } }
    }

    private interface ITake { void Take(int n); }
    private struct Value : ITake { public Action Point; public void Take(int n) { Point(); } }
    private static class Statics { private static Action point; static Statics() { pending(); } private static Action pending = Report.Quiet ? () => Program.Point() : null; public static void Touch(Action p) { point = p; } }
}

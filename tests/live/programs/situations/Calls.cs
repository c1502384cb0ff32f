// Managed calls of every shape.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading;

namespace Situations;

public static class Calls
{
    public static Dictionary<string, Action> All() => new()
    {
        ["simple"] = Report.Here,
        ["recursion"] = () => Deep(2000),
        ["mutual"] = () => Even(301),
        ["generics"] = () => Generic<string>.Run<int>("a", 1),
        ["generics-values"] = () => Generic<(int, long)>.Run<Guid>((1, 2), default),
        ["generics-nested"] = () => new Outer<string>.Inner<DateTime>().Call<List<int>>(null, default, null, new string[0]),
        ["virtual"] = () => Virtual(new Derived()),
        ["interface"] = () => ((ICallable)new Implementation()).Call(3),
        ["interface-default"] = () => ((ICallable)new Implementation()).Default(3),
        ["interface-generic"] = () => ((IGeneric<string>)new Implementation()).Take("x"),
        ["delegate"] = () => Invoke(Target, 4),
        ["multicast"] = () => { Action a = Nothing; a += Report.Here; a(); },
        ["lambda"] = () => Lambda(5),
        ["local-function"] = () => LocalFunction(6),
        ["iterator"] = () => Iterator(7),
        ["linq"] = () => Linq(8),
        ["reflection"] = () => typeof(Calls).GetMethod(nameof(Reflected), BindingFlags.NonPublic | BindingFlags.Static).Invoke(null, new object[] { "x", 9 }),
        ["dynamic-method"] = Dynamic,
        ["static-constructors"] = () => First.Touch(),
        ["constructor"] = () => new Built(10, "x"),
        ["property"] = () => _ = new Built().Value,
        ["operator"] = () => _ = new Built() + new Built(),
        ["many-arguments"] = () => Arguments(1, 2.5, 3, "four", 5L, 6f, new Big { A = 7 }, 8, 9, 10),
        ["by-ref"] = ByRef,
        ["osr-loop"] = () => OsrLoop(2_000_000),
        ["hot-tier1"] = HotTier1,
        ["localloc"] = () => LocalAlloc(300),
        ["large-frame"] = LargeFrame,
        ["array-method"] = () => Array.ForEach(new[] { 1, 2 }, x => { if (x == 2) Report.Here(); }),
        ["sort-callback"] = () => new List<int> { 3, 1, 2 }.Sort((a, b) => { Report.Here(); return 0; }),
        ["many-threads"] = ManyThreads,
        ["many-locals"] = () => Locals(11),
#if NET9_0_OR_GREATER
        ["many-assemblies"] = () => Assemblies(150),
#endif
    };

#if NET9_0_OR_GREATER
    // Each calls the next one. They are loaded from bytes, from files, and into collectible contexts.
    private static void Assemblies(int count)
    {
        string folder = Directory.CreateDirectory(Report.Path + ".parts").FullName;
        Action next = Report.Here;
        for (int i = 0; i < count; i++)
        {
            string name = "Part" + i, path = Path.Combine(folder, name + ".dll");
            var assembly = new PersistedAssemblyBuilder(new AssemblyName(name), typeof(object).Assembly);
            bool fromBytes = i % 3 == 0;
            TypeBuilder type = assembly.DefineDynamicModule(fromBytes ? name : name + ".dll").DefineType($"Parts.{name}.Step", TypeAttributes.Public);
            ILGenerator il = type.DefineMethod("Go", MethodAttributes.Public | MethodAttributes.Static, typeof(void), new[] { typeof(Action) }).GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Callvirt, typeof(Action).GetMethod("Invoke"));
            il.Emit(OpCodes.Nop);   // no tail call
            il.Emit(OpCodes.Ret);
            type.CreateType();
            assembly.Save(path);
            Assembly loaded = fromBytes ? Assembly.Load(File.ReadAllBytes(path))
                : i % 3 == 1 ? Assembly.LoadFrom(path)
                : new AssemblyLoadContext(name, isCollectible: true).LoadFromAssemblyPath(path);
            var go = loaded.GetType(type.FullName).GetMethod("Go").CreateDelegate<Action<Action>>();
            Action inner = next;
            next = () => go(inner);
        }
        next();
    }
#endif

    private static int Deep(int n) { if (n == 0) { Report.Here(); return 0; } return Deep(n - 1) + 1; }
    private static bool Even(int n) { if (n == 0) { Report.Here(); return true; } return !Odd(n - 1); }
    private static bool Odd(int n) { if (n == 0) { Report.Here(); return true; } return !Even(n - 1); }

    private static class Generic<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)] public static U Run<U>(T t, U u) { new Instance<U>().Go(t, u); return u; }
        private sealed class Instance<V> { [MethodImpl(MethodImplOptions.NoInlining)] public void Go(T t, V v) { Report.Here(); } }
    }

    private class Outer<A>
    {
        public class Inner<B> { [MethodImpl(MethodImplOptions.NoInlining)] public void Call<C>(A a, B b, C c, A[] array) { Report.Here(); } }
    }

    private static void Virtual(Base b) { b.Run(1); }
    private abstract class Base { public abstract int Run(int n); }
    private class Middle : Base { public override int Run(int n) { Report.Here(); return n; } }
    private sealed class Derived : Middle { public override int Run(int n) { return base.Run(n + 1) + 1; } }

    private interface ICallable { int Call(int n); int Default(int n) { Report.Here(); return n; } }
    private interface IGeneric<T> { void Take(T t); }
    private sealed class Implementation : ICallable, IGeneric<string>
    {
        public int Call(int n) { Report.Here(); return n; }
        void IGeneric<string>.Take(string t) { Report.Here(); }
    }

    private static int Invoke(Func<int, int> f, int n) { return f(n) + 1; }
    private static int Target(int n) { Report.Here(); return n; }
    private static void Nothing() { }
    private static void Lambda(int captured) { Action a = () => { Report.Here(); GC.KeepAlive(captured); }; a(); }
    private static void LocalFunction(int n) { Local(n + 1); void Local(int k) { Report.Here(); GC.KeepAlive(n + k); } }
    private static void Iterator(int n) { foreach (int x in Numbers(n)) GC.KeepAlive(x); }
    private static IEnumerable<int> Numbers(int n) { yield return n; Report.Here(); yield return n + 1; }
    private static void Linq(int n) { _ = Enumerable.Range(0, n).Where(x => x > 2).Select(x => { Report.Here(); return x; }).ToList(); }
    private static int Reflected(string s, int n) { Report.Here(); return n; }

    private static void Dynamic()
    {
        var m = new DynamicMethod("dynamic_caller", typeof(void), new[] { typeof(int) }, typeof(Calls).Module, true);
        ILGenerator il = m.GetILGenerator();
        il.Emit(OpCodes.Call, typeof(Report).GetMethod(nameof(Report.Here)));
        il.Emit(OpCodes.Nop);
        il.Emit(OpCodes.Ret);
        m.CreateDelegate<Action<int>>()(3);
    }

    private static class First { private static readonly int x = Second.Value + 1; static First() { GC.KeepAlive(x); } public static void Touch() => GC.KeepAlive(x); }
    private static class Second { public static readonly int Value = Third.Value + 1; static Second() { } }
    private static class Third { public static readonly int Value; static Third() { Report.Here(); Value = 3; } }

    private sealed class Built
    {
        public Built() { }
        public Built(int n, string s) { Report.Here(); }
        public int Value { get { Report.Here(); return 1; } }
        public static Built operator +(Built a, Built b) { Report.Here(); return a; }
    }

    private struct Big { public long A, B, C, D, E; }
    private static double Arguments(int a, double b, byte c, string d, long e, float f, Big g, int h, int i, int j) { Report.Here(); return a + b + c + e + f + g.A + h + i + j; }
    private static void ByRef() { int a = 1; ReadOnlySpan<char> s = "span"; Spans(ref a, s, out _, in a); }
    private static unsafe void Spans(ref int a, ReadOnlySpan<char> s, out string o, in int i) { fixed (int* p = &a) Pointers(p, null); o = ""; }
    private static unsafe void Pointers(int* p, void** q) { Report.Here(); }

    private static long OsrLoop(int n)
    {
        long sum = 0;
        for (int i = 0; i < n; i++) { sum += i ^ (sum >> 3); if (i == n - 1) Report.Here(); }
        return sum;
    }

    private static int HotLeaf(int n) { if (n == -1) Report.Here(); return n * 3; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int HotCaller(int n) { return HotLeaf(n) + 1; }
    private static void HotTier1()
    {
        for (int round = 0; round < 20; round++) { for (int i = 0; i < 200; i++) GC.KeepAlive(HotCaller(i)); Thread.Sleep(20); }
        Thread.Sleep(300);
        HotCaller(-1);
    }

    private static unsafe int LocalAlloc(int n) { byte* p = stackalloc byte[n]; p[0] = 1; LocalAllocInner(p, n); return p[0]; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static unsafe void LocalAllocInner(byte* p, int n) { int* q = stackalloc int[n]; q[0] = p[0]; Report.Here(); GC.KeepAlive(q[0]); }

    private unsafe struct Huge { public fixed byte Bytes[200_000]; }
    private static unsafe void LargeFrame() { Huge h; h.Bytes[5] = 3; LargeInner(ref h); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static unsafe void LargeInner(ref Huge h) { Huge copy = h; Report.Here(); GC.KeepAlive(copy.Bytes[5]); }

    private static void ManyThreads()
    {
        for (int i = 0; i < 20; i++)
        {
            int depth = i;
            var t = new Thread(() => Deep(depth)) { Name = "worker " + i, IsBackground = true };
            t.Start();
        }
        Report.Here();
    }

    private static int Locals(int seed)
    {
        int a = seed, b = a + 1; long c = b * 2L; string text = "text " + c; double d = c / 3.0; int[] array = { a, b }; object boxed = d;
        Report.Here();
        return a + b + (int)c + text.Length + (int)d + array.Length + boxed.GetHashCode();
    }
}

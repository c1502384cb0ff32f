// Variables, fields and static fields of every kind. The program says what each holds (../told), then waits. It is started as: kinds held FILE.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Told;

namespace Kinds;

public static unsafe partial class Program
{
    static Teller t = new();
    public static Person Root;

    public static int Main(string[] args)
    {
        if (args.Length != 2 || args[0] != "held")
        {
            Console.Error.WriteLine("usage: kinds held FILE");
            return 2;
        }
        PerThread.Set(10);
        GenThread<string>.Mine = "main";
        GenThread<int>.Mine = 1;
        Root = new Employee(1, "Root", new DateOnly(1970, 1, 2), 1234.50m, Marks.Fresh) { Home = (1.5, -2.25) };
        Unseen.Named = Root; Unseen.People.Add(Root);
        Gen<int>.Value = 11; Gen<int>.All.Add(3); Gen<string>.Value = "gs"; Gen<string>.Count = 2; Gen<Pt>.Value = new() { X = 1, Y = 2 }; Gen<Person>.Value = Root;
        Gen<int>.Nested<string>.Other = "o"; Gen<string>.Nested<int>.Other = 4; Gen<List<int>>.Value = new() { 1, 2 };
        Gen<Dictionary<string, int[]>>.Value = new() { ["q"] = new[] { 1 } };
        First(args[1], 1);
        return 0;
    }

    static int local2 = 4;
    static int Twice(int x) => x * 2;
    static IEnumerable<int> Iterate(int n) { int square = 0; for (int i = 0; i < n; i++) { square = i * i; yield return square; } }
    [DllImport("libc", EntryPoint = "gettid")] static extern int ThreadId();
    [MethodImpl(MethodImplOptions.NoInlining)] static void Keep(params object[] all) => GC.KeepAlive(all);
}

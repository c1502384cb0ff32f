// Arrays, parts of memory, pointers, what the framework has beside, types of our own, static fields, and commands.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Told;

namespace Kinds;

public static unsafe partial class Program
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Third(string file)
    {
        t.Frame = "Kinds.Program.Third";
        int[] ints = { 1, 2, 3 }; byte[] bytes = { 0, 127, 255 }; sbyte[] sbytes = { -1, 1 }; char[] chars = "abc".ToCharArray(); bool[] bools = { true, false };
        double[] doubles = { 1.5, double.NaN }; float[] floats = { 0.1f }; string[] strings = { "s0", null, "" };
        object[] objects = { 1, "o", null, Root, new Pt { X = 6 }, Marks.Both }; Pt[] pts = { new() { X = 1 }, new() { Y = 2 } };
        Marks[] marks = { Marks.None, Marks.Sale }; decimal[] decs = { 1.5m }; DateTime[] dates = { new(2020, 1, 1) }; int?[] nulls = { 1, null };
        Guid[] guids = { Guid.Empty }; nint[] nints = { -1, 5 }; int[,] grid = { { 1, 2 }, { 3, 4 }, { 5, 6 } }; string[,] sgrid = { { "a", null } };
        Pt[,] pgrid = { { new() { X = 7 } } }; int[,,] cube = { { { 1, 2 }, { 3, 4 } } }; int[][] jag = { new[] { 1 }, null, new[] { 2, 3 } };
        int[][,] jagrect = { new[,] { { 1, 2 } } }; int[,][] rectjag = { { new[] { 9 }, null } }; List<int>[] lists = { new() { 1 }, null };
        Dictionary<string, int>[] dicts = { new() { ["q"] = 1 } }; INamed[] nameds = { Root, null }; Entity[] entities = { Root };
        object[] covariant = new string[] { "cov" }; Array lower = Array.CreateInstance(typeof(int), new[] { 3 }, new[] { -1 }); lower.SetValue(5, -1);
        Array lower2 = Array.CreateInstance(typeof(string), new[] { 2, 2 }, new[] { 1, 10 }); lower2.SetValue("l2", 1, 10); int[,] zero = new int[0, 5];
        (int, string)[] tups = { (1, "a") }; Tagged<string>[] tagged = { new("t", "g") }; Task[] tasks = { Task.CompletedTask }; Action[] actions = { () => { } };
        long[] many = Enumerable.Range(0, 1000).Select(x => (long)x * x).ToArray(); Segment[] segs = { new() { Name = "sg", From = new() { X = 1 } } };
        Type[] types = { typeof(string), typeof(int[]), typeof(Box<Pt>.Inner<string>) };
        t.Tell(ints); t.Tell(bytes); t.Tell(sbytes); t.Tell(chars); t.Tell(bools); t.Tell(doubles); t.Tell(floats); t.Tell(strings); t.Tell(objects); t.Tell(pts);
        t.Tell(marks); t.Tell(decs); t.Tell(dates); t.Tell(nulls); t.Tell(guids); t.Tell(nints); t.Tell(grid); t.Tell(sgrid); t.Tell(pgrid); t.Tell(cube);
        t.Tell(jag); t.Tell(jagrect); t.Tell(rectjag); t.Tell(lists); t.Tell(dicts); t.Tell(nameds); t.Tell(entities); t.Tell(covariant); t.Tell(zero); t.Tell(tups);
        t.Tell(tagged); t.Tell(tasks); t.Tell(many); t.Tell(segs); t.Tell(types);
        // --- memory
        Memory<int> mem = ints.AsMemory(1), memd = default; ReadOnlyMemory<byte> rom = bytes; ReadOnlyMemory<char> romc = "slice me".AsMemory(6);
        Memory<char> memc = chars.AsMemory(1); ArraySegment<string> aseg = new(strings, 0, 2), asegd = default;
        t.Tell(mem); t.Tell(memd); t.Tell(rom); t.Tell(romc); t.Tell(memc); t.Tell(aseg); 
        Span<int> span = ints.AsSpan(1); ReadOnlySpan<char> roschar = "span text".AsSpan(5), rosempty = default; Span<Pt> spanp = pts;
        ReadOnlySpan<byte> utf8 = "utf8"u8; ReadOnlySpan<string> rosstr = strings; Span<byte> stack = stackalloc byte[] { 9, 8, 7 };
        Span<char> spanchar = stackalloc char[] { 'h', 'i' };
        t.Say("span", "int[2] {2, 3}"); t.Say("span[1]", "3", "named"); t.Say("roschar", "\"text\""); t.Say("rosempty", "\"\"");
        t.Say("spanp", "Kinds.Pt[2] {{X = 1, Y = 0}, {X = 0, Y = 2}}"); t.Say("spanp[1].Y", "2", "named"); t.Say("utf8", "byte[4] {117, 116, 102, 56}");
        t.Say("rosstr", "string[3] {\"s0\", null, \"\"}"); t.Say("rosstr[0]", "\"s0\"", "named"); t.Say("stack", "byte[3] {9, 8, 7}"); t.Say("spanchar", "\"hi\"");
        int local = 31; int* ptr = &local; Pt ptv = new() { X = 8, Y = 9 }; Pt* pptr = &ptv; void* vptr = ptr; int** pp = &ptr; delegate*<int, int> fptr = &Twice;
        ref int refi = ref ints[2]; ref Pt refp = ref pts[1]; ref string refs = ref strings[0]; char* cptr = stackalloc char[2];
        t.Say("*ptr", "31", "named"); t.Say("pptr->X", "8", "number"); t.Say("pptr->Y", "9", "number"); t.Say("local", "31", "number"); 
        Four four = default; for (int k = 0; k < 4; k++) four[k] = k * 10; Fixed fix = default; fix.After = 5; for (int k = 0; k < 8; k++) fix.Data[k] = (byte)k;
        t.Say("fix.After", "5", "number"); t.Say("fix.Data", "byte[8] {0, 1, 2, 3, 4, 5, 6, 7}"); t.Say("fix.Data.FixedElementField[3]", "3", "named"); t.Say("four", "int[4] {0, 10, 20, 30}"); t.Say("four[2]", "20", "named");
        Cursor cursor = new() { Rest = "cursor".AsSpan(3), At = 3, Target = ref ints[0] }; t.Say("cursor.At", "3", "number");
        t.Say("cursor.Rest", "\"sor\"", "named");
        // --- other framework objects
        StringBuilder sbuild = new("start"); for (int k = 0; k < 30; k++) sbuild.Append(" piece").Append(k); StringBuilder sbe = new();
        Uri uri = new("http://user@host:81/p/a?q=1#f"), rel = new("a/b", UriKind.Relative); Version ver = new(1, 2), ver4 = new(1, 2, 3, 4);
        CancellationToken tok = default, tokc = new(true); CancellationTokenSource cts = new(), ctsc = new(); ctsc.Cancel(); CancellationToken tokl = cts.Token;
        Task<int> tdone = Task.FromResult(5);
        Task tcomp = Task.CompletedTask, tcan = Task.FromCanceled(new(true)), tfault = Task.FromException(new E1("bad task", null));
        Task<string> tpend = new TaskCompletionSource<string>().Task; Task<List<int>> tlist = Task.FromResult(ints.ToList()); ValueTask<int> vti = new(9);
        ValueTask vt0 = default; Lazy<int> lazy = new(() => 5), lazyd = new(() => 6); _ = lazyd.Value; WeakReference weak = new(Root);
        WeakReference<Person> weakp = new(Root); Tuple<int, string, Pt> tup3 = Tuple.Create(1, "t", pts[0]);
        Exception ex = new InvalidOperationException("invalid"), exi = new E1("outer", new ArgumentNullException("param"));
        AggregateException agg = new(new E1("a", null), new Exception("b")); Type type = typeof(Dictionary<string, List<int>>), gtd = typeof(Box<>);
        KeyValuePair<string, Person> kvp = new("key", Root); Rune rune = new(0x1F600); Thread thread = Thread.CurrentThread;
        EqualityComparer<int> eq = EqualityComparer<int>.Default; Random rnd = new(5); Nullable<Pt> np = pts[0];
        t.Tell(sbuild); t.Tell(sbe); t.Tell(uri); t.Tell(rel); t.Tell(ver); t.Tell(ver4); t.Tell(tok); t.Tell(tokc); t.Tell(cts); t.Tell(ctsc); t.Tell(tokl);
        t.Tell(tdone); t.Tell(tcomp); t.Tell(tcan); t.Tell(tfault); t.Tell(tpend); t.Tell(tlist); t.Tell(tup3); t.Tell(ex); t.Tell(exi); t.Tell(agg); t.Tell(type);
        t.Tell(kvp);
        // --- own generic and other types
        Deeper deeper0 = new(); Box<int> boxi = new(1) { Next = new(2) }; Box<string> boxs = new("bs"); Box<Pt> boxp = new(pts[0]);
        Box<List<Box<int>>> boxl = new(new() { boxi }); Box<int>.Inner<string> inner = new() { First = 1, Second = "in" };
        Box<string>.Inner<Pt> inner2 = new() { First = "f", Second = pts[1] }; Pairing<string, int> pairing = new() { Flat = new[] { ("fk", 1) } };
        pairing.Map["m"] = new() { 4 }; pairing.Listed.Add(("lk", 3)); Node node = new() { Name = "root" }; node.Left = new() { Name = "left", Parent = node };
        node.Kids.Add(node.Left); node.Parent = node; Props props = new() { Must = "must" }; Primary primary = new(3, "prim");
        var anon = new { Id = 1, Name = "anon", Inner = new { X = 1.5 } }; var anons = new[] { new { K = 1 }, new { K = 2 } }; Func<int, int> fn = Twice;
        Action act = deeper0.Fire; Func<int> closure = () => local2 + ints.Length; Comparison<string> cmp = string.CompareOrdinal;
        (int a, string b) tuple = (1, "x"); (int, (string, bool), Pt) tuplen = (1, ("y", true), pts[0]);
        (int A, int B, int C, int D, int E, int F, int G, int H, int I, int J, int K, int L, int M, int N, int O, int P) t16 = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
            12, 13, 14, 15, 16);
        ValueTuple<int> one = new(5); ValueTuple zeroTuple = default; Deeper deeper = new(); deeper.Changed += (o, e) => { };
        IGrouping<int, int> group = ints.GroupBy(x => x % 2).First(); IEnumerator<int> iter = Iterate(3).GetEnumerator(); iter.MoveNext();
        IEnumerable<int> where = ints.Where(x => x > 1);
        t.Tell(boxi); t.Tell(boxs); t.Tell(boxp); t.Tell(boxl); t.Tell(inner); t.Tell(inner2); t.Tell(pairing); t.Tell(node); t.Tell(anon); t.Tell(anons);
        t.Tell(deeper);
        t.Say("pairing.Flat[0].Key", "\"fk\"", "named"); t.Say("pairing.Listed[0].Value", "3", "named"); t.Say("tuple.a", "1", "named");
        t.Say("tuple.b", "\"x\"", "named"); t.Say("tuplen.Item2.Item1", "\"y\"", "named"); t.Say("t16.H", "8", "named"); t.Say("t16.P", "16", "named");
        t.Fields("t16", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P"); t.Say("t16", "(1, 2, 3, 4, 5, 6, 7, 8, ...)");
        t.Say("one", "(5)");
        t.Say("props.Auto", "4", "number"); t.Say("props.Init", "\"init\""); t.Say("props.Explicit", "8", "number"); t.Say("props.Must", "\"must\"");
        t.Say("props.Field", "12", "number"); t.Refuse("props.Computed"); t.Say("primary.Word", "\"prim\"");
        // --- statics
        t.Statics(typeof(Unseen)); t.Statics(typeof(Gen<int>)); t.Statics(typeof(Gen<string>)); t.Statics(typeof(Gen<Pt>)); t.Statics(typeof(Gen<Person>));
        t.Statics(typeof(Gen<int>.Nested<string>)); t.Statics(typeof(Gen<string>.Nested<int>)); t.Statics(typeof(Gen<List<int>>));
        t.Statics(typeof(Gen<Dictionary<string, int[]>>)); t.Static("Kinds.Program.Root", Root);
        int main = ThreadId(); t.Static("Kinds.PerThread.Number", 10, main); t.Static("Kinds.PerThread.Word", "word10", main);
        t.Static("Kinds.PerThread.Spot", PerThread.Spot, main); t.Static("Kinds.PerThread.List", PerThread.List, main);
        t.Static("Kinds.GenThread<string>.Mine", "main", main); t.Static("Kinds.GenThread<int>.Mine", 1, main);
        using var ready = new ManualResetEventSlim();
        int other = 0;
        var th = new Thread(() => { PerThread.Set(20); GenThread<string>.Mine = "other"; other = ThreadId(); ready.Set(); Thread.Sleep(-1); }) { IsBackground = true };
        th.Start(); ready.Wait();
        t.Static("Kinds.PerThread.Number", 20, other); t.Static("Kinds.PerThread.Word", "word20", other);
        t.Static("Kinds.PerThread.Spot", new Pt { X = 20, Y = 40 }, other); t.Static("Kinds.GenThread<string>.Mine", "other", other);
        t.Command("p sizeof(Kinds::Pt)", "8");
        t.Command("p sizeof(Kinds::Packed)", "15");
        t.Command("p Kinds.Unseen.Spot.Y", "4");
        t.Command("p Kinds.Unseen.Ticks", "1099511627776");
        t.Command("p Kinds::Marks::Sale", "Sale");
        t.Command("p ints.Length", "3");
        t.Command("p ints.Items[2]", "3");
        t.Command("p boxi.Next->Item", "2");
        t.Command("p boxi.Next.Item", "2");
        t.Command("p local + 1", "32");
        t.Command("p *ptr", "31");
        t.Command("p ptv.X + ptv.Y", "17");
        t.Command("p deeper.Count", "9");
        t.Command("p node.Left.Name", "\"left\"");
        t.Command("p bools.Items[0]", "true");
        t.Command("p inner.First", "1");
        t.Refuse("ints[3]", "grid[3][0]", "jag[0][1]", "mem[2]", "span[2]", "boxi.Nothing", "t16.Q", "tuple.Item3");
        t.Write(file);
        Console.WriteLine("READY " + Environment.ProcessId);
        Thread.Sleep(Timeout.Infinite);
        Keep(ints, bytes, sbytes, chars, bools, doubles, floats, strings, objects, pts, marks, decs, dates, nulls, guids, nints, grid, sgrid, pgrid, cube, jag,
            jagrect, rectjag, lists, dicts, nameds, entities, covariant, lower, lower2, zero, tups, tagged, tasks, actions, many, segs, types, mem, memd, rom, romc,
            memc, aseg, asegd);
        Keep(span.Length, roschar.Length, rosempty.Length, spanp.Length, utf8.Length, rosstr.Length, stack.Length, spanchar.Length, (nint)ptr, (nint)pptr,
            (nint)vptr, (nint)pp, (nint)fptr, refi, refp, refs, (nint)cptr, local, ptv, four, fix.After, cursor.At, cursor.Rest.Length);
        Keep(sbuild, sbe, uri, rel, ver, ver4, tok, tokc, cts, ctsc, tokl, tdone, tcomp, tcan, tfault, tpend, tlist, vti, vt0, lazy, lazyd, weak, weakp, tup3, ex,
            exi, agg, type, gtd, kvp, rune, thread, eq, rnd, np, boxi, boxs, boxp, boxl, inner, inner2, pairing, node, props, primary, anon, anons, fn, act, closure,
            cmp, tuple, tuplen, t16, one, zeroTuple, deeper, group, iter, where);
    }
}

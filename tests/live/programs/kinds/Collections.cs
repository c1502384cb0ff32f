// Collections of the framework, of collections, of tuples and of everything else.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Frozen;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Collections.ObjectModel;
using System.Collections.Specialized;
using System.Linq;
using System.Numerics;
using System.Runtime.CompilerServices;
using Told;

namespace Kinds;

public static unsafe partial class Program
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Second(string file, ref int count, out int result, in Size size, Box<Pt> boxed, long number, INamed named)
    {
        t.Frame = "Kinds.Program.Second";
        result = 77;
        t.Tell(file); t.Tell(boxed); t.Tell(number); t.Tell(named); 
        // --- collections
        List<int> li = new() { 1, 2, 3 }; List<string> ls = new() { "a", null, "c" }; List<Pt> lp = new() { new() { X = 1 }, new() { Y = 2 } };
        List<List<int>> ll = new() { new() { 1, 2 }, new(), null }; List<Dictionary<string, int>> ld = new() { new() { ["a"] = 1 }, new() };
        Dictionary<string, List<Person>> dl = new() { ["all"] = new() { Root, null }, ["none"] = new() };
        Dictionary<int, Dictionary<string, bool>> dd = new() { [5] = new() { ["t"] = true, ["f"] = false } };
        Dictionary<(int, string), Size> dtup = new() { [(1, "k")] = new(1, 2) }; Dictionary<Marks, int[]> dm = new() { [Marks.Fresh] = new[] { 1, 2 } };
        Dictionary<Guid, TimeSpan> dg = new() { [Guid.Empty] = TimeSpan.FromSeconds(1) };
        Dictionary<string, object> dobj = new() { ["i"] = 1, ["s"] = "s", ["n"] = null, ["p"] = new Pt { X = 4 }, ["l"] = li };
        List<object> lo = new() { 1, "s", null, 2.5, Root, new[] { 1 }, new Pt { X = 4 } }; List<INamed> ln = new() { Root, new Deeper() };
        List<(int Id, string Name)> lt = new() { (1, "one"), (2, "two") }; (int A, (string B, List<int> C) D) nest = (1, ("b", new() { 4 }));
        List<KeyValuePair<string, int>> lkv = new() { new("k", 1) }; List<int?> lnu = new() { 1, null, 3 }; List<bool> lb = new() { true, false };
        List<char> lc = new() { 'a', '\'' }; List<double> lds = new() { 1.5, double.NaN, -0.0, 1e21 };
        List<Marks> lm = new() { Marks.Both, Marks.Fresh | Marks.Sale | Marks.Organic }; List<DateTime> ldt = new() { new(2020, 1, 1) };
        List<Guid> lg = new() { Guid.Empty }; List<decimal> lde = new() { 1.0m, 2.50m }; List<Tagged<int>> ltag = new() { new(1, "t") };
        List<int[]> lia = new() { new[] { 1, 2 }, new int[0] }; List<Half> lh = new() { (Half)1.5 }; List<BigInteger> lbig = new() { 5, BigInteger.Pow(2, 70) };
        List<Type> lty = new() { typeof(int), typeof(List<>), typeof(Dictionary<string, Person>) };
        List<long> lll = Enumerable.Range(0, 20).Select(x => (long)x).ToList();
        t.Tell(li); t.Tell(ls); t.Tell(lp); t.Tell(ll); t.Tell(ld); t.Tell(dl); t.Tell(dd); t.Tell(dtup); t.Tell(dm); t.Tell(dg); t.Tell(dobj); t.Tell(lo);
        t.Tell(ln); t.Tell(lkv); t.Tell(lnu); t.Tell(lb); t.Tell(lc); t.Tell(lds); t.Tell(lm); t.Tell(ldt); t.Tell(lg); t.Tell(lde); t.Tell(ltag); t.Tell(lia);
        t.Tell(lh); t.Tell(lbig); t.Tell(lll);
        t.Say("lt", "Count = 2 {(1, \"one\"), (2, \"two\")}"); t.Say("lt[0].Id", "1", "named"); t.Say("lt[1].Name", "\"two\"", "named");
        t.Fields("lt[0]", "Id", "Name"); t.Fields("nest", "A", "D"); t.Say("nest.D.B", "\"b\"", "named"); t.Say("nest.D.C[0]", "4", "named");
        HashSet<string> hs = new() { "x", "y" }; Queue<Pt> q = new(new[] { new Pt { X = 1 }, new Pt { X = 2 } }); Stack<string> st = new(new[] { "bottom", "top" });
        LinkedList<int> lk = new(new[] { 1, 2 }); SortedSet<string> ss = new() { "b", "a" }; SortedDictionary<int, Person> sd = new() { [2] = Root, [1] = null };
        SortedList<string, int> sl = new() { ["z"] = 26, ["a"] = 1 }; PriorityQueue<string, int> pq = new(); pq.Enqueue("low", 9); pq.Enqueue("urgent", 1);
        ConcurrentDictionary<string, Pt> cd = new() { ["one"] = new() { X = 1 } }; ConcurrentQueue<string> cq = new(new[] { "q1", "q2" });
        ConcurrentStack<int> cs = new(new[] { 1, 2 }); ConcurrentBag<int> cb = new() { 5 }; BlockingCollection<int> bc = new() { 1, 2 };
        ImmutableArray<int> ia = ImmutableArray.Create(1, 2); ImmutableArray<string> idef = default; ImmutableArray<Pt> iempty = ImmutableArray<Pt>.Empty;
        ImmutableList<string> il = ImmutableList.Create("i1", "i2"); ImmutableDictionary<string, int> id = ImmutableDictionary<string, int>.Empty.Add("k", 1);
        ImmutableHashSet<int> ih = ImmutableHashSet.Create(1); ImmutableSortedSet<int> iss = ImmutableSortedSet.Create(3, 1, 2);
        ImmutableSortedDictionary<string, int> isd = ImmutableSortedDictionary<string, int>.Empty.Add("b", 2).Add("a", 1);
        ImmutableQueue<int> iq = ImmutableQueue.Create(1, 2); ImmutableStack<int> ist = ImmutableStack.Create(1, 2);
        ReadOnlyCollection<string> roc = new(new List<string> { "r1" }); ReadOnlyDictionary<string, int> rodict = new(new Dictionary<string, int> { ["k"] = 3 });
        ObservableCollection<int> obs = new() { 1, 2 }; Collection<string> col = new() { "c1" }; Bag bag = new() { "in", "bag" }; Keyed keyed = new() { Root };
        FrozenDictionary<string, int> fd = new Dictionary<string, int> { ["f"] = 1, ["g"] = 2 }.ToFrozenDictionary();
        FrozenSet<int> fs = new HashSet<int> { 1, 2, 300000 }.ToFrozenSet(); OrderedDictionary<string, int> od = new() { ["o2"] = 2, ["o1"] = 1 };
        t.Tell(hs); t.Tell(q); t.Tell(st); t.Tell(lk); t.Tell(ss); t.Tell(sd); t.Tell(sl); t.Tell(cd); t.Tell(cq); t.Tell(cs); t.Tell(ia); t.Tell(iempty);
        t.Tell(il); t.Tell(id); t.Tell(ih); t.Tell(iss); t.Tell(isd); t.Tell(roc); t.Tell(rodict); t.Tell(obs); t.Tell(col); t.Tell(bag); t.Tell(keyed); t.Tell(od);
        t.Tell(iq); t.Tell(ist); t.Tell(fd); t.Tell(fs); t.Tell(cb); t.Tell(bc);
        ArrayList al = new() { 1, "two", null }; Hashtable ht = new() { ["k"] = 5 }; Queue oq = new(new[] { 1, 2 }); Stack os = new(new[] { 1, 2 });
        SortedList osl = new() { ["b"] = 2, ["a"] = 1 }; BitArray ba = new(new[] { true, false, true }); StringCollection sc = new() { "sc" };
        NameValueCollection nvc = new() { ["n"] = "v" };
        t.Tell(al); t.Tell(ht); t.Tell(oq); t.Tell(os); t.Tell(osl); t.Tell(sc);
        List<int> le = new(); Dictionary<string, int> de = new(), removed = new() { ["a"] = 1, ["b"] = 2, ["c"] = 3 }; removed.Remove("b"); HashSet<int> he = new();
        Queue<int> wrapped = new(4); for (int x = 0; x < 4; x++) wrapped.Enqueue(x); wrapped.Dequeue(); wrapped.Dequeue(); wrapped.Enqueue(4); wrapped.Enqueue(5);
        int[] ae = { }; string[] ae2 = new string[0]; Dictionary<int, int> nulldict = null; List<string> nulllist = null;
        t.Tell(le); t.Tell(de); t.Tell(removed); t.Tell(he); t.Tell(wrapped); t.Tell(ae); t.Tell(ae2); t.Tell(nulldict); t.Tell(nulllist);
        Third(file);
        Keep(li, ls, lp, ll, ld, dl, dd, dtup, dm, dg, dobj, lo, ln, lt, nest, lkv, lnu, lb, lc, lds, lm, ldt, lg, lde, ltag, lia, lh, lbig, lty, lll, file, count,
            size, boxed, number, named);
        Keep(hs, q, st, lk, ss, sd, sl, pq, cd, cq, cs, cb, bc, ia, idef, iempty, il, id, ih, iss, isd, iq, ist, roc, rodict, obs, col, bag, keyed, fd, fs, od, al,
            ht, oq, os, osl, ba, sc, nvc, le, de, removed, he, wrapped, ae, ae2, nulldict, nulllist);
    }
}

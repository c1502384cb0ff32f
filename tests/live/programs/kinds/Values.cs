// Numbers, texts, times, enumerations, nullables, structures, and objects behind other types.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Collections.ObjectModel;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;
using Told;

namespace Kinds;

public static unsafe partial class Program
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void First(string file, int count)
    {
        t.Frame = "Kinds.Program.First";
        // --- numbers and values
        byte b = 255; sbyte sb = -128; short s = -32768; ushort us = 65535; int i = int.MinValue; uint ui = uint.MaxValue; long l = long.MinValue;
        ulong ul = ulong.MaxValue;
        nint ni = -5; nuint nu = 7; char c = 'é', quote = '\'', nul = '\0', newline = '\n', euro = '€'; bool yes = true, no = false;
        float f = 0.1f, fmax = float.MaxValue, fnan = float.NaN, fneg = -0f; double d = Math.PI, dinf = double.PositiveInfinity, deps = double.Epsilon, dbig = 1e300;
        decimal m = -79228162514264337593543950335m, mz = 0.000m, ms = 1.10m; Half h = (Half)0.1, hnan = Half.NaN, hinf = Half.NegativeInfinity;
        Int128 i128 = -1; UInt128 u128 = UInt128.One << 100;
        BigInteger big = BigInteger.Parse("-123456789012345678901234567890"), bigzero = 0, bigsmall = int.MinValue, bigone = 1;
        Complex complex = new(1.5, -2); Vector3 v3 = new(1, 2, 3); Rune rune = new('x'); Index idx = 3, idxe = ^0; Range range = .., rng = 2..^1;
        t.Tell(b); t.Tell(sb); t.Tell(s); t.Tell(us); t.Tell(i); t.Tell(ui); t.Tell(l); t.Tell(ul); t.Tell(ni); t.Tell(nu); t.Tell(c); t.Tell(quote); t.Tell(nul);
        t.Tell(newline); t.Tell(euro); t.Tell(yes); t.Tell(no);
        t.Tell(f); t.Tell(fmax); t.Tell(fnan); t.Tell(fneg); t.Tell(d); t.Tell(dinf); t.Tell(deps); t.Tell(dbig); t.Tell(m); t.Tell(mz); t.Tell(ms); t.Tell(h);
        t.Tell(hnan); t.Tell(hinf); t.Tell(i128); t.Tell(u128); t.Tell(big); t.Tell(bigzero); t.Tell(bigsmall); t.Tell(bigone);
        t.Tell(idx); t.Tell(idxe); t.Tell(range); t.Tell(rng);
        DateTime dt = new(2024, 12, 31, 23, 59, 59, 999), dtutc = new(1, 1, 1, 0, 0, 0, DateTimeKind.Utc), dtmax = DateTime.MaxValue, dtlocal = new(2020, 2, 2, 2, 2,
            2, DateTimeKind.Local);
        DateTimeOffset dto = new(2020, 1, 1, 0, 0, 0, TimeSpan.FromHours(-12)), dtomin = DateTimeOffset.MinValue;
        TimeSpan ts = new(1, 2, 3, 4, 5), tsneg = TimeSpan.FromTicks(-1), tsmin = TimeSpan.MinValue; DateOnly don = new(1999, 12, 31), domax = DateOnly.MaxValue;
        TimeOnly ton = new(23, 59, 59, 999), tomin = TimeOnly.MinValue, tomax = TimeOnly.MaxValue;
        Guid guid = new("fedcba98-7654-3210-0123-456789abcdef"), empty = Guid.Empty;
        t.Tell(dt); t.Tell(dtutc); t.Tell(dtmax); t.Tell(dtlocal); t.Tell(dto); t.Tell(dtomin); t.Tell(ts); t.Tell(tsneg); t.Tell(tsmin); t.Tell(don); t.Tell(domax);
        t.Tell(ton); t.Tell(tomin); t.Tell(tomax); t.Tell(guid); t.Tell(empty);
        Marks marks = Marks.Fresh | Marks.Sale, both = Marks.Both, none = Marks.None, odd = (Marks)0x48, bigmark = Marks.Big | Marks.Both;
        Sign minus = Sign.Minus, plus = Sign.Plus; Wide low = Wide.Low, high = Wide.High; Unnamed un = (Unnamed)3, un9 = (Unnamed)99;
        Bits bits = Bits.Top | Bits.Low; DayOfWeek day = DayOfWeek.Friday; ConsoleColor color = (ConsoleColor)200;
        t.Tell(marks); t.Tell(both); t.Tell(none); t.Tell(odd); t.Tell(bigmark); t.Tell(minus); t.Tell(plus); t.Tell(low); t.Tell(high); t.Tell(un); t.Tell(un9);
        t.Tell(bits); t.Tell(day); t.Tell(color);
        int? some = 5, nothing = null; DateTime? when = dt; Pt? spot = new Pt { X = 1, Y = 2 }; Marks? mm = Marks.Sale; Guid? ng = guid; bool? nb = false;
        decimal? nm = 2.50m; (int, string)? nt = (1, "x"); char? nc = 'c'; double? nd = 2.5; Size? noSize = null; TimeSpan? nts = ts;
        t.Tell(some); t.Tell(nothing); t.Tell(when); t.Say("spot", "{X = 1, Y = 2}"); t.Tell(mm); t.Tell(ng); t.Tell(nb); t.Tell(nm); t.Tell(nt); t.Tell(nc);
        t.Tell(nd); t.Tell(noSize); t.Tell(nts);
        Pt pt = new() { X = -3, Y = 4 }; Segment seg = new() { From = pt, To = new() { X = 9 }, Name = "seg", More = new Segment[2] }; Size size = new(1.25, 2.5);
        Tagged<int> tagi = new(5, "five"); Tagged<string> tags = new("v", null); Tagged<Pt> tagp = new(pt, "p"); Tagged<List<int>> tagl = new(new() { 1 }, "l");
        Packed packed = new() { A = 1, B = 2, C = 3, D = 4 };
        t.Tell(pt); t.Tell(seg); t.Tell(size); t.Tell(tagi); t.Tell(tags); t.Tell(tagp); t.Tell(tagl); t.Tell(packed);
        Overlap over = new() { Whole = 0x00020001, Text = "over" }; t.Say("over.Whole", "131073", "number"); t.Say("over.Text", "\"over\"");
        string str = "hello", estr = "", uni = "äöü € 😀 \t\"q\" \\ \u0001", nstr = null, lstr = new('x', 300); t.Tell(str); t.Tell(estr); t.Tell(nstr); t.Tell(lstr);
        t.Say("uni", "\"äöü € 😀 \\t\\\"q\\\" \\\\ \\u0001\"");
        // --- objects behind other types
        Entity entity = new Employee(2, "Eve", new(1980, 2, 3), 99.9m, Marks.Sale) { Boss = Root }; INamed named = entity as INamed; object obj = entity;
        Person person = (Person)entity; IComparable comparable = 42; IFormattable formattable = 2.5m; IEquatable<Person> equatable = person;
        object boxi = 7, boxs = size, boxe = Sign.Plus, boxd = dt, boxt = (1, "two"), boxn = some, boxc = 'z', boxb = true, boxg = guid, boxm = ms, boxbig = big,
            boxpt = pt, boxh = h, boxul = ul, boxf = f;
        ValueType vt = pt; Enum en = Marks.Both; dynamic dyn = "dynamic"; Base1 base1 = new Deeper(); Derived1 derived = new(); Array array = new[] { 1, 2 };
        IList ilist = new List<int> { 1, 2 }; IEnumerable<string> seq = new[] { "s1", "s2" };
        IReadOnlyDictionary<string, int> rod = new Dictionary<string, int> { ["k"] = 1 }; IEnumerable nongeneric = new Queue<int>(new[] { 4, 5 });
        object nullobj = null; object objarr = new object[] { 1, "two", null, 3.5, pt };
        t.Tell(entity); t.Tell(named); t.Tell(obj); t.Tell(person); t.Tell(comparable); t.Tell(formattable); t.Tell(equatable); t.Tell(boxi); t.Tell(boxs);
        t.Tell(boxe); t.Tell(boxd); t.Tell(boxt); t.Tell(boxn); t.Tell(boxc); t.Tell(boxb); t.Tell(boxg); t.Tell(boxm); t.Tell(boxbig); t.Tell(boxpt); t.Tell(boxh);
        t.Tell(boxul); t.Tell(boxf); t.Tell(vt); t.Tell(en); t.TellNamed("dyn", (object)dyn, typeof(object)); t.Tell(base1); t.Tell(derived); t.Tell(array);
        t.Tell(ilist); t.Tell(seq); t.Tell(rod); t.Tell(nongeneric); t.Tell(nullobj); t.Tell(objarr);
        Second(file, ref count, out int result, in size, new Box<Pt>(pt), 5, named);
        Keep(b, sb, s, us, i, ui, l, ul, ni, nu, c, quote, nul, newline, euro, yes, no, f, fmax, fnan, fneg, d, dinf, deps, dbig, m, mz, ms, h, hnan, hinf, i128,
            u128, big, bigzero, bigsmall, bigone, complex, v3, rune, idx, idxe, range, rng);
        Keep(dt, dtutc, dtmax, dtlocal, dto, dtomin, ts, tsneg, tsmin, don, domax, ton, tomin, tomax, guid, empty, marks, both, none, odd, bigmark, minus, plus, low,
            high, un, un9, bits, day, color, some, nothing, when, spot, mm, ng, nb, nm, nt, nc, nd, noSize, nts, pt, seg, size, tagi, tags, tagp, tagl, packed, over,
            str, estr, uni, nstr, lstr);
        Keep(entity, named, obj, person, comparable, formattable, equatable, boxi, boxs, boxe, boxd, boxt, boxn, boxc, boxb, boxg, boxm, boxbig, boxpt, boxh, boxul,
            boxf, vt, en, dyn, base1, derived, array, ilist, seq, rod, nongeneric, nullobj, objarr, result);
    }
}

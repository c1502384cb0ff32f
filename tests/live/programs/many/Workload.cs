// Real use of the framework: the code shapes that a program brings along.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Linq.Expressions;
using System.Numerics;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using System.Xml.Linq;

namespace Many;

public static class Workload
{
    public static readonly List<Delegate> Kept = new();

    public static void Everything()
    {
        Queries();
        Json();
        Expressions();
        Patterns();
        Xml();
        Generics();
        Dynamic();
        Async().GetAwaiter().GetResult();
        foreach (object _ in Iterate(5)) { }
        Größenprüfung(3);
        Parallel.For(0, 16, i => Math.Sqrt(i));
    }

    // The runtime's perf map writes this name damaged and loses the next line.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Größenprüfung(int größe) => größe + 1;

    private static void Queries()
    {
        var people = Enumerable.Range(0, 200).Select(i => new Person("n" + i % 17, i, new Point(i, -i))).ToList();
        _ = people.GroupBy(p => p.Name).OrderByDescending(g => g.Sum(p => p.Age)).ThenBy(g => g.Key)
            .SelectMany(g => g.Select(p => (g.Key, p.Age))).ToDictionary(t => t.Age, t => t.Key);
        _ = people.Join(people, p => p.Age, p => p.Age / 2, (a, b) => a.Name + b.Name).Distinct().Count();
        _ = people.Select(p => p.At).Aggregate(new Point(0, 0), (a, b) => a + b);
        _ = people.AsParallel().Where(p => p.Age % 2 == 0).Select(p => p.Age * 2L).ToArray();
        _ = people.Chunk(7).Zip(people.Skip(3), (a, b) => a.Length + b.Age).Max();
    }

    private static void Json()
    {
        var data = new Dictionary<string, object> { ["a"] = 1, ["b"] = new[] { 1.5, 2.5 }, ["c"] = new Person("x", 3, new Point(1, 2)) };
        string text = JsonSerializer.Serialize(data, new JsonSerializerOptions { WriteIndented = true });
        using JsonDocument d = JsonDocument.Parse(text);
        _ = d.RootElement.GetProperty("c").Deserialize<Person>();
        _ = JsonSerializer.Deserialize<Dictionary<string, JsonElement>>(text);
        _ = JsonSerializer.Serialize(new { When = DateTimeOffset.UnixEpoch, Big = BigInteger.Pow(3, 200).ToString(CultureInfo.InvariantCulture), G = Guid.Empty });
    }

    private static void Expressions()
    {
        ParameterExpression p = Expression.Parameter(typeof(int), "p");
        for (int i = 0; i < 40; i++)
        {
            Expression body = Expression.Add(Expression.Multiply(p, Expression.Constant(i)), Expression.Constant(1));
            var f = Expression.Lambda<Func<int, int>>(Expression.Condition(Expression.GreaterThan(p, Expression.Constant(5)), body, p), "compiled_" + i, new[] { p }).Compile();
            f(i);
            Kept.Add(f);
        }
        Expression<Func<Person, bool>> e = x => x.Name.StartsWith("n") && x.Age > 3;
        Kept.Add(e.Compile());
    }

    private static void Patterns()
    {
        string text = string.Join(' ', Enumerable.Range(0, 200).Select(i => $"k{i}=v{i * 7};"));
        foreach (string pattern in new[] { @"(?<k>\w+)=(?<v>\w+);", @"(a|b|k)\d{1,3}", @"^(?:k\d+=v\d+;\s?)+$", @"(?i)V(\d)\1" })
        {
            _ = Regex.Matches(text, pattern, RegexOptions.Compiled).Count;
            _ = Regex.Replace(text, pattern, m => m.Value.ToUpperInvariant());
        }
    }

    private static void Xml()
    {
        var root = new XElement("root", Enumerable.Range(0, 50).Select(i => new XElement("item", new XAttribute("id", i), "text" + i)));
        XDocument d = XDocument.Parse(root.ToString());
        _ = d.Descendants("item").Where(x => (int)x.Attribute("id") % 3 == 0).Select(x => x.Value).ToList();
        var s = new System.Xml.Serialization.XmlSerializer(typeof(Simple));
        using var w = new StringWriter();
        s.Serialize(w, new Simple { A = 3, B = "b" });
        _ = s.Deserialize(new StringReader(w.ToString()));
    }

    public class Simple { public int A; public string B; public List<int> C = new() { 1, 2 }; }

    private static void Generics()
    {
        Type[] arguments = { typeof(int), typeof(long), typeof(byte), typeof(double), typeof(Guid), typeof(Point), typeof(DateTime), typeof(string), typeof(object),
                             typeof(Person), typeof(decimal), typeof(char), typeof(KeyValuePair<int, string>), typeof((int, long)), typeof(float), typeof(short), typeof(DayOfWeek), typeof(int?) };
        MethodInfo fill = typeof(Workload).GetMethod(nameof(Fill), BindingFlags.NonPublic | BindingFlags.Static);
        foreach (Type a in arguments)
        {
            foreach (Type b in arguments) fill.MakeGenericMethod(a, b).Invoke(null, null);
            var box = (IBox)Activator.CreateInstance(typeof(Box<>).MakeGenericType(a));
            box.Touch();
        }
        _ = new Box<string>.Inner<int>().Pair<Point>("s", 4, default);
        _ = new Matrix<double>(3)[1, 1];
    }

    private static void Fill<K, V>()
    {
        var d = new Dictionary<int, V>(); var l = new List<(K, V)>(); var h = new HashSet<K>(); var c = new ConcurrentDictionary<int, K>(); var q = new Queue<V>();
        for (int i = 0; i < 5; i++) { d[i] = default; l.Add(default); c[i] = default; q.Enqueue(default); }
        if (default(K) is not null) h.Add(default);
        l.Reverse(); _ = d.Values.ToArray(); _ = l.Select(t => t.Item1).ToList(); _ = c.Count; q.TryDequeue(out _);
        _ = new Pair<K, V>().Equals(new Pair<K, V>());
    }

    private record struct Pair<A, B>(A First, B Second);
    private interface IBox { void Touch(); }

    private class Box<T> : IBox
    {
        private readonly T[] items = new T[4];
        private static readonly List<T> all = new();
        public void Touch() { all.Add(items[0]); _ = all.Count; _ = items.AsSpan().ToArray(); Array.Resize(ref Local(), 2); ref T[] Local() => ref copy; }
        private T[] copy = new T[1];
        public class Inner<U> { public string Pair<V>(T t, U u, V v) => $"{t}{u}{v}"; }
    }

    private sealed class Matrix<T> where T : INumber<T>
    {
        private readonly T[,] cells;
        public Matrix(int n) { cells = new T[n, n]; for (int i = 0; i < n; i++) cells[i, i] = T.One; }
        public T this[int i, int j] => cells[i, j];
    }

    private static void Dynamic()
    {
        for (int i = 0; i < 60; i++) Kept.Add(MakeDynamic("kept_" + i, i));
        foreach (Delegate d in Kept) if (d is Func<int, int> f) f(3);
    }

    public static Func<int, int> MakeDynamic(string name, int constant)
    {
        var m = new DynamicMethod(name, typeof(int), new[] { typeof(int) }, typeof(Workload).Module);
        ILGenerator il = m.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0); il.Emit(OpCodes.Ldc_I4, constant); il.Emit(OpCodes.Add);
        for (int i = 0; i < constant % 9; i++) { il.Emit(OpCodes.Ldc_I4, i); il.Emit(OpCodes.Xor); }
        il.Emit(OpCodes.Ret);
        var f = m.CreateDelegate<Func<int, int>>();
        f(1);
        return f;
    }

    private static async Task<int> Async()
    {
        int sum = 0;
        for (int i = 0; i < 5; i++) sum += await Level(i);
        await foreach (int x in Stream(4)) sum += x;
        var t = Task.WhenAll(Enumerable.Range(0, 8).Select(i => Task.Run(async () => { await Task.Yield(); return i; })));
        return sum + (await t).Sum() + await new ValueTask<int>(3);
        static async Task<int> Level(int n) { await Task.Yield(); return n == 0 ? 1 : await Level(n - 1) + 1; }
    }

    private static async IAsyncEnumerable<int> Stream(int n) { for (int i = 0; i < n; i++) { await Task.Delay(1); yield return i; } }
    private static IEnumerable<object> Iterate(int n) { for (int i = 0; i < n; i++) { yield return i; yield return "s" + i; } }

    public record Person(string Name, int Age, Point At);
    public readonly record struct Point(int X, int Y) { public static Point operator +(Point a, Point b) => new(a.X + b.X, a.Y + b.Y); }
}

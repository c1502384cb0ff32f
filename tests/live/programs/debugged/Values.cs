// Variables of every kind. Each method writes what its variables hold, as JSON, and comes to a line that ends in `at: NAME`.
// A value is {"k": KIND, ...}; see Describe.
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.Json.Nodes;
using System.Threading;
using System.Threading.Tasks;

namespace Debugged;

public enum Color : byte { Red, Green, Blue }
[Flags] public enum Access { None, Read = 1, Write = 2, Execute = 4 }
public enum Wide : long { Small = -1, Large = 0x1_0000_0000 }

public struct Point
{
    public int X, Y;
}

public struct Line
{
    public Point From, To;
    public string Label;
    public Color Color;
}

public class Animal
{
    public string Name;
    protected int legs;
    public static int Made = 3;
    public static string Kingdom = "animals";
    public Animal(string name, int legs) { Name = name; this.legs = legs; }
}

public sealed class Dog : Animal
{
    public Animal Friend;
    public double Weight;
    public int? Age;
    public bool Tame { get; set; }
    public Dog(string name) : base(name, 4) { Weight = 12.5; Tame = true; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Bark(int times)
    {
        int doubled = times * 2;
        Values.Report("this", ("this", this), ("times", times), ("doubled", doubled));
        Values.Here(); GC.KeepAlive(doubled);   // at: this
        GC.KeepAlive(this);
        return doubled + times;
    }
}

public struct Counter
{
    public int Value;
    public string Unit;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Add(int n)
    {
        Value += n;
        Values.Report("this-of-struct", ("this", this), ("n", n));
        Values.Here(); GC.KeepAlive(n);   // at: this-of-struct
        return Value + n;
    }
}

public static class Values
{
    private static string path;

    // A call is code in every build; what keeps a value of a value type alive is none in optimised code, and has no line there.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Here() { }

    public static void Begin(string file)
    {
        path = file;
        Program.Ready();
        for (int round = 0; ; round++)
        {
            All();
            Thread.Sleep(20);
        }
    }

    private static void All()
    {
        Primitives(-5, 200, 'x');
        Strings("argument");
        Structures(new Point { X = 1, Y = -2 });
        Arrays(new[] { 1, 2, 3 });
        Framework(DateTime.UnixEpoch);
        Collections(4);
        References(null);
        Boxed(7);
        var dog = new Dog("Rex") { Age = 5, Friend = new Animal("Tom", 4) };
        GC.KeepAlive(dog.Bark(3));
        var counter = new Counter { Value = 3, Unit = "km" };
        GC.KeepAlive(counter.Add(4));
        Captures(11, "captured");
        Waits(3, "before").Wait();
        foreach (string s in Yields(2)) GC.KeepAlive(s);
        Generic("text", 5);
        Generic(new Point { X = 8, Y = 9 }, 'c');
        ByReference(out _);
        Scopes(6);
    }

    private static void Primitives(sbyte small, byte unsigned, char letter)
    {
        bool yes = true, no = false;
        short s = -32000; ushort us = 65000; int i = int.MinValue; uint ui = uint.MaxValue; long l = long.MinValue; ulong ul = ulong.MaxValue;
        float f = 1.5f; double d = -0.1; double nan = double.NaN; double infinite = double.PositiveInfinity;
        nint n = -7; nuint un = 7; char wide = '\u20ac'; char zero = '\0'; char quote = '\'';
        Report("primitives", ("small", small), ("unsigned", unsigned), ("letter", letter), ("yes", yes), ("no", no), ("s", s), ("us", us), ("i", i), ("ui", ui), ("l", l), ("ul", ul),
               ("f", f), ("d", d), ("nan", nan), ("infinite", infinite), ("n", n), ("un", un), ("wide", wide), ("zero", zero), ("quote", quote));
        Values.Here(); GC.KeepAlive(small + unsigned + letter + s + us + i);   // at: primitives
        GC.KeepAlive((yes, no, ui, l, ul, f, d, nan, infinite, n, un, wide, zero, quote));
    }

    private static readonly string Megabyte = new string('m', 1 << 20);

    private static void Strings(string argument)
    {
        string empty = "", none = null, plain = "plain", german = "äöü ß", quoted = "a \"b\" \\ c", lines = "one\ntwo\tthree", emoji = "\U0001F600 face", large = Megabyte, nul = "a\0b";
        Report("strings", ("argument", argument), ("empty", empty), ("none", none), ("plain", plain), ("german", german), ("quoted", quoted), ("lines", lines), ("emoji", emoji),
               ("large", large), ("nul", nul));
        Values.Here(); GC.KeepAlive(argument);   // at: strings
        GC.KeepAlive((empty, none, plain, german, quoted, lines, emoji, large, nul));
    }

    private static void Structures(Point argument)
    {
        var point = new Point { X = 10, Y = -20 };
        var line = new Line { From = point, To = argument, Label = "edge", Color = Color.Blue };
        Color color = Color.Green; Color strange = (Color)77; Access access = Access.Read | Access.Execute; Wide wide = Wide.Large;
        int? some = 42; int? nothing = null; Point? maybe = point;
        (int, string) pair = (3, "three");
        Report("structures", ("argument", argument), ("point", point), ("line", line), ("color", color), ("strange", strange), ("access", access), ("wide", wide),
               ("some", new Optional(some)), ("nothing", new Optional(null)), ("maybe", new Optional(maybe)), ("pair", pair));
        Values.Here(); GC.KeepAlive(argument);   // at: structures
        GC.KeepAlive((point, line, color, strange, access, wide, some, nothing, maybe, pair));
    }

    private static void Arrays(int[] argument)
    {
        var bytes = new byte[] { 0, 127, 255 }; string[] words = { "one", null, "three" }; Point[] points = { new() { X = 1 }, new() { Y = 2 } };
        var grid = new int[2, 3] { { 1, 2, 3 }, { 4, 5, 6 } }; int[][] jagged = { new[] { 1 }, null, new[] { 2, 3 } }; int[] empty = { }, none = null; var many = new int[1000];
        for (int i = 0; i < many.Length; i++) many[i] = i * i;
        object[] mixed = { 1, "two", null };
        Report("arrays", ("argument", argument), ("bytes", bytes), ("words", words), ("points", points), ("jagged", jagged), ("empty", empty), ("none", none), ("many", many), ("mixed", mixed), ("grid", grid));
        Values.Here(); GC.KeepAlive(argument);   // at: arrays
        GC.KeepAlive((bytes, words, points, grid, jagged, empty, none, many, mixed));
    }

    private static void Framework(DateTime argument)
    {
        var when = new DateTime(2026, 11, 21, 19, 30, 15, 250, DateTimeKind.Utc); var min = DateTime.MinValue; var span = new TimeSpan(1, 2, 3, 4, 5);
        var id = new Guid("0f8fad5b-d9cb-469f-a165-70867728950e"); Guid zero = default; decimal money = -12.50m; var version = new Version(1, 2);
        Report("framework", ("argument", argument), ("when", when), ("min", min), ("span", span), ("id", id), ("zero", zero), ("money", money));
        Values.Here(); GC.KeepAlive(argument);   // at: framework
        GC.KeepAlive((when, min, span, id, zero, money, version));
    }

    private static void Collections(int argument)
    {
        var list = new List<int> { 5, 6, 7 }; var words = new List<string> { "a", null }; var empty = new List<long>(); List<int> none = null;
        var map = new Dictionary<string, int> { ["one"] = 1, ["two"] = 2 }; var numbers = new Dictionary<int, string> { [7] = "seven" }; var nothing = new Dictionary<int, int>();
        var removed = new Dictionary<int, int> { [1] = 10, [2] = 20, [3] = 30 };
        removed.Remove(2);
        Report("collections", ("argument", argument), ("list", list), ("words", words), ("empty", empty), ("none", none), ("map", map), ("numbers", numbers), ("nothing", nothing), ("removed", removed));
        Values.Here(); GC.KeepAlive(argument);   // at: collections
        GC.KeepAlive((list, words, empty, none, map, numbers, nothing, removed));
    }

    private static void References(Dog argument)
    {
        var dog = new Dog("Rex") { Friend = new Dog("Ben") { Age = 2 }, Age = null }; Animal animal = dog; var plain = new Animal("Tom", 4); dog.Friend.Name = "Benno";
        Report("references", ("argument", argument), ("dog", dog), ("animal", animal), ("plain", plain));
        Values.Here(); GC.KeepAlive(argument);   // at: references
        GC.KeepAlive((dog, animal, plain));
    }

    private static void Boxed(object argument)
    {
        object number = 42, text = "boxed text", point = new Point { X = 3, Y = 4 }, color = Color.Blue, real = 2.5, nothing = null, dog = new Dog("Boxer"), yes = true, letter = 'q';
        Report("boxed", ("argument", argument), ("number", number), ("text", text), ("point", point), ("color", color), ("real", real), ("nothing", nothing), ("dog", dog), ("yes", yes), ("letter", letter));
        Values.Here(); GC.KeepAlive(argument);   // at: boxed
        GC.KeepAlive((number, text, point, color, real, nothing, dog, yes, letter));
    }

    private static void Captures(int number, string text)
    {
        int counted = number * 2;
        Func<int, int> f = x =>
        {
            int local = x + counted;
            Report("captures", ("x", x), ("local", local), ("counted", counted), ("number", number), ("text", text));
            Values.Here(); GC.KeepAlive(text);   // at: captures
            return local + number + text.Length;
        };
        GC.KeepAlive(f(1));
    }

    private static async Task<int> Waits(int number, string text)
    {
        int before = number + 1;
        await Task.Yield();
        string after = text + "!";
        Report("waits", ("number", number), ("text", text), ("before", before), ("after", after));
        Values.Here(); GC.KeepAlive(after);   // at: waits
        await Task.Yield();
        return before + after.Length + number;
    }

    private static IEnumerable<string> Yields(int number)
    {
        string text = "item " + number;
        yield return text;
        int later = number * 3;
        Report("yields", ("number", number), ("text", text), ("later", later));
        Values.Here(); GC.KeepAlive(later);   // at: yields
        yield return text + later;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Generic<T, U>(T first, U second)
    {
        T copy = first;
        Report(typeof(T).IsValueType ? "generic-values" : "generic", ("first", first), ("second", second), ("copy", copy));
        Values.Here(); GC.KeepAlive(first);   // at: generic generic-values
        GC.KeepAlive(second);
        GC.KeepAlive(copy);
    }

    private static void ByReference(out int result)
    {
        int number = 5; string text = "by ref";
        ref int alias = ref number;
        alias++;
        result = number;
        Report("by-reference", ("number", number), ("text", text));
        Values.Here(); GC.KeepAlive(text);   // at: by-reference
        GC.KeepAlive(alias + result);
    }

    private static void Scopes(int n)
    {
        for (int i = 0; i < 1; i++)
        {
            int inner = n + i;
            GC.KeepAlive(inner);
        }
        {
            string inner = "second";
            Report("scopes", ("n", n), ("inner", inner));
            Values.Here(); GC.KeepAlive(inner);   // at: scopes
        }
    }

    /// A nullable value, which boxes to its value.
    public sealed record Optional(object Value);

    private static readonly HashSet<string> reported = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Report(string where, params (string Name, object Value)[] variables)
    {
        if (!reported.Add(where)) return;
        var all = new JsonObject();
        foreach ((string name, object value) in variables) all[name] = Describe(value, 4);
        File.AppendAllText(path, new JsonObject { ["where"] = where, ["variables"] = all }.ToJsonString() + "\n");
    }

    private const BindingFlags Fields = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

    private static JsonNode Describe(object value, int depth)
    {
        if (value is null) return Node("null");
        if (value is Optional o) return o.Value is null ? Node("nothing") : Node("some", ("value", Describe(o.Value, depth)));
        Type type = value.GetType();
        if (type.IsEnum) return Node("enum", ("text", value.ToString()), ("number", Convert.ToDecimal(Convert.ChangeType(value, Enum.GetUnderlyingType(type))).ToString()));
        switch (value)
        {
            case bool b: return Node("bool", ("value", b));
            case char c: return Node("char", ("number", (int)c));
            case float f: return Node("real", ("text", f.ToString("R")), ("bits", 32));
            case double d: return Node("real", ("text", d.ToString("R")), ("bits", 64));
            case string s: return Node("string", ("text", s.Length > 1000 ? s[..1000] : s), ("length", s.Length));
            case nint or nuint or sbyte or byte or short or ushort or int or uint or long or ulong: return Node("integer", ("text", value.ToString()));
            case DateTime t: return Node("time", ("text", t.ToString("yyyy-MM-dd HH:mm:ss.fffffff")));
            case TimeSpan t: return Node("span", ("text", t.ToString()));
            case Guid g: return Node("guid", ("text", g.ToString()));
            case decimal m: return Node("decimal", ("text", m.ToString()));
            case Array a: return Sequence("array", a, a.Length, depth);
        }
        if (type.IsGenericType && type.GetGenericTypeDefinition() == typeof(List<>)) return Sequence("list", (System.Collections.IEnumerable)value, ((System.Collections.ICollection)value).Count, depth);
        if (value is System.Collections.IDictionary map)
        {
            var pairs = new JsonArray();
            foreach (System.Collections.DictionaryEntry e in map) pairs.Add(new JsonArray(Describe(e.Key, depth - 1), Describe(e.Value, depth - 1)));
            return Node("map", ("length", map.Count), ("pairs", pairs));
        }
        var fields = new JsonObject();
        if (depth > 0)
            for (Type t = type; t != null && t != typeof(object) && t != typeof(ValueType); t = t.BaseType)
                foreach (FieldInfo f in t.GetFields(Fields))
                    fields[f.Name] = Nullable.GetUnderlyingType(f.FieldType) != null ? Describe(new Optional(f.GetValue(value)), depth - 1) : Describe(f.GetValue(value), depth - 1);
        return Node(type.IsValueType ? "struct" : "object", ("type", type.FullName), ("fields", fields));
    }

    private static JsonNode Sequence(string kind, System.Collections.IEnumerable items, int length, int depth)
    {
        var first = new JsonArray();
        foreach (object item in items)
        {
            if (first.Count == 5) break;
            first.Add(Describe(item, depth - 1));
        }
        return Node(kind, ("length", length), ("items", first));
    }

    private static JsonNode Node(string kind, params (string Name, JsonNode Value)[] more)
    {
        var node = new JsonObject { ["k"] = kind };
        foreach ((string name, JsonNode value) in more) node[name] = value;
        return node;
    }
}

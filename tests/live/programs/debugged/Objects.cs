// Objects of every kind behind one static field. The program writes what each holds, in the words of the debugger's texts, as JSON
// lines: {"path": from All, "text"} and {"static": name, "text", "thread"}; then it waits.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Collections.ObjectModel;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace Debugged;

public record struct Point3(int X, int Y, int Z);
public record Invoice(int Id, string Customer, List<string> Lines) { public DateTimeOffset At { get; init; } = new(2026, 1, 2, 3, 4, 5, TimeSpan.FromHours(-3.5)); }
public static class Cache<T> { public static int Hits = 42; public static T Last; public static readonly List<T> All = new(); }

public static class Registry
{
    public static int Count = 17;
    public static string Title = "registry";
    public static readonly Dictionary<string, int> Prices = new() { ["tea"] = 3, ["cake"] = 5 };
    public static Point3 Origin = new(1, 2, 3);
    public static Access Rights { get; set; } = Access.Read | Access.Write;
    public static double Big = 1.5e20;
    public static decimal Rate = 1.25m;
    public static DateTime Started = new(2026, 11, 23);
    public static Animal Best = new Dog("best");
    public const int NotThere = 3;
    [ThreadStatic] public static int PerThread;
    [ThreadStatic] public static string ThreadName;
    [ThreadStatic] public static Point3 ThreadPoint;
}

public sealed class Everything
{
    public Half Half = (Half)1.5, Tenth = (Half)0.1, Most = Half.MaxValue, Least = Half.Epsilon;
    public Int128 Huge = Int128.MinValue;
    public UInt128 Unsigned = UInt128.MaxValue;
    public BigInteger Big = BigInteger.Pow(10, 40), Negative = -BigInteger.Pow(7, 30), Small = -5;
    public double[] Reals = { 1, 0.1, 1e16, 1e17, 123456789012345680, 1e-4, 1e-5, -0.0, 5e-324, 1e300, double.NaN, double.NegativeInfinity };
    public float[] Floats = { 1e8f, 1e9f, 16777216f, 1 / 3f, 1e-5f, float.MaxValue };
    public (int, string) Pair = (1, "one");
    public (int A, int B, int C, int D, int E, int F, string Last) Seven = (1, 2, 3, 4, 5, 6, "seven");
    public KeyValuePair<string, int> Entry = new("k", 5);
    public Memory<int> Memory = new[] { 1, 2, 3, 4 }.AsMemory(1, 2);
    public ReadOnlyMemory<char> Part = "hello world".AsMemory(6);
    public ArraySegment<int> Segment = new(new[] { 1, 2, 3, 4 }, 1, 2);
    public List<string> List = new() { "a", null, "c" };
    public Dictionary<Color, string> ByColor = new() { [Color.Red] = "r", [Color.Blue] = "b" };
    public HashSet<int> Set = new() { 3, 1, 2 };
    public Queue<int> Queue = new();
    public Stack<int> Stack = new();
    public LinkedList<string> Linked = new(new[] { "l1", "l2" });
    public SortedSet<int> Sorted = new() { 5, 1, 3, 4, 2 };
    public SortedDictionary<string, int> SortedByName = new() { ["b"] = 2, ["a"] = 1 };
    public SortedList<int, string> SortedList = new() { [2] = "two", [1] = "one" };
    public ConcurrentDictionary<string, int> Concurrent = new();
    public ConcurrentQueue<int> Waiting = new();
    public ConcurrentStack<int> Piled = new();
    public ImmutableList<int> ImmutableList = System.Collections.Immutable.ImmutableList.Create(1, 2, 3, 4);
    public ImmutableDictionary<string, int> ImmutableDictionary = ImmutableDictionary<string, int>.Empty.Add("x", 1);
    public ImmutableHashSet<int> ImmutableSet = ImmutableHashSet.Create(4, 5);
    public ImmutableSortedDictionary<int, string> ImmutableSorted = ImmutableSortedDictionary<int, string>.Empty.Add(2, "b").Add(1, "a");
    public ImmutableArray<int> ImmutableArray = System.Collections.Immutable.ImmutableArray.Create(7, 8);
    public ObservableCollection<string> Observed = new() { "o1", "o2" };
    public ReadOnlyCollection<int> ReadOnly = new List<int> { 1, 2 }.AsReadOnly();
    public Version Version = new(1, 2, 3);
    public int? Some = 5, Nothing;
    public Guid Guid = Guid.Parse("0f8fad5b-d9cb-469f-a165-70867728950e");
    public DateTimeOffset Offset = new(2026, 1, 2, 3, 4, 5, TimeSpan.FromHours(5.5));
    public TimeSpan Span = TimeSpan.FromMinutes(-90);
    public char Char = 'x';
    public bool Yes = true;
    public Access Access = Access.Read | Access.Execute;
    public Tuple<int, string> Tuple = System.Tuple.Create(1, "t");
    public Dictionary<char, int> ByChar = new() { ['a'] = 1, ['b'] = 2 };
    public Dictionary<bool, string> ByYes = new() { [false] = "no", [true] = "yes" };
    public Dictionary<ulong, int> ByLarge = new() { [1] = 10, [ulong.MaxValue] = 20 };
    // Those that need words of their own are said below.
    public Uri Uri = new("https://example.org/a?b=c");
    public StringBuilder Builder = new("begin ", 16);
    public CancellationToken None, Cancelled = new(true);
    public Task<int> Done = Task.FromResult(5);
    public Task Faulted = Task.FromException(new InvalidOperationException("bad"));
    public Task<string> Pending = new TaskCompletionSource<string>().Task;
    public Type Type = typeof(List<int>);
    public int[,] Grid = { { 1, 2, 3 }, { 4, 5, 6 } };
    public Array From5 = Array.CreateInstance(typeof(int), new[] { 2 }, new[] { 5 });
    public int[][] Jagged = { new[] { 1 }, new[] { 2, 3 } };
    public object Boxed = 3.5f, Order = new Invoice(4711, "Ada", new() { "tea", "cake" });
    public Animal Animal = new Dog("hidden");
    public Index Last = ^1;
}

public static class Objects
{
    public static Everything All = new();

    public static void Begin(string path)
    {
        for (int i = 0; i < 40; i++)
        {
            All.Queue.Enqueue(i);
            All.Waiting.Enqueue(i);
        }
        for (int i = 0; i < 36; i++)
        {
            All.Queue.Dequeue();
            All.Waiting.TryDequeue(out _);
        }
        for (int i = 40; i < 43; i++)
        {
            All.Queue.Enqueue(i);
            All.Waiting.Enqueue(i);
            All.Stack.Push(i);
            All.Piled.Push(i);
            All.Concurrent["k" + i] = i;
        }
        for (int i = 0; i < 10; i++)
            All.Builder.Append("chunk ").Append(i).Append(' ');
        Cache<string>.Last = "cached";
        Cache<int>.Hits = 43;
        Cache<Point3>.All.Add(new Point3(7, 8, 9));
        var said = new List<Dictionary<string, object>>();
        void Say(string path, string text) => said.Add(new() { ["path"] = path, ["text"] = text });
        void SayStatic(string name, object value, int? thread = null) => said.Add(new() { ["static"] = "Debugged." + name, ["text"] = Text(value), ["thread"] = thread });
        foreach (var field in typeof(Everything).GetFields())
            if (field.MetadataToken < typeof(Everything).GetField(nameof(Everything.Uri)).MetadataToken)
                Say("." + field.Name, Text(field.GetValue(All)));
        Say(".ByChar[b]", "2");
        Say(".ByYes[true]", Quoted("yes"));
        Say(".ByLarge[18446744073709551615]", "20");
        Say(".Uri", Quoted(All.Uri.ToString()));
        Say(".Builder", Quoted(All.Builder.ToString()));
        Say(".None", "{cannot be cancelled}");
        Say(".Cancelled", "{cancelled}");
        Say(".Done", "{System.Threading.Tasks.Task<int>: RanToCompletion, Result = 5}");
        Say(".Faulted", "{System.Threading.Tasks.Task: Faulted, {System.InvalidOperationException: \"bad\"}}");
        Say(".Pending", "{System.Threading.Tasks.Task<string>: WaitingForActivation}");
        Say(".Type", "{typeof(System.Collections.Generic.List<int>)}");
        Say(".Grid", "int[2,3] {{1, 2, 3}, {4, 5, 6}}");
        Say(".Grid[1,2]", Text(All.Grid[1, 2]));
        All.From5.SetValue(77, 6);
        Say(".From5[6]", "77");
        Say(".Jagged[1][0]", Text(All.Jagged[1][0]));
        Say(".Boxed", "(float) 3.5");
        Say(".Order", "{Debugged.Invoice}");
        Say(".Order.Id", "4711");
        Say(".Order.Lines[1]", Quoted("cake"));
        Say(".Order.At", Text(((Invoice)All.Order).At));
        Say(".Animal.Name", Quoted("hidden"));
        Say(".Animal.Tame", "true");   // of the type that the object has, by its property
        Say(".Concurrent[\"k41\"]", "41");
        Say(".SortedByName[\"b\"]", "2");
        Say(".SortedList[2]", Quoted("two"));
        Say(".ByColor[\"Blue\"]", Quoted("b"));
        Say(".List[2]", Quoted("c"));
        Say(".List[1]", "null");
        Say(".Linked[1]", Quoted("l2"));
        Say(".Last", "^1");
        SayStatic("Registry.Count", Registry.Count);
        SayStatic("Registry.Title", Registry.Title);
        SayStatic("Registry.Prices", Registry.Prices);
        SayStatic("Registry.Origin", Registry.Origin);
        SayStatic("Registry.Rights", Registry.Rights);
        SayStatic("Registry.Big", Registry.Big);
        SayStatic("Registry.Rate", Registry.Rate);
        SayStatic("Registry.Started", Registry.Started);
        SayStatic("Cache<int>.Hits", Cache<int>.Hits);
        SayStatic("Cache<string>.Hits", Cache<string>.Hits);
        SayStatic("Cache<string>.Last", Cache<string>.Last);
        SayStatic("Animal.Made", Animal.Made);
        SayStatic("Animal.Kingdom", Animal.Kingdom);
        var done = new CountdownEvent(3);
        for (int i = 0; i < 3; i++)
        {
            int number = i;
            new Thread(() =>
            {
                Registry.PerThread = 100 + number;
                Registry.ThreadName = "thread " + number;
                Registry.ThreadPoint = new Point3(number, 0, -number);
                int os = int.Parse(Path.GetFileName(Directory.ResolveLinkTarget("/proc/thread-self", false).FullName));
                lock (said)
                {
                    SayStatic("Registry.PerThread", Registry.PerThread, os);
                    SayStatic("Registry.ThreadName", Registry.ThreadName, os);
                    SayStatic("Registry.ThreadPoint", Registry.ThreadPoint, os);
                }
                done.Signal();
                Thread.Sleep(Timeout.Infinite);
            }) { IsBackground = true }.Start();
        }
        done.Wait();
        File.WriteAllLines(path, said.Select(row => JsonSerializer.Serialize(row)));
        Program.Ready();
        Thread.Sleep(Timeout.Infinite);
        GC.KeepAlive(Registry.Best);
    }

    private static string Quoted(string text) => "\"" + text + "\"";

    // What the debugger is to say, made by .NET's own formatting.
    private static string Text(object value)
    {
        switch (value)
        {
            case null: return "null";
            case string text: return Quoted(text);
            case bool yes: return yes ? "true" : "false";
            case char c: return $"'{c}'";
            case DateTime time: return time.ToString("yyyy-MM-dd HH:mm:ss", CultureInfo.InvariantCulture);
            case DateTimeOffset time: return time.ToString("yyyy-MM-dd HH:mm:ss zzz", CultureInfo.InvariantCulture);
            case Point3 point: return $"{{X = {point.X}, Y = {point.Y}, Z = {point.Z}}}";
            case KeyValuePair<string, int> pair: return $"[{Text(pair.Key)}, {Text(pair.Value)}]";
            case ITuple tuple: return "(" + string.Join(", ", Enumerable.Range(0, tuple.Length).Select(i => Text(tuple[i]))) + ")";
            case Memory<int> memory: return $"int[{memory.Length}] {{{Joined(memory.ToArray())}}}";
            case ReadOnlyMemory<char> memory: return Quoted(memory.ToString());
            case double[] reals: return $"double[{reals.Length}] {{{Joined(reals)}}}";
            case float[] reals: return $"float[{reals.Length}] {{{Joined(reals)}}}";
            case IDictionary map: return $"Count = {map.Count} {{{string.Join(", ", Shown(Entries(map)))}}}";
            case Guid or Enum or Version or TimeSpan: return value.ToString();
            case IFormattable number: return number.ToString(null, CultureInfo.InvariantCulture);
            case IEnumerable list: return $"Count = {list.Cast<object>().Count()} {{{Joined(list)}}}";
            default: return value.ToString();
        }
    }

    // Eight elements are shown.
    private static IEnumerable<string> Shown(IEnumerable<string> texts) => texts.Take(8).Concat(texts.Skip(8).Take(1).Select(_ => "..."));

    private static string Joined(IEnumerable list) => string.Join(", ", Shown(list.Cast<object>().Select(Text)));

    private static IEnumerable<string> Entries(IDictionary map)
    {
        foreach (DictionaryEntry entry in map)
            yield return $"[{Text(entry.Key)}] = {Text(entry.Value)}";
    }
}

// Types of every kind, with static fields, also of types that no variable has.
using System;
using System.Collections.Generic;
using System.Collections.ObjectModel;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Kinds;

[Flags] public enum Marks : ushort { None = 0, Fresh = 1, Organic = 2, Sale = 4, Both = 3, Big = 0x8000 }
public enum Sign : sbyte { Minus = -1, Zero, Plus }
public enum Wide : long { Low = long.MinValue, Mid = 5, High = long.MaxValue }
public enum Unnamed { A = 1, B = 2, C = 4 }
[Flags] public enum Bits : ulong { Top = 1UL << 63, Low = 1 }
public interface INamed { string Label { get; } }
public abstract record Entity(int Id) { protected DateTime created = new(2024, 2, 29, 12, 30, 15, 250); }
public record Person(int Id, string Name, DateOnly Born) : Entity(Id), INamed
{
    public string Label => Name + "!";
    public Person Boss { get; init; }
    public (double Lat, double Lon) Home { get; init; }
}
public sealed record Employee(int Id, string Name, DateOnly Born, decimal Pay, Marks Marks) : Person(Id, Name, Born);
public record struct Size(double W, double H);
public readonly record struct Tagged<T>(T Value, string Tag);
public struct Pt { public int X, Y; public readonly int Sum => X + Y; public override readonly string ToString() => "pt"; }
public struct Segment { public Pt From, To; public string Name; public Segment[] More; }
[StructLayout(LayoutKind.Explicit)]
public struct Overlap
{
    [FieldOffset(0)] public int Whole;
    [FieldOffset(0)] public short Low;
    [FieldOffset(2)] public short High;
    [FieldOffset(8)] public string Text;
}
[InlineArray(4)] public struct Four { private int element0; }
[StructLayout(LayoutKind.Sequential, Pack = 1)] public struct Packed { public byte A; public int B; public short C; public long D; }
public unsafe struct Fixed { public fixed byte Data[8]; public int After; }
public class Box<T>
{
    public T Item;
    public Box<T> Next;
    private readonly T[] spare = new T[2];
    public Box(T item) { Item = item; }
    public T Held => Item;
    public class Inner<U> { public T First; public U Second; }
}
public class Pairing<TKey, TValue> where TKey : notnull
{
    public Dictionary<TKey, List<TValue>> Map = new();
    public (TKey Key, TValue Value)[] Flat;
    public List<(TKey Key, TValue Value)> Listed = new();
}
public class Base1 { private int hidden = 1; protected string shared = "base"; public int Own() => hidden; }
public class Derived1 : Base1, INamed { private int hidden = 2; public new string shared = "derived"; public string Label => "d1"; public int Twice() => hidden; }
public sealed class Deeper : Derived1, IComparable<Deeper>
{
    public volatile int Count = 9;
    public readonly object Gate = new();
    public int CompareTo(Deeper o) => 0;
    public event EventHandler Changed;
    public void Fire() => Changed?.Invoke(this, EventArgs.Empty);
}
public class Node { public string Name; public Node Left, Right; public List<Node> Kids = new(); public Node Parent; }
public class Bag : List<string> { public string Owner = "bag"; }
public class Keyed : KeyedCollection<int, Person> { protected override int GetKeyForItem(Person p) => p.Id; }
public class Props
{
    public int Auto { get; set; } = 4;
    public string Init { get; init; } = "init";
    private int _explicit = 8;
    public int Explicit { get => _explicit; set => _explicit = value; }
    public int Computed => Auto * 3;
    public required string Must { get; set; }
    public int this[int i] => i;
    public int Field { get => field; set => field = value; } = 12;
}
public class Primary(int seed, string word) { public int Seed() => seed; public string Word => word; }
public class Unseen
{
    public static string Here = "unseen static";
    public static Pt Spot = new() { X = 3, Y = 4 };
    public static int[] Numbers = { 5, 6, 7 };
    private static double ratio = 0.25; public static double Half() => ratio / 2;
    public static Marks Marks = Marks.Sale | Marks.Fresh;
    public static long Ticks = 1L << 40;
    public static byte Small = 200;
    public static sbyte Tiny = -100;
    public static char Letter = 'Q';
    public static bool Flag = true;
    public static float Single = 1.5f;
    public static decimal Price = 19.99m;
    public static Guid Id = new("00112233-4455-6677-8899-aabbccddeeff");
    public static INamed Named;
    public static List<Person> People = new();
    public static Dictionary<string, Marks> ByName = new() { ["a"] = Marks.Big };
    public static (int A, string B) Pair = (8, "eight");
    public static DateTime When = new(2025, 5, 5, 5, 5, 5, DateTimeKind.Utc);
    public static nint Native = -77;
    public static object Boxed = Sign.Minus;
    public static int? Maybe = 6, Nope;
    public static Size Size { get; set; } = new(1.5, 2.5);
    public static Func<int, int> Fn = x => x + 1;
}
public static class Gen<T>
{
    public static T Value;
    public static int Count;
    public static List<T> All = new();
    public static class Nested<U> { public static U Other; public static string Both = typeof(T).Name + typeof(U).Name; }
}
public class PerThread
{
    [ThreadStatic] public static int Number;
    [ThreadStatic] public static string Word;
    [ThreadStatic] public static Pt Spot;
    [ThreadStatic] public static List<int> List;
    [ThreadStatic] static Guid id;
    public static void Set(int n) { Number = n; Word = "word" + n; Spot = new() { X = n, Y = n * 2 }; List = new() { n, n + 1 }; id = new Guid(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11); }
    public static ThreadLocal<int> Local = new(() => 5);
    public static AsyncLocal<string> Flow = new();
}
public class GenThread<T> { [ThreadStatic] public static T Mine; }
public ref struct Cursor { public ReadOnlySpan<char> Rest; public int At; public ref int Target; }
public class E1 : Exception { public int Code = 5; public E1(string m, Exception i) : base(m, i) { } }

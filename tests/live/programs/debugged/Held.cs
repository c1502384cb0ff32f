// Variables whose objects are of other types than they are declared with, collections and arrays. The program writes JSON lines
// {"path": as `v` takes it, "text": the value or its text}, {"fields": variable, "names": its children} and {"refused": path}; then it waits.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text.Json;
using System.Threading;

namespace Debugged;

public interface IShape { double Area { get; } }
public abstract class Figure : IShape
{
    public string Name { get; set; }
    protected int corners;
    public abstract double Area { get; }
}
public class Disc : Figure
{
    public double Radius;
    public Point3 Centre;
    public Figure Inner;
    public override double Area => Math.PI * Radius * Radius;
}
public sealed class Ring : Disc { public double Hole; public Access Rights; }
public struct Money { public decimal Amount; public string Unit; }
public class Ledger<T> { public T First; public List<T> All = new(); public Dictionary<string, T> ByName = new(); }
public static class Totals { public static int Sum = 1234; public static Point3 Corner = new(4, 5, 6); public static Figure Best; public static string Word = "total"; }
public sealed class Account
{
    private int balance = 55;
    public int Balance => balance;
    public int Doubled => balance * 2;
    public string Owner { get { return owner; } }
    private string owner = "Ann";
    public (int Low, (string Text, bool Flag) Inner) Limits = (1, ("in", true));
    public List<(int Year, string What)> Past = new() { (1999, "made") };
}
public sealed class Tally { public int Sum; }
public sealed class Unseen { public int Secret = 77; public static int Count = 99; }

public static class Held
{
    private static object kept;

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    public static void Begin(string path)
    {
        var ring = new Ring { Name = "ring", Radius = 2.5, Hole = 0.5, Centre = new(1, 2, 3), Rights = Access.Read | Access.Write };
        ring.Inner = new Disc { Name = "disc", Radius = 1.25, Inner = ring };
        IShape shape = ring;
        Figure figure = ring;
        object plain = new Disc { Name = "plain", Radius = 7 };
        object number = 42, text = "words", money = new Money { Amount = 12.5m, Unit = "EUR" }, nothing = null;
        string[] args = { "one", null, "three" };
        int[] numbers = { 10, 20, 30 };
        int[][] jagged = { new[] { 1, 2 }, new[] { 3, 4, 5 } };
        int[,] grid = { { 1, 2, 3 }, { 4, 5, 6 } };
        string[,,] cube = { { { "a", "b" }, { "c", "d" } } };
        Figure[] figures = { ring, null, (Figure)plain };
        Point3[] points = { new(1, 2, 3), new(4, 5, 6) };
        var list = new List<string> { "l0", "l1", "l2", "l3" };
        var shapes = new List<IShape> { ring, (IShape)plain };
        var prices = new Dictionary<string, int> { ["tea"] = 3, ["cake"] = 5 };
        var byShape = new Dictionary<int, Figure> { [7] = ring };
        IEnumerable<int> sequence = new List<int> { 5, 6 };
        var ledger = new Ledger<Figure> { First = ring };
        ledger.All.Add(ring);
        ledger.ByName["x"] = ring;
        (int Count, string Name) pair = (3, "pair");
        (int, string) plainPair = (4, "plain");
        var wide = (A: 1, B: 2, C: 3, D: 4, E: 5, F: 6, G: 7, H: "eight", I: 9);
        var account = new Account();
        var anonymous = new { Size = 3, Label = "three" };
        Half half = (Half)1.5;
        var big = System.Numerics.BigInteger.Pow(10, 30);
        DateTimeOffset offset = new(2026, 1, 2, 3, 4, 5, TimeSpan.FromHours(2));
        Index last = ^1;
        Range range = 1..3;
        Memory<int> memory = numbers.AsMemory(1);
        ReadOnlyMemory<char> letters = "memory".AsMemory(2);
        ArraySegment<int> segment = new(numbers, 1, 2);
        var entry = KeyValuePair.Create("key", 7);
        var immutable = System.Collections.Immutable.ImmutableArray.Create(7, 8, 9);
        CancellationToken token = default;
        int? some = 5, none = null;
        Delegate action = () => Console.WriteLine(ring.Name);
        var rows = new List<(int Id, string Name)> { (1, "first"), (2, "second") };
        var nested = new List<List<(int Low, int High)>> { new() { (5, 6) } };
        (string Text, bool Flag)[] pairs = { ("a", true) };
        var byName = new Dictionary<string, (int At, string What)> { ["x"] = (7, "seven") };
        Tally one = new() { Sum = 1 }, two = new() { Sum = 2 };
        Totals.Best = ring;
        kept = new Unseen();

        var said = new List<Dictionary<string, object>>();
        void Say(string at, string shown) => said.Add(new() { ["path"] = at, ["text"] = shown });
        void Fields(string of, params string[] names) => said.Add(new() { ["fields"] = of, ["names"] = names });
        foreach (string variable in new[] { "ring", "shape", "figure" })
        {
            Fields(variable, "Name", "corners", "Radius", "Centre", "Inner", "Hole", "Rights");
            Say(variable + ".Name", "\"ring\"");
            Say(variable + ".Radius", "2.5");
            Say(variable + ".Hole", "0.5");
            Say(variable + ".Centre.Y", "2");
            Say(variable + ".Inner.Radius", "1.25");
            Say(variable + ".Inner.Inner.Hole", "0.5");
            Say(variable + ".Rights", "Read | Write");
        }
        Fields("plain", "Name", "corners", "Radius", "Centre", "Inner");
        Say("plain.Radius", "7");
        Fields("money", "Amount", "Unit");
        Say("money.Amount", "12.5");
        Say("money.Unit", "\"EUR\"");
        Say("number", "(int) 42");
        Say("text", "\"words\"");
        Say("nothing", "null");
        Fields("args", "[0]", "[1]", "[2]");
        Say("args[0]", "\"one\"");
        Say("args[1]", "null");
        Say("args[2]", "\"three\"");
        Say("numbers[2]", "30");
        Fields("jagged", "[0]", "[1]");
        Say("jagged[1][2]", "5");
        Fields("grid", "[0]", "[1]");
        Say("grid[0][2]", "3");
        Say("grid[1][0]", "4");
        Say("cube[0][1][0]", "\"c\"");
        Say("figures[0].Hole", "0.5");
        Say("figures[2].Radius", "7");
        Say("points[1].Z", "6");
        Fields("list", "[0]", "[1]", "[2]", "[3]");
        Say("list[3]", "\"l3\"");
        Say("shapes[0].Hole", "0.5");
        Say("shapes[1].Name", "\"plain\"");
        Fields("prices", "[\"tea\"]", "[\"cake\"]");
        Say("prices[1]", "5");
        Say("byShape[0].Hole", "0.5");
        Fields("byShape", "[7]");
        Say("sequence[1]", "6");
        Say("ledger.First.Hole", "0.5");
        Say("ledger.All[0].Radius", "2.5");
        Say("ledger.ByName[0].Radius", "2.5");
        Fields("pair", "Count", "Name");
        Say("pair", "(3, \"pair\")");
        Say("pair.Name", "\"pair\"");
        Say("pair.Item2", "\"pair\"");
        Fields("plainPair", "Item1", "Item2");
        Fields("wide", "A", "B", "C", "D", "E", "F", "G", "H", "I");
        Say("wide.H", "\"eight\"");
        Say("wide.I", "9");
        Say("account.Balance", "55");
        Say("account.Owner", "\"Ann\"");
        Fields("account.Limits", "Low", "Inner");
        Say("account.Limits.Inner.Text", "\"in\"");
        Fields("anonymous", "Size", "Label");
        Say("anonymous", "{Size = 3, Label = \"three\"}");
        Say("anonymous.Label", "\"three\"");
        Say("half", "1.5");
        Say("big", "1000000000000000000000000000000");
        Say("offset", "2026-01-02 03:04:05 +02:00");
        Say("last", "^1");
        Say("range", "1..3");
        Say("memory", "int[2] {20, 30}");
        Say("memory[1]", "30");
        Say("letters", "\"mory\"");
        Say("segment[0]", "20");
        Say("entry", "[\"key\", 7]");
        Say("immutable", "Count = 3 {7, 8, 9}");
        Say("immutable[2]", "9");
        Say("token", "{cannot be cancelled}");
        Say("some", "5");
        Say("none", "null");
        void Command(string command, string shown) => said.Add(new() { ["command"] = command, ["text"] = shown });
        Command("p sizeof(Debugged::Point3)", "12");
        Command("p ((Debugged::Ring &)shape).Hole", "0.5");
        Command("p ((Debugged::Disc &)plain).Radius", "7");
        Command("p Debugged::Access::Write", "Write");
        Command("p Debugged.Totals.Sum", "1234");
        Command("p Debugged.Totals.Corner.Y", "5");
        Command("target variable -r Debugged.Totals.Word", "\"total\"");
        Command("target variable -r Debugged.Totals.Sum", "1234");
        Command("p ((Debugged::Ring &)figure).Radius", "2.5");
        Command("p ring.Inner.Name", "\"disc\"");
        Command("p list", "Count = 4 {\"l0\", \"l1\", \"l2\", \"l3\"}");
        Say("rows[1].Name", "\"second\"");
        Say("rows[0].Item1", "1");
        Fields("rows[0]", "Id", "Name");
        Say("nested[0][0].Low", "5");
        Say("pairs[0].Text", "\"a\"");
        Say("byName[0].At", "7");
        Say("account.Past[0].Year", "1999");
        foreach (string outside in new[] { "args[3]", "list[4]", "grid[2][0]", "shape.Nothing", "nothing.Radius", "account.Doubled", "pair.Item3" })
            said.Add(new() { ["refused"] = outside });
        File.WriteAllLines(path, said.Select(row => JsonSerializer.Serialize(row)));
        Program.Ready();
        Thread.Sleep(Timeout.Infinite);
        foreach (object held in new object[] { ring, shape, figure, plain, number, text, money, nothing, args, numbers, jagged, grid, cube, figures, points, list, shapes, prices, byShape, sequence, ledger, pair, some, none, action, plainPair, wide, account, anonymous, half, big, offset, last, range, memory, letters, segment, entry, immutable, token, rows, nested, pairs, byName, one, two })
            GC.KeepAlive(held);
    }
}

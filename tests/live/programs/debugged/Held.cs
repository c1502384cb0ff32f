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
        int? some = 5, none = null;
        Delegate action = () => Console.WriteLine(ring.Name);
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
        Say("pair.Item2", "\"pair\"");
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
        foreach (string outside in new[] { "args[3]", "list[4]", "grid[2][0]", "shape.Nothing", "nothing.Radius" })
            said.Add(new() { ["refused"] = outside });
        File.WriteAllLines(path, said.Select(row => JsonSerializer.Serialize(row)));
        Program.Ready();
        Thread.Sleep(Timeout.Infinite);
        foreach (object one in new object[] { ring, shape, figure, plain, number, text, money, nothing, args, numbers, jagged, grid, cube, figures, points, list, shapes, prices, byShape, sequence, ledger, pair, some, none, action })
            GC.KeepAlive(one);
    }
}

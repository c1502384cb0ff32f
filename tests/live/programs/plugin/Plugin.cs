// Loaded into collectible AssemblyLoadContexts by `many`, which keeps some of them and unloads the others.
using System.Collections.Generic;
using System.Linq;

namespace Plugins;

public interface IWorker { int Work(int n); }

public class Worker : IWorker
{
    private readonly Dictionary<string, Box<int>> boxes = new();

    public int Work(int n) => Enumerable.Range(0, n).Select(Square).Sum() + Fill(n) + Generic<string>("a") + Generic<long>(4);

    private static int Square(int i) => i * i;

    private int Fill(int n)
    {
        for (int i = 0; i < n; i++) boxes["k" + i] = new Box<int>(i);
        return boxes.Values.Sum(b => b.Value);
    }

    private static int Generic<T>(T value) => new Box<T>(value).ToString().Length;

    private sealed record Box<T>(T Value);
}

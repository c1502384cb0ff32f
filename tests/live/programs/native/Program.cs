// A program that is compiled ahead of time: there is no CoreCLR in it.
using System;

static class Program
{
    static int Deep(int left) => left == 0 ? Wait() : Deep(left - 1) + 1;

    static int Wait()
    {
        Console.WriteLine("READY");
        Console.ReadLine();
        return 1;
    }

    static void Main() => Console.WriteLine(Deep(5));
}

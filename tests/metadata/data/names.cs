// Every shape of name and signature that metadata can hold and C# can write; names.dll is this file.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Shapes.Deep
{
    public struct Point { public int X, Y; public Point(int x, int y) { X = x; Y = y; } }
    public enum Colour : byte { Red, Green }

    public class Outer<T>
    {
        public class Inner<U>
        {
            public Inner() { }
            public Inner(T first, U second) { First = first; Second = second; }
            public T First; public U Second;
            [MethodImpl(MethodImplOptions.NoInlining)]
            public V Run<V>(T a, U b, V c, List<Dictionary<T, U[]>> d) => c;
            public struct Enumerator : IEnumerable<U>
            {
                public IEnumerator<U> GetEnumerator() => throw new NotSupportedException();
                System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => GetEnumerator();
            }
        }
        public class Plain { public int Count(Plain other, Inner<int> inner) => 0; }
        static Outer() { Console.Error.Flush(); }
    }

    public unsafe static class Signatures
    {
        public static void Primitives(bool a, char b, sbyte c, byte d, short e, ushort f, int g, uint h) { }
        public static void More(long a, ulong b, float c, double d, string e, object f, nint g, nuint h, decimal i) { }
        public static int Arrays(int[] a, int[][] b, int[,] c, int[][,] d, int[,,][] e, Point[] f) => 0;
        public static void References(ref int a, out string b, in Point c, ref Point[] d) { b = ""; }
        public static ref readonly Point ReadOnlyReference(Point[] p) => ref p[0];
        public static int* Pointers(int* a, void* b, Point** c, byte*[] d) => a;
        public static delegate*<int, string, void> Managed(delegate*<int> a) => null;
        public static void Unmanaged(delegate* unmanaged<int, void> a, delegate* unmanaged[Cdecl]<Point*, byte> b,
                                     delegate* unmanaged[Stdcall, SuppressGCTransition]<void> c) { }
        public static void VarArgs(int a, __arglist) { }
        public static void Typed(TypedReference a) { }
        public static void Framework(Uri a, ValueTuple<int, string> b, Nullable<Colour> c, DateTime d, Func<int, Task<string>> e) { }
        public static TResult Generic<TSource, TResult>(IEnumerable<TSource> a, Func<TSource, TResult> b, TSource[] c, ref TResult d)
            where TSource : struct => d;
        public static volatile int Volatile;
        public static void Ünïcödé(string 名前) { }
    }

    public static class Generated
    {
        public static async Task<int> Async(int a) { await Task.Yield(); return a; }
        public static IEnumerable<int> Iterator(int n) { for (int i = 0; i < n; i++) yield return i; }
        public static Func<int, int> Lambda(int n) { int Local(int x) => x + n; return x => Local(x) + n; }
    }

    public interface IShape<in T> { int Area(T a); static abstract int Sides { get; } }
    public class Square : IShape<Point>, IShape<string>
    {
        int IShape<Point>.Area(Point a) => 1;
        int IShape<string>.Area(string a) => 2;
        public static int Sides => 4;
        public int this[int i, string s] { get => i; set { } }
        public event EventHandler<Point> Moved { add { } remove { } }
        public static Square operator +(Square a, Square b) => a;
        public static explicit operator int(Square a) => 0;
        ~Square() { }
    }

    public static class Uses
    {
        // Instantiations over types of this assembly: code for them goes into its own ReadyToRun image.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Everything()
        {
            var a = new Outer<int>.Inner<Point>(1, new Point(1, 2)).Run(2, new Point(3, 4), (Colour)1, null);
            var b = new Outer<string>.Inner<Point[]>("", null).Run("", null, new Square(), null);
            var c = new Outer<Point>.Inner<Colour>().Run(default, default, 1.0, null);
            int d = 0; Signatures.Generic<Point, int>(null, null, null, ref d);
            string e = ""; Signatures.Generic<Colour, string>(null, null, null, ref e);
            return (int)a + d + (int)c;
        }
    }
}
public class NoNamespace { public void Method() { } }

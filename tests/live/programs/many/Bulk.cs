// Compiles methods of the framework until the process has as many as it was asked for.
using System;
using System.Reflection;
using System.Runtime;
using System.Runtime.CompilerServices;

namespace Many;

public static class Bulk
{
    private const BindingFlags Declared = BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance;

    public static void Prepare(int wanted)
    {
        Assembly[] sources = { typeof(System.Xml.XmlReader).Assembly, typeof(System.Linq.Expressions.Expression).Assembly, typeof(System.Text.RegularExpressions.Regex).Assembly };
        foreach (Assembly assembly in sources)
            foreach (Type type in assembly.GetTypes())
            {
                if (type.ContainsGenericParameters) continue;
                foreach (MethodBase method in type.GetMembers(Declared).AsMethods())
                {
                    if (JitInfo.GetCompiledMethodCount() >= wanted) return;
                    if (method.IsAbstract || method.ContainsGenericParameters) continue;
                    try { RuntimeHelpers.PrepareMethod(method.MethodHandle); }
                    catch (Exception e) when (e is PlatformNotSupportedException or TypeLoadException or ArgumentException or InvalidProgramException or System.IO.FileNotFoundException) { }
                }
            }
    }

    private static System.Collections.Generic.IEnumerable<MethodBase> AsMethods(this MemberInfo[] members)
    {
        foreach (MemberInfo m in members) if (m is MethodBase b) yield return b;
    }
}

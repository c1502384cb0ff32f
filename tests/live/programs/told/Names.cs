// Names of types as the debugger writes them: as C# does, with all arguments.
using System;
using System.Collections.Generic;
using System.Linq;

namespace Told;

public static class Names
{
    private static readonly Dictionary<Type, string> words = new()
    {
        [typeof(string)] = "string", [typeof(object)] = "object", [typeof(int)] = "int", [typeof(uint)] = "uint", [typeof(long)] = "long", [typeof(ulong)] = "ulong",
        [typeof(short)] = "short", [typeof(ushort)] = "ushort", [typeof(byte)] = "byte", [typeof(sbyte)] = "sbyte", [typeof(bool)] = "bool", [typeof(char)] = "char",
        [typeof(float)] = "float", [typeof(double)] = "double", [typeof(decimal)] = "decimal", [typeof(nint)] = "nint", [typeof(nuint)] = "nuint", [typeof(void)] = "void",
    };

    public static string Of(Type type)
    {
        if (words.TryGetValue(type, out string word))
            return word;
        if (type.IsArray)
        {
            string ranks = "";
            for (; type.IsArray; type = type.GetElementType())
                ranks += "[" + new string(',', type.GetArrayRank() - 1) + "]";
            return Of(type) + ranks;
        }
        Type[] arguments = type.GetGenericArguments();
        var chain = new List<Type>();
        for (Type one = type; one != null; one = one.DeclaringType)
            chain.Insert(0, one);
        string text = chain[0].Namespace is string space ? space + "." : "";
        int used = 0;
        foreach (Type one in chain)
        {
            if (one != chain[0])
                text += ".";
            int tick = one.Name.IndexOf('`');
            text += tick < 0 ? one.Name : one.Name[..tick];
            if (tick < 0)
                continue;
            int count = int.Parse(one.Name[(tick + 1)..]);
            text += "<" + string.Join(", ", arguments.Skip(used).Take(count).Select(Of)) + ">";
            used += count;
        }
        return text;
    }

    public static bool IsAnonymous(Type type) => type.Name.StartsWith("<>f__AnonymousType") || type.Name.StartsWith("VB$AnonymousType");

    // The property that a compiler keeps in a field of another name.
    public static string OfField(string field)
    {
        if (field.StartsWith('<') && (field.EndsWith(">k__BackingField") || field.EndsWith(">i__Field")))
            return field[1..field.IndexOf('>')];
        return field.StartsWith('$') && field.LastIndexOf('$') == 0 ? field[1..] : field;
    }
}

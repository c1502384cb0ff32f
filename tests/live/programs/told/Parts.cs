// The parts of a value: the items of arrays and of the framework's collections, and fields by the names that the source gives them.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Told;

public static class Parts
{
    private const BindingFlags Own = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

    public static bool IsFramework(Type type) => type.Namespace != null && type.Namespace.StartsWith("System");
    public static bool IsPair(Type type) => type.IsGenericType && type.GetGenericTypeDefinition() == typeof(KeyValuePair<,>);
    public static bool IsMemory(Type type) => type.IsGenericType && (type.GetGenericTypeDefinition() == typeof(Memory<>) || type.GetGenericTypeDefinition() == typeof(ReadOnlyMemory<>));
    public static bool IsDictionary(Type type) => type.GetInterfaces().Append(type).Any(i => i == typeof(IDictionary)
        || (i.IsGenericType && (i.GetGenericTypeDefinition() == typeof(IDictionary<,>) || i.GetGenericTypeDefinition() == typeof(IReadOnlyDictionary<,>))));

    // Null: it has none.
    public static IEnumerable<(object Key, object Item, bool HasKey)> Items(object value)
    {
        Type type = value.GetType();
        if (value is Array array)
            return array.Cast<object>().Select(x => ((object)null, x, false));
        if (value is string)
            return null;
        if (IsMemory(type))
            return type.GetGenericArguments()[0] == typeof(char) ? null : ((Array)type.GetMethod("ToArray").Invoke(value, null)).Cast<object>().Select(x => ((object)null, x, false));
        // A class of ours that is derived from a collection is one.
        Type framework = type;
        while (framework != null && !(IsFramework(framework) && typeof(IEnumerable).IsAssignableFrom(framework)))
            framework = framework.BaseType;
        if (framework == null || value is not IEnumerable all)
            return null;
        bool dictionary = IsDictionary(framework);
        return all.Cast<object>().Select(x =>
        {
            if (x is DictionaryEntry old)
                return (old.Key, old.Value, true);
            if (!dictionary)
                return (null, x, false);
            Type pair = x.GetType();
            return (pair.GetProperty("Key").GetValue(x), pair.GetProperty("Value").GetValue(x), true);
        });
    }

    public static Type TypeOfItems(Type type)
    {
        if (type.IsArray)
            return type.GetElementType();
        if (IsMemory(type))
            return type.GetGenericArguments()[0];
        foreach (Type one in type.GetInterfaces().Append(type))
            if (one.IsGenericType && one.GetGenericTypeDefinition() == typeof(IEnumerable<>))
            {
                Type item = one.GetGenericArguments()[0];
                return IsPair(item) && IsDictionary(type) ? item.GetGenericArguments()[1] : item;
            }
        return typeof(object);
    }

    // Those of base types first, in the order of the source; of a tuple its elements.
    public static IEnumerable<(string Name, object Value, Type Type, string[] Names)> Fields(object value, string[] names = null)
    {
        Type type = value.GetType();
        if (value is ITuple tuple && type.IsValueType)
        {
            Type[] types = TypesOfTuple(type).ToArray();
            for (int i = 0; i < tuple.Length; i++)
                yield return (names != null && i < names.Length && names[i] != null ? names[i] : $"Item{i + 1}", tuple[i], types[i], null);
            yield break;
        }
        var found = new List<(string Name, object Value, Type Type, string[] Names)>();
        var chain = new List<Type>();
        for (Type one = type; one != null; one = one.BaseType)
            chain.Insert(0, one);
        foreach (Type one in chain)
            foreach (FieldInfo field in one.GetFields(Own).OrderBy(f => f.MetadataToken))
            {
                string name = Names.OfField(field.Name);
                int hidden = found.FindIndex(f => f.Name == name);
                if (hidden >= 0)
                    found[hidden] = (name + " (hidden)", found[hidden].Value, found[hidden].Type, found[hidden].Names);
                var tuples = field.GetCustomAttribute<TupleElementNamesAttribute>();
                found.Add((name, field.GetValue(value), field.FieldType, tuples?.TransformNames.ToArray()));
            }
        foreach (var one in found)
            yield return one;
    }

    private static IEnumerable<Type> TypesOfTuple(Type type)
    {
        const int own = 7;
        Type[] arguments = type.GetGenericArguments();
        return arguments.Length <= own ? arguments : arguments.Take(own).Concat(TypesOfTuple(arguments[own]));
    }
}

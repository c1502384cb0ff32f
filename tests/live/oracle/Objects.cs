// What ClrMD says about objects chosen at random: their types, sizes, fields and elements.
using System.Globalization;
using System.Text.Json;
using Microsoft.Diagnostics.Runtime;

namespace Oracle;

sealed class ObjectsCommand(ClrRuntime runtime, int count, int seed)
{
    const int Elements = 20;
    const int Depth = 6;   // structures within structures
    readonly HashSet<string> enums_ = [];

    /// <summary>`count` objects, a line each; then one line with as many addresses in the heap at which no object begins.</summary>
    public void Run(Action<Action<Utf8JsonWriter>> line)
    {
        Random random = new(seed);
        List<ulong> starts = [];
        List<(ulong Start, ulong End)> parts = [];
        foreach (ClrSegment segment in runtime.Heap.Segments)
        {
            if (segment.ObjectRange.Length == 0) continue;
            parts.Add((segment.ObjectRange.Start, segment.ObjectRange.End));
            foreach (ClrObject o in segment.EnumerateObjects())
                if (o.IsValid && !o.IsFree) starts.Add(o.Address);
        }
        ulong[] chosen = starts.ToArray();
        random.Shuffle(chosen);
        foreach (ulong address in chosen.Take(count))
        {
            ClrObject o = runtime.Heap.GetObject(address);
            foreach (ClrType type in Enums(o.Type!, 0)) WriteEnum(type, line);
            line(json => WriteObject(json, o));
        }
        HashSet<ulong> known = [.. starts];
        line(json =>
        {
            json.WriteStartArray("none");
            for (int i = 0; i < count; i++)
            {
                (ulong start, ulong end) = parts[random.Next(parts.Count)];
                ulong address = start + (ulong)random.NextInt64((long)(end - start));
                if (random.Next(4) != 0) address &= ~7UL;   // most at a place where an object could begin
                if (!known.Contains(address)) json.WriteStringValue("0x" + address.ToString("x"));
            }
            json.WriteEndArray();
        });
    }

    /// <summary>The enumerations of a type's fields, that were not written yet.</summary>
    IEnumerable<ClrType> Enums(ClrType type, int depth)
    {
        foreach (ClrType? one in type.Fields.Select(f => f.Type).Append(type.ComponentType))
        {
            if (one is null || one == type) continue;
            if (one.IsEnum && enums_.Add(one.Name!)) yield return one;
            else if (one.IsValueType && !one.IsPrimitive && depth < Depth)
                foreach (ClrType inner in Enums(one, depth + 1)) yield return inner;
        }
    }

    static void WriteEnum(ClrType type, Action<Action<Utf8JsonWriter>> line) => line(json =>
    {
        json.WriteString("enum", type.Name);
        json.WriteStartArray("values");
        foreach ((string name, object? value) in type.AsEnum().EnumerateValues())
        {
            json.WriteStartArray();
            json.WriteStringValue(name);
            json.WriteStringValue(Convert.ToString(value, CultureInfo.InvariantCulture));
            json.WriteEndArray();
        }
        json.WriteEndArray();
    });

    void WriteObject(Utf8JsonWriter json, ClrObject o)
    {
        json.WriteString("address", "0x" + o.Address.ToString("x"));
        json.WriteString("type", o.Type!.Name);
        json.WriteString("method_table", "0x" + o.Type.MethodTable.ToString("x"));
        json.WriteNumber("size", (o.Size + 7) & ~7UL);
        if (o.IsArray)
        {
            WriteElements(json, o.AsArray());
            return;
        }
        if (o.Type.IsString)
        {
            json.WriteString("text", o.AsString(1 << 20));
            return;
        }
        json.WriteStartArray("fields");
        foreach (ClrInstanceField field in o.Type.Fields) WriteField(json, field, o.Address, false, 0);
        json.WriteEndArray();
    }

    void WriteElements(Utf8JsonWriter json, ClrArray array)
    {
        json.WriteNumber("length", array.Length);
        ClrType? element = array.Type.ComponentType;
        if (element is null || array.Rank != 1) return;
        json.WriteStartArray("items");
        ulong data = array.Address + 16;
        for (int i = 0; i < Math.Min(array.Length, Elements); i++)
        {
            ulong at = data + (ulong)i * (ulong)array.Type.ComponentSize;
            json.WriteStartObject();
            WriteValue(json, element, element.ElementType, at, 0);
            json.WriteEndObject();
        }
        json.WriteEndArray();
    }

    void WriteField(Utf8JsonWriter json, ClrInstanceField field, ulong address, bool interior, int depth)
    {
        json.WriteStartObject();
        json.WriteString("name", field.Name);
        json.WriteNumber("offset", field.Offset + (interior ? 0 : 8));
        WriteValue(json, field.Type, field.ElementType, field.GetAddress(address, interior), depth);
        json.WriteEndObject();
    }

    void WriteValue(Utf8JsonWriter json, ClrType? type, ClrElementType kind, ulong at, int depth)
    {
        if (type is { IsEnum: true }) json.WriteString("enum", type.Name);
        IDataReader memory = runtime.DataTarget.DataReader;
        switch (kind)
        {
            case ClrElementType.Boolean: json.WriteBoolean("bool", memory.Read<byte>(at) != 0); break;
            case ClrElementType.Char: json.WriteNumber("char", memory.Read<ushort>(at)); break;
            case ClrElementType.Int8: json.WriteNumber("number", memory.Read<sbyte>(at)); break;
            case ClrElementType.UInt8: json.WriteNumber("number", memory.Read<byte>(at)); break;
            case ClrElementType.Int16: json.WriteNumber("number", memory.Read<short>(at)); break;
            case ClrElementType.UInt16: json.WriteNumber("number", memory.Read<ushort>(at)); break;
            case ClrElementType.Int32: json.WriteNumber("number", memory.Read<int>(at)); break;
            case ClrElementType.UInt32: json.WriteNumber("number", memory.Read<uint>(at)); break;
            case ClrElementType.Int64: json.WriteNumber("number", memory.Read<long>(at)); break;
            case ClrElementType.UInt64: json.WriteNumber("number", memory.Read<ulong>(at)); break;
            case ClrElementType.NativeInt: json.WriteNumber("native", memory.Read<long>(at)); break;
            case ClrElementType.NativeUInt or ClrElementType.Pointer or ClrElementType.FunctionPointer: json.WriteNumber("native", memory.Read<ulong>(at)); break;
            case ClrElementType.Float: json.WriteString("real", memory.Read<float>(at).ToString("R", CultureInfo.InvariantCulture)); break;
            case ClrElementType.Double: json.WriteString("real", memory.Read<double>(at).ToString("R", CultureInfo.InvariantCulture)); break;
            case ClrElementType.String or ClrElementType.Object or ClrElementType.Class or ClrElementType.Array or ClrElementType.SZArray:
                json.WriteString("object", "0x" + memory.Read<ulong>(at).ToString("x"));
                break;
            case ClrElementType.Struct when type is not null && depth < Depth:
                json.WriteStartArray("fields");
                foreach (ClrInstanceField field in type.Fields) WriteField(json, field, at, true, depth + 1);
                json.WriteEndArray();
                break;
        }
    }
}

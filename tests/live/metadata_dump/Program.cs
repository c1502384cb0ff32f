// The names of every method of the assemblies given, by System.Reflection.Metadata: an independent reader to
// compare ours with. One line each: rid in hex, then the name in the runtime's perf-map form.
// `metadata_dump pdb FILE...`: the PDBs instead (PdbDump.cs).
using System.Collections.Immutable;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;
using System.Text;

var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 20);
if (args is ["pdb", .. string[] files])
{
    foreach (string file in files) PdbDump.Write(output, file);
    output.Flush();
    return;
}
foreach (string path in args)
{
    using var pe = new PEReader(File.OpenRead(path));
    if (!pe.HasMetadata) continue;
    MetadataReader reader = pe.GetMetadataReader();
    var provider = new Provider();
    string module = reader.IsAssembly
        ? reader.GetString(reader.GetAssemblyDefinition().Name)
        : Path.GetFileNameWithoutExtension(reader.GetString(reader.GetModuleDefinition().Name));
    output.WriteLine($"# {path}");
    foreach (MethodDefinitionHandle handle in reader.MethodDefinitions)
    {
        MethodDefinition method = reader.GetMethodDefinition(handle);
        MethodSignature<string> signature = method.DecodeSignature(provider, null);
        TypeDefinition owner = reader.GetTypeDefinition(method.GetDeclaringType());
        output.Write($"{MetadataTokens.GetRowNumber(handle):x6} ");
        output.Write(Provider.Header(signature.Header));
        output.Write($"{signature.ReturnType} [{module}] {Owner(reader, owner)}::{reader.GetString(method.Name)}");
        output.WriteLine($"({string.Join(',', signature.ParameterTypes)})");
    }
}
output.Flush();

static string Owner(MetadataReader reader, TypeDefinition type)
{
    string name = Provider.Definition(reader, type, "+");
    var parameters = type.GetGenericParameters().Select(p => reader.GetString(reader.GetGenericParameter(p).Name)).ToArray();
    return parameters.Length == 0 ? name : $"{name}[{string.Join(',', parameters)}]";
}

sealed class Provider : ISignatureTypeProvider<string, object?>
{
    public static string Header(SignatureHeader header)
    {
        var text = new StringBuilder();
        if (header.HasExplicitThis) text.Append("explicit ");
        if (header.IsInstance) text.Append("instance ");
        text.Append(header.CallingConvention switch
        {
            SignatureCallingConvention.Default => "",
            SignatureCallingConvention.CDecl => "unmanaged cdecl ",
            SignatureCallingConvention.StdCall => "unmanaged stdcall ",
            SignatureCallingConvention.ThisCall => "unmanaged thiscall ",
            SignatureCallingConvention.FastCall => "unmanaged fastcall ",
            SignatureCallingConvention.VarArgs => "vararg ",
            SignatureCallingConvention.Unmanaged => "unmanaged ",
            _ => throw new BadImageFormatException(),
        });
        return text.ToString();
    }

    public static string Definition(MetadataReader reader, TypeDefinition type, string separator)
    {
        string name = reader.GetString(type.Name);
        if (type.IsNested)
            return Definition(reader, reader.GetTypeDefinition(type.GetDeclaringType()), separator) + separator + name;
        string space = reader.GetString(type.Namespace);
        return space.Length == 0 ? name : $"{space}.{name}";
    }

    static string Reference(MetadataReader reader, TypeReferenceHandle handle)
    {
        TypeReference type = reader.GetTypeReference(handle);
        string name = reader.GetString(type.Name), space = reader.GetString(type.Namespace);
        string full = space.Length == 0 ? name : $"{space}.{name}";
        return type.ResolutionScope.Kind switch
        {
            HandleKind.TypeReference => $"{Reference(reader, (TypeReferenceHandle)type.ResolutionScope)}/{full}",
            HandleKind.AssemblyReference =>
                $"[{reader.GetString(reader.GetAssemblyReference((AssemblyReferenceHandle)type.ResolutionScope).Name)}]{full}",
            _ => full,
        };
    }

    // 0x11 is a value type, 0x12 a class.
    static string Keyword(byte kind) => kind == 0x11 ? "valuetype " : kind == 0x12 ? "class " : "";

    public string GetTypeFromDefinition(MetadataReader r, TypeDefinitionHandle h, byte kind) =>
        Keyword(kind) + Definition(r, r.GetTypeDefinition(h), "/");
    public string GetTypeFromReference(MetadataReader r, TypeReferenceHandle h, byte kind) => Keyword(kind) + Reference(r, h);
    public string GetTypeFromSpecification(MetadataReader r, object? c, TypeSpecificationHandle h, byte kind) =>
        r.GetTypeSpecification(h).DecodeSignature(this, c);
    public string GetSZArrayType(string element) => element + "[]";
    public string GetPointerType(string element) => element + "*";
    public string GetByReferenceType(string element) => element + "&";
    public string GetPinnedType(string element) => element + " pinned";
    public string GetGenericTypeParameter(object? c, int index) => $"!{index}";
    public string GetGenericMethodParameter(object? c, int index) => $"!!{index}";
    public string GetGenericInstantiation(string type, ImmutableArray<string> arguments) => $"{type}<{string.Join(',', arguments)}>";
    public string GetModifiedType(string modifier, string unmodified, bool required) =>
        $"{unmodified} {(required ? "modreq" : "modopt")}({modifier})";
    public string GetFunctionPointerType(MethodSignature<string> s) =>
        $"method {Header(s.Header)}{s.ReturnType} *({string.Join(',', s.ParameterTypes)})";

    public string GetArrayType(string element, ArrayShape shape)
    {
        var dimensions = new string[shape.Rank];
        if (shape.Rank == 1 && shape.Sizes.Length == 0 && shape.LowerBounds.Length == 0) return element + "[...]";
        for (int i = 0; i < shape.Rank; i++)
        {
            int low = i < shape.LowerBounds.Length ? shape.LowerBounds[i] : 0;
            if (low == 0 && i < shape.Sizes.Length) dimensions[i] = $"{shape.Sizes[i]}";
            else if (i < shape.LowerBounds.Length) dimensions[i] = $"{low}..." + (i < shape.Sizes.Length ? $"{low + shape.Sizes[i] - 1}" : "");
        }
        return $"{element}[{string.Join(',', dimensions)}]";
    }

    public string GetPrimitiveType(PrimitiveTypeCode code) => code switch
    {
        PrimitiveTypeCode.Void => "void", PrimitiveTypeCode.Boolean => "bool", PrimitiveTypeCode.Char => "char",
        PrimitiveTypeCode.SByte => "int8", PrimitiveTypeCode.Byte => "uint8", PrimitiveTypeCode.Int16 => "int16",
        PrimitiveTypeCode.UInt16 => "uint16", PrimitiveTypeCode.Int32 => "int32", PrimitiveTypeCode.UInt32 => "uint32",
        PrimitiveTypeCode.Int64 => "int64", PrimitiveTypeCode.UInt64 => "uint64", PrimitiveTypeCode.Single => "float32",
        PrimitiveTypeCode.Double => "float64", PrimitiveTypeCode.String => "string", PrimitiveTypeCode.TypedReference => "typedref",
        PrimitiveTypeCode.IntPtr => "native int", PrimitiveTypeCode.UIntPtr => "native uint", PrimitiveTypeCode.Object => "object",
        _ => throw new BadImageFormatException(),
    };
}

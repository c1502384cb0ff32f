// Prints a portable PDB as System.Reflection.Metadata decodes it, in the form of `core_tool pdb`.
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

static class PdbDump
{
    static readonly Guid HoistedScopes = new("6DA9A61E-F8C7-4874-BE62-68BC5630DF71");
    static readonly Guid AsyncMethod = new("54FD2AC5-E925-401A-9C2A-F94F171072F8");
    static readonly Guid SourceLink = new("CC110556-A091-4D38-9FEC-25AB9A351A6A");
    static readonly Guid EmbeddedSource = new("0E8A571B-6926-466E-B4AD-8AB04611F5FE");

    // `path` is a PDB, or an assembly whose PDB is searched.
    public static void Write(TextWriter output, string path)
    {
        if (Path.GetExtension(path) == ".pdb")
        {
            using var provider = MetadataReaderProvider.FromPortablePdbStream(File.OpenRead(path));
            Write(output, provider.GetMetadataReader());
            return;
        }
        using var pe = new PEReader(File.OpenRead(path));
        if (!pe.TryOpenAssociatedPortablePdb(Path.GetFullPath(path), p => File.Exists(p) ? File.OpenRead(p) : null, out var found, out _))
            throw new FileNotFoundException($"no PDB of {path}");
        using (found) Write(output, found!.GetMetadataReader());
    }

    static void Write(TextWriter output, MetadataReader reader)
    {
        DebugMetadataHeader header = reader.DebugMetadataHeader!;
        int entry = header.EntryPoint.IsNil ? 0 : MetadataTokens.GetToken(header.EntryPoint);
        output.WriteLine($"pdb {Convert.ToHexStringLower(header.Id.AsSpan()[..16])} entry {entry:x8}");
        foreach (DocumentHandle handle in reader.Documents)
        {
            int size = -1;
            if (Information(reader, handle, EmbeddedSource) is BlobReader source)
            {
                size = source.ReadInt32();
                if (size == 0) size = source.RemainingBytes;
            }
            output.WriteLine($"document {MetadataTokens.GetRowNumber(handle)} {reader.GetString(reader.GetDocument(handle).Name)} source {size}");
        }
        output.WriteLine($"source link {Information(reader, EntityHandle.ModuleDefinition, SourceLink)?.Length ?? 0}");
        foreach (MethodDebugInformationHandle handle in reader.MethodDebugInformation) Write(output, reader, handle);
    }

    static void Write(TextWriter output, MetadataReader reader, MethodDebugInformationHandle handle)
    {
        MethodDebugInformation method = reader.GetMethodDebugInformation(handle);
        MethodDefinitionHandle definition = handle.ToDefinitionHandle();
        bool any = !method.SequencePointsBlob.IsNil;
        output.WriteLine($"method {MetadataTokens.GetToken(definition):x8} locals {(any ? MetadataTokens.GetRowNumber(method.LocalSignature) : 0)}");
        foreach (SequencePoint p in any ? method.GetSequencePoints() : [])
        {
            output.Write($"point {p.Offset:x} {MetadataTokens.GetRowNumber(p.Document)} ");
            output.WriteLine(p.IsHidden ? "hidden" : $"{p.StartLine}:{p.StartColumn} {p.EndLine}:{p.EndColumn}");
        }
        foreach (LocalScopeHandle scopeHandle in reader.GetLocalScopes(definition))
        {
            LocalScope scope = reader.GetLocalScope(scopeHandle);
            output.WriteLine($"scope {scope.StartOffset:x} {scope.EndOffset:x} imports {MetadataTokens.GetRowNumber(scope.ImportScope)}");
            foreach (LocalVariableHandle variableHandle in scope.GetLocalVariables())
            {
                LocalVariable variable = reader.GetLocalVariable(variableHandle);
                int hidden = (variable.Attributes & LocalVariableAttributes.DebuggerHidden) != 0 ? 1 : 0;
                output.WriteLine($"variable {variable.Index} {hidden} {reader.GetString(variable.Name)}");
            }
            foreach (LocalConstantHandle constantHandle in scope.GetLocalConstants())
            {
                LocalConstant constant = reader.GetLocalConstant(constantHandle);
                output.WriteLine($"constant {reader.GetString(constant.Name)} {Convert.ToHexStringLower(reader.GetBlobBytes(constant.Signature))}");
            }
        }
        MethodDefinitionHandle kickoff = method.GetStateMachineKickoffMethod();
        if (!kickoff.IsNil) output.WriteLine($"kickoff {MetadataTokens.GetToken(kickoff):x8}");
        if (Information(reader, definition, AsyncMethod) is BlobReader steps)
        {
            output.WriteLine($"async {(long)steps.ReadUInt32() - 1}");
            while (steps.RemainingBytes > 0)
                output.WriteLine($"await {steps.ReadUInt32():x} {steps.ReadUInt32():x} {0x06000000 | steps.ReadCompressedInteger():x8}");
        }
        if (Information(reader, definition, HoistedScopes) is BlobReader scopes)
            while (scopes.RemainingBytes > 0)
            {
                uint start = scopes.ReadUInt32();
                output.WriteLine($"hoisted {start:x} {start + scopes.ReadUInt32():x}");
            }
    }

    static BlobReader? Information(MetadataReader reader, EntityHandle parent, Guid kind)
    {
        foreach (CustomDebugInformationHandle handle in reader.GetCustomDebugInformation(parent))
        {
            CustomDebugInformation information = reader.GetCustomDebugInformation(handle);
            if (reader.GetGuid(information.Kind) == kind) return reader.GetBlobReader(information.Value);
        }
        return null;
    }
}

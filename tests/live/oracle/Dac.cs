// The calls of the runtime's own data access library (DAC) that ClrMD 4.1 keeps internal, by their place in the interfaces of
// dotnet/runtime src/coreclr/inc/sospriv.idl.
using System.Reflection;
using System.Runtime.InteropServices;
using Microsoft.Diagnostics.Runtime;

namespace Oracle;

[StructLayout(LayoutKind.Sequential)]
struct CodeHeader
{
    public ulong GCInfo;
    public uint JitType;
    public ulong MethodDesc, Start;
    public uint Size;
    public ulong ColdStart;
    public uint ColdSize, HotSize;
}

sealed unsafe class Dac
{
    private const int GetMethodDescName = 22, GetCodeHeaderData = 26;
    private const BindingFlags Any = BindingFlags.NonPublic | BindingFlags.Public | BindingFlags.Instance;
    private readonly IntPtr sos;
    private readonly IntPtr* methods;

    public Dac(ClrRuntime runtime)
    {
        object services = typeof(ClrRuntime).GetField("_services", Any)!.GetValue(runtime)!;
        object wrapper = services.GetType().GetField("_sos", Any)!.GetValue(services)!;
        for (Type? t = wrapper.GetType(); t != null && sos == 0; t = t.BaseType)
            if (t.GetProperty("Self", Any | BindingFlags.DeclaredOnly) is { } self) sos = (IntPtr)self.GetValue(wrapper)!;
        if (sos == 0) throw new InvalidOperationException("this ClrMD has no such member");
        methods = *(IntPtr**)sos;
    }

    /// The runtime's own answer about the body that holds ip. It also answers for up to 144 bytes past a body's end.
    public bool Code(ulong ip, out CodeHeader header)
    {
        fixed (CodeHeader* p = &header)
        {
            *p = default;
            return ((delegate* unmanaged<IntPtr, ulong, CodeHeader*, int>)methods[GetCodeHeaderData])(sos, ip, p) >= 0 && p->Start != 0;
        }
    }

    public string? Name(ulong methodDesc)
    {
        const int room = 8192;
        char* text = stackalloc char[room];
        int needed;
        int result = ((delegate* unmanaged<IntPtr, ulong, int, char*, int*, int>)methods[GetMethodDescName])(sos, methodDesc, room, text, &needed);
        return result < 0 ? null : new string(text, 0, Math.Clamp(needed - 1, 0, room - 1));
    }
}

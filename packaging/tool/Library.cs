using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace LldbClr;

/// <summary>The library said that something cannot be had.</summary>
sealed class ClrException(string message) : Exception(message);

/// <summary>The functions of lldb_clr.h that the commands need.</summary>
static unsafe partial class Library
{
    const string Name = "clr";

    /// <summary>clr_error of lldb_clr.h.</summary>
    struct Error
    {
        public int Status, HasAddress;
        public ulong Address;
        public fixed byte Text[1024];

        public readonly void Throw()
        {
            fixed (byte* text = Text) throw new ClrException(Marshal.PtrToStringUTF8((nint)text) ?? "unknown failure");
        }
    }

    /// <summary>clr_place of lldb_clr.h.</summary>
    public struct Place
    {
        public const uint NoFile = uint.MaxValue;
#pragma warning disable CS0649 // the library fills them in
        public uint File, Line, Column, IlOffset;
#pragma warning restore CS0649
    }

    [ModuleInitializer]
    internal static void Initialize() =>
        NativeLibrary.SetDllImportResolver(Assembly.GetExecutingAssembly(), (name, _, _) =>
        {
            if (name != Name) return 0;
            string path = Path.Combine(Native.Folder, "lib", "libclr.so.1");
            try
            {
                return NativeLibrary.Load(path);
            }
            catch (DllNotFoundException error)
            {
                throw new ClrException($"{path} cannot be loaded (glibc 2.34 or later is needed): {error.Message.Split('\n')[0]}");
            }
        });

    public static string Version() => Marshal.PtrToStringUTF8(clr_version()) ?? "";

    public static nint Open(string path, string options)
    {
        Error error;
        nint runtime = clr_open_core(path, options, &error);
        if (runtime == 0) error.Throw();
        return runtime;
    }

    public static nint Info(nint runtime) => Made(clr_query_info(runtime, 0, out Error error), in error);
    public static nint Analysis(nint runtime) => Made(clr_query_analysis(runtime, out Error error), in error);
    public static nint Threads(nint runtime) => Made(clr_query_threads(runtime, out Error error), in error);
    public static nint Exception(nint runtime, ulong address) => Made(clr_query_exception(runtime, address, out Error error), in error);
    public static nint Frames(nint runtime, ulong thread, int most) =>
        Made(clr_query_frames(runtime, thread, (nuint)most, linesOfFrames, out Error error), in error);

    /// <summary>The next rows as JSON in UTF-8; null behind the last ones.</summary>
    public static byte[]? Next(nint rows)
    {
        Error error;
        byte* json;
        nuint size;
        int more = clr_rows_next(rows, &json, &size, &error);
        if (more < 0) error.Throw();
        return more == 0 ? null : new ReadOnlySpan<byte>(json, checked((int)size)).ToArray();
    }

    /// <summary>Owners as JSON, and for each address the index of its owner and its place.</summary>
    public static (byte[] Owners, byte[] Files, uint[] Owner, Place[] Places) Symbolize(nint runtime, ulong[] addresses)
    {
        Error error;
        nint symbols;
        fixed (ulong* first = addresses) symbols = clr_symbolize(runtime, first, (nuint)addresses.Length, 1, &error);
        if (symbols == 0) error.Throw();
        try
        {
            nuint size;
            byte* owners = clr_symbols_json(symbols, &size);
            byte[] json = new ReadOnlySpan<byte>(owners, checked((int)size)).ToArray();
            byte* files = clr_symbols_files(symbols, &size);
            return (json, new ReadOnlySpan<byte>(files, checked((int)size)).ToArray(),
                    new ReadOnlySpan<uint>(clr_symbols_owners(symbols), addresses.Length).ToArray(),
                    new ReadOnlySpan<Place>(clr_symbols_places(symbols), addresses.Length).ToArray());
        }
        finally
        {
            clr_symbols_close(symbols);
        }
    }

    static nint Made(nint rows, in Error error)
    {
        if (rows == 0) error.Throw();
        return rows;
    }

    const uint linesOfFrames = 4;

    [LibraryImport(Name)] private static partial nint clr_version();
    [LibraryImport(Name, StringMarshalling = StringMarshalling.Utf8)] private static partial nint clr_open_core(string path, string options, Error* error);
    [LibraryImport(Name)] internal static partial void clr_close(nint runtime);
    [LibraryImport(Name)] private static partial nint clr_query_info(nint runtime, int counts, out Error error);
    [LibraryImport(Name)] private static partial nint clr_query_analysis(nint runtime, out Error error);
    [LibraryImport(Name)] private static partial nint clr_query_threads(nint runtime, out Error error);
    [LibraryImport(Name)] private static partial nint clr_query_exception(nint runtime, ulong address, out Error error);
    [LibraryImport(Name)] private static partial nint clr_query_frames(nint runtime, ulong thread, nuint limit, uint flags, out Error error);
    [LibraryImport(Name)] private static partial int clr_rows_next(nint rows, byte** json, nuint* size, Error* error);
    [LibraryImport(Name)] internal static partial void clr_rows_close(nint rows);
    [LibraryImport(Name)] private static partial nint clr_symbolize(nint runtime, ulong* addresses, nuint count, uint flags, Error* error);
    [LibraryImport(Name)] private static partial uint* clr_symbols_owners(nint symbols);
    [LibraryImport(Name)] private static partial Place* clr_symbols_places(nint symbols);
    [LibraryImport(Name)] private static partial byte* clr_symbols_json(nint symbols, nuint* size);
    [LibraryImport(Name)] private static partial byte* clr_symbols_files(nint symbols, nuint* size);
    [LibraryImport(Name)] private static partial void clr_symbols_close(nint symbols);
}

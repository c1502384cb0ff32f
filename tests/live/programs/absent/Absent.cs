// An assembly that is not there when `passing` runs: whoever needs it first asks a handler, which does not return.
namespace Absent;

public class Thing
{
    public object Value;
    public static int Count;
}

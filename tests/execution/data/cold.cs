// Methods with rarely taken paths, for an image with cold parts.
using System;
using System.Collections.Generic;

public static class Cold
{
    public static int Sum(List<int> values, int limit)
    {
        int sum = 0;
        foreach (int value in values)
        {
            if (value < 0)
                throw new ArgumentException("negative: " + value, nameof(values));
            sum += value;
            if (sum > limit)
                throw new InvalidOperationException($"beyond {limit} by {sum - limit}");
        }
        return sum;
    }

    public static string Join(string[] parts, Func<string, string> map)
    {
        string text = "";
        for (int i = 0; i < parts.Length; i++)
        {
            try
            {
                text += map(parts[i]);
            }
            catch (FormatException error) when (error.Message.Length > 3)
            {
                if (i == 0)
                    throw new NotSupportedException(error.Message + parts[i] + i, error);
                text += "?";
            }
            finally
            {
                text += ";";
            }
        }
        if (text.Length > 1000)
            throw new InvalidOperationException("long: " + text.Length + text);
        return text;
    }

    public static unsafe int Find(int* values, int count, int wanted)
    {
        if (values == null)
            throw new ArgumentNullException(nameof(values), "for " + wanted + " of " + count);
        for (int i = 0; i < count; i++)
        {
            if (values[i] == wanted)
                return i;
            if (values[i] == int.MinValue)
                throw new InvalidOperationException("end at " + i + " of " + count);
        }
        throw new KeyNotFoundException(wanted.ToString());
    }

    public static int Plain(int a, int b) => a * b + 1;

    public static int Choose(int kind) => kind switch
    {
        0 => 17, 1 => 4, 2 => 99, 3 => -1, 4 => 12, 5 => 8, 6 => 3, 7 => 55, 8 => 6,
        _ => throw new ArgumentOutOfRangeException(nameof(kind), kind, "no such kind"),
    };
}

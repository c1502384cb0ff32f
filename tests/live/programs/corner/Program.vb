' Variables, fields and static fields of Visual Basic. The program says what each holds (../told), then waits. It is started as: corner held FILE.
Imports System
Imports System.Collections.Generic
Imports System.Linq
Imports System.Runtime.CompilerServices
Imports System.Runtime.InteropServices
Imports System.Text
Imports System.Threading
Imports System.Threading.Tasks
Imports Told

<Flags> Public Enum Rights As Integer
    None = 0
    Read = 1
    Write = 2
    Run = 4
End Enum
Public Enum Level As Byte
    Low = 1
    High = 200
End Enum
Public Interface IPriced
    ReadOnly Property Price As Decimal
End Interface
Public Structure Point
    Public X As Integer
    Public Y As Integer
    Private tag As String
    Public Sub New(x As Integer, y As Integer)
        Me.X = x : Me.Y = y : tag = "pt"
    End Sub
    Public ReadOnly Property Sum As Integer
        Get
            Return X + Y
        End Get
    End Property
End Structure
Public Structure Pair(Of A, B)
    Public First As A
    Public Second As B
End Structure
Public MustInherit Class Article
    Implements IPriced
    Public Property Name As String = "article"
    Protected stock As Integer = 7
    Private _count As Integer = 3
    Public Property Count As Integer
        Get
            Return _count
        End Get
        Set(value As Integer)
            _count = value
        End Set
    End Property
    Public MustOverride ReadOnly Property Price As Decimal Implements IPriced.Price
    Public Shared Total As Integer = 12
    Public Shared ReadOnly Names As New List(Of String) From {"x", "y"}
End Class
Public Class Book
    Inherits Article
    Public Pages As Integer = 321
    Public Tags() As String = {"a", "b"}
    Public Rights As Rights = Rights.Read Or Rights.Write
    Public Property Related As Article
    Public ReadOnly Property Fixed As Double = 2.5
    Public WithEvents Watched As Watcher
    Public Overrides ReadOnly Property Price As Decimal
        Get
            Return 9.99D
        End Get
    End Property
    Private Sub OnHit() Handles Watched.Hit
    End Sub
End Class
Public Class Watcher
    Public Event Hit()
    Public Level As Integer = 4
    Public Sub Fire()
        RaiseEvent Hit()
    End Sub
End Class
Public Class Shelf(Of T)
    Public Items As New List(Of T)
    Public Best As T
    Default Public Property Item(i As Integer) As T
        Get
            Return Items(i)
        End Get
        Set(value As T)
            Items(i) = value
        End Set
    End Property
    Public Shared Made As Integer = 5
    Public Class Slot
        Public Held As T
    End Class
End Class
Namespace Deep.Down
    Public Class Inner
        Public Value As Long = 5000000000L
        Public Shared Word As String = "deep"
        <ThreadStatic> Public Shared PerThread As Integer
    End Class
End Namespace
Public Module Store
    Public Opened As New Date(2024, 5, 6, 7, 8, 9)
    Public Stock As New Dictionary(Of String, Integer) From {{"tea", 3}, {"cake", 5}}
    Private secret As Double = 1.25
    Public Property Title As String = "title"
    Public Corner As New Point(4, 5)
    Public Kind As Rights = Rights.Run
    Public Says As New Teller

    Function Main(args As String()) As Integer
        Deep.Down.Inner.PerThread = 6
        If args.Length <> 2 OrElse args(0) <> "held" Then
            Console.Error.WriteLine("usage: corner held FILE")
            Return 2
        End If
        Begin(args(1), 5, "given")
        Return 0
    End Function

    <MethodImpl(MethodImplOptions.NoInlining)>
    Sub Begin(file As String, ByRef number As Integer, Optional word As String = "none")
        Static calls As Integer = 40
        calls += 1
        Says.Frame = "Corner.Store.Begin"
        Dim b As Byte = 200, sb As SByte = -5, s As Short = -300, us As UShort = 60000, i As Integer = -1, ui As UInteger = 4000000000UI,
            l As Long = Long.MinValue, ul As ULong = ULong.MaxValue
        Dim f As Single = 1.5F, d As Double = 0.1, m As Decimal = 12.340D, c As Char = "V"c, yes As Boolean = True, no As Boolean = False,
            dt As Date = #11/25/2026 10:30:00 AM#, txt As String = "vb ""quoted""", nothingText As String = Nothing
        Dim rightsRW As Rights = Rights.Read Or Rights.Write, lev As Level = Level.High, some As Integer? = 8, none As Integer? = Nothing,
            whenMaybe As Date? = dt, point As New Point(1, 2), pair As New Pair(Of String, Point) With {.First = "f", .Second = New Point(3, 4)}
        Dim book As New Book With {.Name = "book", .Pages = 99, .Watched = New Watcher}, article As Article = book, priced As IPriced = book,
            any As Object = book, boxed As Object = 4.5D, boxedPoint As Object = point, boxedEnum As Object = Rights.Run, late = CObj("late")
        book.Related = New Book With {.Name = "other"}
        Dim numbers() As Integer = {1, 2, 3}, grid(,) As Integer = {{1, 2, 3}, {4, 5, 6}}, jagged()() As String = {New String() {"a"}, New String() {"b", "c"}},
            points() As Point = {New Point(1, 1)}, empty(-1) As Integer, objects() As Object = {1, "two", Nothing, point, Rights.Run}, dates() As Date = {dt},
            cube(1, 1, 1) As Byte
        Dim list As New List(Of String) From {"l0", "l1"}, dict As New Dictionary(Of String, Point) From {{"p", point}}, nested As New Dictionary(Of Integer,
            List(Of Book)) From {{1, New List(Of Book) From {book}}}, hs As New HashSet(Of Integer) From {4, 5}, q As New Queue(Of Integer)(numbers),
            st As New Stack(Of String)(list), col As New Microsoft.VisualBasic.Collection()
        col.Add("one", "k1") : col.Add(2)
        Dim tuple = (Left:=1, Right:="r"), plainTuple = (3, "p"), refTuple = System.Tuple.Create(1, "two"), anon = New With {.Id = 1, .Name = "anon"},
            keyed = New With {Key .K = 5, .V = "v"}, shelf As New Shelf(Of Book) With {.Best = book}, shelfI As New Shelf(Of Integer) With {.Best = 6},
            slot As New Shelf(Of Integer).Slot With {.Held = 8}, inner As New Deep.Down.Inner
        shelf.Items.Add(book) : shelfI.Items.Add(1) : cube(1, 0, 1) = 9
        Dim sbuild As New StringBuilder("built"), ex As New InvalidOperationException("vb bad"), guid As New Guid("00010203-0405-0607-0809-0a0b0c0d0e0f"),
            ts As TimeSpan = TimeSpan.FromSeconds(90), uri As New Uri("http://vb/"), task1 As Task(Of Integer) = Task.FromResult(3), fn As Func(Of Integer,
            Integer) = Function(x) x + calls, t As Type = GetType(Book), query = From x In numbers Where x > 1 Select x
        Store.Says.Tell(b)
        Store.Says.Tell(sb)
        Store.Says.Tell(s)
        Store.Says.Tell(us)
        Store.Says.Tell(i)
        Store.Says.Tell(ui)
        Store.Says.Tell(l)
        Store.Says.Tell(ul)
        TellAll({"file", "word", "f", "d", "m", "c", "yes", "no", "dt", "txt", "nothingText", "rightsRW", "lev", "some", "none", "whenMaybe"},
            New Object() {file, word, f, d, m, c, yes, no, dt, txt, nothingText, rightsRW, lev, some, none, whenMaybe}, {GetType(String), GetType(String),
            GetType(Single), GetType(Double), GetType(Decimal), GetType(Char), GetType(Boolean), GetType(Boolean), GetType(Date), GetType(String), GetType(String),
            GetType(Rights), GetType(Level), GetType(Integer?), GetType(Integer?), GetType(Date?)})
        TellAll({"point", "pair", "book", "article", "priced", "any", "boxed", "boxedPoint", "boxedEnum", "late"}, New Object() {point, pair, book, article,
            priced, any, boxed, boxedPoint, boxedEnum, late}, {GetType(Point), GetType(Pair(Of String, Point)), GetType(Book), GetType(Article), GetType(IPriced),
            GetType(Object), GetType(Object), GetType(Object), GetType(Object), GetType(Object)})
        TellAll({"numbers", "grid", "jagged", "points", "empty", "objects", "dates", "list", "dict", "nested", "hs", "q", "st"}, New Object() {numbers,
            grid, jagged, points, empty, objects, dates, list, dict, nested, hs, q, st}, Nothing)
        TellAll({"refTuple", "anon", "keyed", "shelf", "shelfI", "slot", "inner", "sbuild", "ex", "guid", "ts", "uri", "task1", "t"}, New Object() {refTuple,
            anon, keyed, shelf, shelfI, slot, inner, sbuild, ex, guid, ts, uri, task1, t}, Nothing)
        Store.Says.Say("*number", "5", "named")
        Store.Says.Say("tuple.Left", "1", "named")
        Store.Says.Say("tuple.Right", """r""", "named")
        Store.Says.Say("tuple", "(1, ""r"")")
        Store.Says.Say("plainTuple", "(3, ""p"")")
        Store.Says.Fields("tuple", "Left", "Right")
        Store.Says.Say("book.Count", "3", "number")
        Store.Says.Say("book.Related.Name", """other""")
        Store.Says.Refuse("point.Sum")
        Store.Says.Refuse("book.Price")
        Store.Says.Say("book.Watched.Level", "4", "number")
        Store.Says.Statics(GetType(Article))
        Store.Says.Statics(GetType(Shelf(Of Integer)))
        Store.Says.Static("Corner.Store.Opened", Opened)
        Store.Says.Static("Corner.Store.Stock", Stock)
        Store.Says.Static("Corner.Store.secret", secret)
        Store.Says.Static("Corner.Store.Title", Title)
        Store.Says.Static("Corner.Store.Corner", Corner)
        Store.Says.Static("Corner.Store.Kind", Kind)
        Store.Says.Static("Corner.Deep.Down.Inner.Word", Deep.Down.Inner.Word)
        Store.Says.Static("Corner.Deep.Down.Inner.PerThread", 6, gettid())
        Store.Says.Command("p ((Corner::Book &)priced).Pages", "99")
        Store.Says.Command("p sizeof(Corner::Point)", "16")
        Store.Says.Command("p Corner.Article.Total", "12")
        Store.Says.Command("p Corner.Deep.Down.Inner.Word", """deep""")
        Store.Says.Command("p i + 2", "1")
        Dim local = 3
        Dim closure As Func(Of Integer) = Function() local + point.X
        Store.Says.Write(file)
        Console.WriteLine("READY " & Environment.ProcessId)
        Thread.Sleep(Timeout.Infinite)
        Keep(b, sb, s, us, i, ui, l, ul, f, d, m, c, yes, no, dt, txt, nothingText, rightsRW, lev, some, none, whenMaybe, point, pair, book, article, priced,
            any, boxed, boxedPoint, boxedEnum, late, numbers, grid, jagged, points, empty, objects, dates, cube, list, dict, nested, hs, q, st, col, tuple,
            plainTuple, refTuple, anon, keyed, shelf, shelfI, slot, inner, sbuild, ex, guid, ts, uri, task1, fn, t, query, closure, number, word, file)
    End Sub
    Sub TellAll(names() As String, values() As Object, types() As Type)
        For i = 0 To names.Length - 1
            Says.TellNamed(names(i), values(i), If(types Is Nothing, If(values(i) Is Nothing, GetType(Object), values(i).GetType()), types(i)))
        Next
    End Sub
    <DllImport("libc")> Function gettid() As Integer
    End Function
    <MethodImpl(MethodImplOptions.NoInlining)> Sub Keep(ParamArray all() As Object)
        GC.KeepAlive(all)
    End Sub
End Module

// F#'s unions, options, records, lists, maps, closures and tuples. The program writes what its variables hold, as Held.cs of `debugged` does;
// then it waits. It is started as: unions held FILE.
module Debugged.Held

open System
open System.Collections.Generic
open System.IO
open System.Runtime.CompilerServices
open System.Text.Json
open System.Threading

type Shape =
    | Circle of radius: float
    | Square of side: float
    | Rect of width: float * height: float
    | Empty
type Two =
    | First of int
    | Second of string
type Light = Red | Green | Amber
type Single = Single of value: int * text: string
type Tree<'a> =
    | Leaf
    | Node of Tree<'a> * 'a * Tree<'a>
[<Struct>]
type Reply =
    | Good of value: int
    | Bad of reason: string
type Person = { Name: string; Age: int; Tags: string list }
type Account(owner: string) =
    let balance = 55
    member _.Balance = balance
    member _.Doubled = balance * 2
    member _.Owner = owner

let mutable counter = 41
let words = [ "m1"; "m2" ]

let adder n = fun x -> x + n

[<MethodImpl(MethodImplOptions.NoInlining)>]
let Begin (path: string) =
    let circle = Circle 1.5
    let rect = Rect(2.0, 3.0)
    let empty = Empty
    let first = First 3
    let second = Second "bee"
    let light = Green
    let single = Single(1, "one")
    let tree = Node(Leaf, 5, Node(Leaf, 6, Leaf))
    let some = Some 5
    let none: int option = None
    let word = Some "text"
    let value = ValueSome 7
    let nothing: int voption = ValueNone
    let good: Result<int, string> = Ok 3
    let bad: Result<int, string> = Error "wrong"
    let reply = Good 5
    let refused = Bad "reason"
    let list = [ 1; 2; 3 ]
    let nil: int list = []
    let person = { Name = "Ann"; Age = 30; Tags = [ "x"; "y" ] }
    let account = Account "Bob"
    let pair = (1, "two", 3.0)
    let flat = struct (1, "two")
    let map = Map.ofList [ "b", 2; "a", 1; "c", 3 ]
    let set = Set.ofList [ 3; 1; 2 ]
    let shapes = [ circle; rect; empty ]
    let closure = adder 10
    let cell = ref 5
    let shape: obj = box rect
    let said = List<Dictionary<string, obj>>()
    let say (at: string) (shown: string) =
        said.Add(Dictionary<string, obj>(dict [ "path", box at; "text", box shown ]))
    let fields (of': string) (names: string list) =
        said.Add(Dictionary<string, obj>(dict [ "fields", box of'; "names", box (Array.ofList names) ]))
    say "circle" "Circle(1.5)"
    fields "circle" [ "radius" ]
    say "circle.radius" "1.5"
    say "rect" "Rect(2, 3)"
    fields "rect" [ "width"; "height" ]
    say "rect.height" "3"
    say "empty" "Empty"
    fields "empty" []
    say "first" "First(3)"
    fields "first" [ "Item" ]
    say "second" "Second(\"bee\")"
    say "second.Item" "\"bee\""
    say "light" "Green"
    say "single" "Single(1, \"one\")"
    fields "single" [ "value"; "text" ]
    say "single.text" "\"one\""
    fields "tree" [ "Item1"; "Item2"; "Item3" ]
    say "tree.Item1" "Leaf"
    say "tree.Item3" "Node(Leaf, 6, Leaf)"
    say "tree.Item3.Item2" "6"
    say "some" "Some(5)"
    say "some.Value" "5"
    say "none" "null"
    say "word" "Some(\"text\")"
    say "value" "ValueSome(7)"
    say "value.Item" "7"
    say "nothing" "ValueNone"
    say "good" "Ok(3)"
    say "bad" "Error(\"wrong\")"
    say "reply" "Good(5)"
    fields "reply" [ "value" ]
    say "refused" "Bad(\"reason\")"
    say "refused.reason" "\"reason\""
    said.Add(Dictionary<string, obj>(dict [ "command", box "clr static Debugged.Held.counter"; "text", box "Debugged.Held.counter: int = 41" ]))
    said.Add(Dictionary<string, obj>(dict [ "command", box "clr static Debugged.Held.words"; "text", box "Debugged.Held.words: Microsoft.FSharp.Collections.FSharpList<string> = Count = 2 {\"m1\", \"m2\"}" ]))
    say "list" "Count = 3 {1, 2, 3}"
    say "list[1]" "2"
    say "nil" "Count = 0"
    fields "person" [ "Name"; "Age"; "Tags" ]
    say "person.Name" "\"Ann\""
    say "person.Age" "30"
    say "person.Tags[1]" "\"y\""
    say "account.Balance" "55"
    say "account.Owner" "\"Bob\""
    say "pair" "(1, \"two\", 3)"
    say "pair.Item2" "\"two\""
    say "flat" "(1, \"two\")"
    fields "flat" [ "Item1"; "Item2" ]
    say "map" "Count = 3 {[\"a\"] = 1, [\"b\"] = 2, [\"c\"] = 3}"
    fields "map" [ "[\"a\"]"; "[\"b\"]"; "[\"c\"]" ]
    say "map[2]" "3"
    say "set" "Count = 3 {1, 2, 3}"
    say "set[0]" "1"
    say "shapes" "Count = 3 {Circle(1.5), Rect(2, 3), Empty}"
    say "shapes[0].radius" "1.5"
    fields "closure" [ "n" ]
    say "closure.n" "10"
    say "cell.contents" "5"
    say "shape" "Rect(2, 3)"
    say "shape.width" "2"
    for outside in [ "circle.side"; "account.Doubled"; "list[3]"; "empty.radius" ] do
        said.Add(Dictionary<string, obj>(dict [ "refused", box outside ]))
    File.WriteAllLines(path, said |> Seq.map JsonSerializer.Serialize)
    Console.WriteLine $"READY {Environment.ProcessId}"
    Console.Out.Flush()
    Thread.Sleep Timeout.Infinite
    let kept: obj list =
        [ circle; rect; empty; first; second; light; single; tree; some; none; word; value; nothing; good; bad; reply; refused; list; nil; person; account
          pair; flat; map; set; shapes; closure; cell; shape ]
    GC.KeepAlive kept

[<EntryPoint>]
let main args =
    Begin args[1]
    0

// Which rows of a stack people are not shown.
#include "core/runtime/stack_rows.h"

#include <catch2/catch.hpp>

#include <string>

using namespace clr;

namespace {

FrameRow row(const std::string& module, const std::string& name, MethodKind kind = MethodKind::il) {
  MethodAnswer answer;
  answer.method.module = module;
  answer.method.name = answer.method.full_name = name;
  answer.method.kind = kind;
  FrameRow row;
  row.index = 7;
  row.kind = "managed";
  row.answer = std::make_shared<const MethodAnswer>(std::move(answer));
  return row;
}

} // namespace

TEST_CASE("what the runtime puts around its async methods is folded, and nothing of the program",
          "[runtime]") {
  const std::string core = "System.Private.CoreLib.dll",
                    helpers = "System.Runtime.CompilerServices.AsyncHelpers";
  CHECK(folded_as(row("app.dll", "Ns.C.Run", MethodKind::async_thunk)) == "async_thunk");
  for (const char* name : {"ILStubClass.IL_STUB_AsyncResume", "ILStubClass.IL_STUB_AsyncResume_Run_Tier0"})
    CHECK(folded_as(row("app.dll", name, MethodKind::il_stub)) == "async_resumption");
  for (const char* member : {".FinalizeTaskReturningThunk", "+ThunkTaskCore.MoveNext",
                             "+ThunkTask`1.MoveNext", "+RuntimeAsyncTask`1.DispatchContinuations"})
    CHECK(folded_as(row(core, helpers + member)) == "async_helper");

  // Other stubs, methods of the program by the same names, and classes whose names go on.
  CHECK(folded_as(row("app.dll", "ILStubClass.IL_STUB_PInvoke", MethodKind::il_stub)).empty());
  CHECK(folded_as(row("app.dll", "Ns.C.IL_STUB_AsyncResume")).empty());
  CHECK(folded_as(row("app.dll", helpers + ".Await")).empty());
  CHECK(folded_as(row(core, helpers)).empty());
  CHECK(folded_as(row(core, helpers + "2.Run")).empty());
  CHECK(folded_as(row(core, "System.Runtime.CompilerServices.AsyncTaskMethodBuilder.Start")).empty());
  CHECK(folded_as(row("app.dll", "Ns.C.Run")).empty());
  CHECK(folded_as(FrameRow{}).empty());
}

TEST_CASE("where a thread stands, and what is wrong with a frame, is never folded", "[runtime]") {
  FrameRow thunk = row("app.dll", "Ns.C.Run", MethodKind::async_thunk);
  thunk.index = 0;
  CHECK(folded_as(thunk).empty());
  thunk.index = 1;
  CHECK_FALSE(folded_as(thunk).empty());
  thunk.fault = "memory is gone";
  CHECK(folded_as(thunk).empty());
}

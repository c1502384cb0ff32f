/* What `clrip2md --json` prints of an address of a core file:  name_address CORE ADDRESS */
#include <lldb_clr.h>

#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
  clr_error error = {0};
  clr_runtime* runtime = NULL;
  clr_rows* rows = NULL;
  const char* json;
  size_t size;
  if (count != 3) {
    fputs("usage: name_address CORE ADDRESS\n", stderr);
    return 2;
  }
  if ((runtime = clr_open_core(words[1], NULL, &error)))
    if ((rows = clr_query_address(runtime, strtoull(words[2], NULL, 16), &error)))
      while (clr_rows_next(rows, &json, &size, &error) == 1) printf("%.*s\n", (int)size, json);
  clr_rows_close(rows);
  clr_close(runtime);
  if (error.status != CLR_OK) fprintf(stderr, "error: %s\n", error.text);
  return error.status == CLR_OK ? 0 : 1;
}

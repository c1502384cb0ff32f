// How a page looks: light and dark, on paper, narrow and wide.
#pragma once

#include "core/report/page/html_writer.h"

namespace clr {

inline constexpr PageWord page_style = R"css(
:root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--dim:#57606a;--line:#d0d7de;--soft:#f3f5f7;--bad:#b3261e;--bad-soft:#fdecea;--ok:#1a6b36;--link:#0550ae;--lock:#fff3cd;--task:#e3edfb}
@media (prefers-color-scheme:dark){:root{--fg:#dde3ea;--bg:#14181d;--dim:#96a0ab;--line:#363d46;--soft:#1d232a;--bad:#ff8a80;--bad-soft:#3b1c1a;--ok:#6fcf8e;--link:#79b8ff;--lock:#3a3218;--task:#1b2c45}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1320px;padding:1rem 1.5rem 4rem;color:var(--fg);background:var(--bg);font:15px/1.45 system-ui,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.35rem;margin:.2rem 0 .6rem}h2{font-size:1.12rem;margin:2rem 0 .5rem;padding-bottom:.2rem;border-bottom:1px solid var(--line)}
p{margin:.4rem 0}ul{margin:.3rem 0;padding-left:1.3rem}a{color:var(--link)}
nav{margin:.8rem 0}nav a{margin-right:1rem;white-space:nowrap}
code,pre,.frames,td,.mono{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:13px}
pre{margin:.3rem 0;white-space:pre-wrap}
.verdict{font-size:1.15rem;font-weight:600;padding:.7rem 1rem;border-left:6px solid var(--dim);background:var(--soft)}
.crash,.deadlock,.memory,.starvation{border-color:var(--bad);background:var(--bad-soft)}.healthy{border-color:var(--ok)}
.dim{color:var(--dim)}.why{color:var(--dim);font-style:italic}.bad{color:var(--bad)}
table{border-collapse:collapse;width:100%;margin:.4rem 0}th,td{text-align:left;vertical-align:top;padding:.18rem .7rem .18rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--dim);font-size:13px}th.n,td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td:not(.n,.k){min-width:7rem}table.facts{width:auto}table.facts th{white-space:nowrap;padding-right:1.2rem}
details{margin:.3rem 0}summary{cursor:pointer}summary:hover{background:var(--soft)}
.frames{margin:.2rem 0 .6rem;padding-left:3.6rem}.frames li::marker{color:var(--dim)}.native,.runtime{color:var(--dim)}.managed b{font-weight:600}
.k{white-space:nowrap}.wide{overflow-x:auto}svg{display:inline-block;vertical-align:middle;font:11px ui-monospace,"DejaVu Sans Mono",monospace}svg text{fill:var(--fg)}
.node{fill:var(--soft);stroke:var(--dim)}.node.lock{fill:var(--lock)}.node.task,.node.chain{fill:var(--task)}.red .node,.node.red{stroke:var(--bad);stroke-width:2.5}
.arrow{fill:none;stroke:var(--dim);stroke-width:1.3}.tip{fill:var(--dim)}.arrow.red{stroke:var(--bad);stroke-width:2.5}.tip.red{fill:var(--bad)}
svg .head{font-weight:700}svg .sub{fill:var(--dim)}
.tile{stroke:var(--bg);stroke-width:1.5}svg .label{fill:#14181d}
@media (min-width:761px){.map{max-width:100%;height:auto}}
@media (max-width:760px){body{padding:.6rem .8rem 3rem}section table{display:block;overflow-x:auto}td:not(.n,.k){min-width:13rem}.frames{padding-left:2.4rem}}
@media print{:root{--fg:#000;--bg:#fff;--dim:#444;--line:#bbb;--soft:#f3f5f7;--bad:#b3261e;--bad-soft:#fff;--lock:#fff3cd;--task:#e3edfb;color-scheme:light}body{max-width:none;padding:0;font-size:11px}code,pre,.frames,td,.mono{font-size:10px}nav{display:none}.wide{overflow:visible}svg{max-width:100%;height:auto}details::details-content{content-visibility:visible;block-size:auto}tr,.frames li,svg{break-inside:avoid}}
)css";

} // namespace clr

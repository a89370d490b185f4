#include "base/html.h"
#include "absl/strings/str_cat.h"
#include "loadtest/report/plot.h"

namespace banyan::loadtest {
namespace {

// Lines: the colours of Okabe and Ito (2008), some darker on white so that each stands out from the
// background at 3:1; dashes tell them apart without colour. The scale follows viridis, cut where it
// would fade into the background.
constexpr char kStyle[] = R"css(
:root{color-scheme:light dark;--back:#fff;--front:#1b1f24;--soft:#57606a;--grid:#e3e6ea;
--card:#f5f7f9;--warn:#fff3d6;--good:#006b4f;--bad:#a33b00;
--s0:#0072b2;--s1:#d55e00;--s2:#00845f;--s3:#b3518a;--s4:#a87000;--s5:#2a86be;--s6:#5b5b5b;
--s7:#000;--c0:#440154;--c1:#443a83;--c2:#31688e;--c3:#20908d;--c4:#2fa36b;--c5:#7aa81f;
--unknown:#8a9199}
@media (prefers-color-scheme:dark){:root{--back:#14171a;--front:#e6e9ec;--soft:#a3abb4;
--grid:#2c3238;--card:#1e2328;--warn:#3d3115;--good:#4fd1a5;--bad:#ff9b66;
--s0:#56b4e9;--s1:#ee7733;--s2:#2dbb8f;--s3:#dd8fbc;--s4:#e69f00;--s5:#f0e442;--s6:#b8bec5;
--s7:#fff;--c0:#8a6fd0;--c1:#5f87cf;--c2:#37a3b5;--c3:#38b97c;--c4:#9bd93c;--c5:#fde725;
--unknown:#767e87}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:88rem;background:var(--back);color:var(--front);
font:1rem/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
h1{font-size:1.5rem;margin:.4rem 0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .6rem}
p{margin:.4rem 0}.sub,.note{color:var(--soft)}.note{font-size:.82rem}
.warn{background:var(--warn);padding:.6rem .8rem;border-radius:.4rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem}
.card{background:var(--card);border-radius:.5rem;padding:.6rem .8rem}
.card b{display:block;font-size:1.3rem;font-weight:600;font-variant-numeric:tabular-nums}
.card span{display:block;color:var(--soft);font-size:.82rem}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,23.5rem),1fr));
gap:1.4rem 1.2rem}
figure{margin:0;min-width:0;max-width:40rem}figcaption{font-weight:600;font-size:.95rem}
.plot>svg{display:block;width:100%;height:auto}
.plot text{font-size:12px;fill:var(--soft);font-variant-numeric:tabular-nums}
.word text{fill:var(--front);paint-order:stroke;stroke:var(--back);stroke-width:3px}
.grid,.axis,.marker,.line,.points{fill:none}
.grid{stroke:var(--grid)}.axis{stroke:var(--soft)}.marker{stroke:var(--front);stroke-dasharray:2 3}
.line{stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.points{stroke-width:4.5;stroke-linecap:round;stroke-opacity:.75}
.legend{min-height:1.3rem;display:flex;flex-wrap:wrap;gap:.1rem .9rem;font-size:.82rem;color:var(--soft)}
.legend span{display:inline-flex;align-items:center;gap:.35rem}
.legend svg{width:26px;height:10px;flex:none}.legend svg.scale{width:72px}
.legend .scale .points{stroke-width:9;stroke-opacity:1}
.s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}
.s4{stroke:var(--s4)}.s5{stroke:var(--s5)}.s6{stroke:var(--s6)}.s7{stroke:var(--s7)}
.line.s1{stroke-dasharray:7 3}.line.s2{stroke-dasharray:2 3.2}.line.s3{stroke-dasharray:9 3 2 3}
.line.s4{stroke-dasharray:12 4}.line.s5{stroke-dasharray:4 4}.line.s6{stroke-dasharray:1 4}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}
.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}.unknown{stroke:var(--unknown)}
.wide{overflow-x:auto;margin:.6rem 0}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
th:first-child,td:first-child{text-align:left;padding-left:0}
td.text{text-align:left;white-space:normal;overflow-wrap:anywhere}th.text{text-align:left}
th{color:var(--soft);font-weight:600}
.good{color:var(--good)}.bad{color:var(--bad)}
td svg{width:9rem;height:1rem;vertical-align:middle}
td svg .line{stroke-width:2.5}td svg .points{stroke-width:6;stroke-opacity:1}
dl{margin:0}dt{font-weight:600;margin-top:.5rem}dd{margin:0;color:var(--soft)}
@media print{body{max-width:none}}
)css";

}  // namespace

std::string HtmlPage(const std::string& title, const std::string& body) {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"/><title>",
      EscapeHtml(title), "</title><style>", kStyle, "</style></head>\n<body>\n", body,
      "</body></html>\n");
}

}  // namespace banyan::loadtest

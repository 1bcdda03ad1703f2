/* boot.js - the one script that index.html names. It asks for the others when the frame of the page has been painted, so that they do not compete with
   the first paint, and for all that the view needs at once: nothing is found out file by file. */

/* What main.js imports, and what the views import besides (tests/integration/page.py compares). */
const MAIN = "files dom state zone";
const VIEWS = {
  start: "api curve gaps metric_list number start_model kind",
  explore: "api explore-load names kind query explore-show graph number gaps graph-data graph-dense graph-input graph-tip range explore-edit complete saved",
  totals: "api catalog kind names compare labels number totals_query ranges range totals_model totals_table metric_list start_model saved totals_form metric_field complete totals_filter totals_maps heat heat_model sheet",
  metrics: "api catalog kind names metric_list number labels totals_query ranges range start_model sheet",
  latest: "api catalog kind names curve gaps metric_list number labels totals_query ranges range metric_field complete start_model sheet",
  status: "api number status_parts labels totals_query ranges range",
};
const LATEST_MS = 100; /* where no frame is painted, as in a window that is hidden */

let begun = false;
function begin() {
  if (begun)
    return;
  begun = true;
  const address = location.hash, view = /[#&]v=(\w+)/.exec(address)?.[1] ?? (/[#&](m|start)=/.test(address) ? "explore" : "start");
  for (const name of ["main", ...MAIN.split(" "), ...(VIEWS[view] ? [view, ...VIEWS[view].split(" ")] : [])]) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = `s/${name}.js`;
    document.head.append(link);
  }
  import("./main.js");
}
requestAnimationFrame(() => setTimeout(begin));
setTimeout(begin, LATEST_MS);

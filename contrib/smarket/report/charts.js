// SPDX-License-Identifier: GPL-2.0-or-later
// Load and price over time, by uPlot. All charts show the same time, which moves and zooms.

const view = { min: line.begin, max: lineEnd };
const charts = [];
const watchers = [];
let isMoving = false;

/** Shows [min, max] in every chart, as far as the simulation went. */
function look(min, max) {
  const least = Math.min(line.step, (lineEnd - line.begin) / 50, 60);
  const length = Math.max(least, Math.min(max - min, lineEnd - line.begin));
  view.min = Math.max(line.begin, Math.min(min, lineEnd - length));
  view.max = view.min + length;
  isMoving = true;
  for (const chart of charts) chart.setScale("x", view);
  isMoving = false;
  for (const watcher of watchers) watcher();
}

function zoom(factor) {
  const middle = (view.min + view.max) / 2, half = (view.max - view.min) * factor / 2;
  look(middle - half, middle + half);
}

function onKey(event) {
  const step = (view.max - view.min) / 5;
  const actions = { ArrowLeft: () => look(view.min - step, view.max - step), ArrowRight: () => look(view.min + step, view.max + step),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: () => look(line.begin, lineEnd) };
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
}

const chartWidth = () => Math.max(280, byId("charts").clientWidth);

/** An axis of time: the date at midnight, the hour between. */
function timeAxis() {
  const label = (time) => {
    if (time % 86400 !== 0) return when(time).slice(-5);
    return data.dated ? when(time).slice(0, 10) : `day ${time / 86400 + 1}`;
  };
  return { stroke: "#59636e", grid: { stroke: "#eceff2", width: 1 }, ticks: { stroke: "#d9dee3", width: 1 }, font: "12px system-ui, sans-serif", space: 80, size: 34,
    incrs: [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 604800, 1209600, 2592000, 7776000, 31536000],
    values: (_, splits) => splits.map(label) };
}

const valueAxis = () => ({ ...timeAxis(), incrs: undefined, space: 30, size: 64, values: (_, splits) => splits.map((value) => value.toLocaleString("en-US", { maximumFractionDigits: 4 })) });

let legendDashes = []; // of the chart that is being made

const commonOptions = (height) => ({ width: chartWidth(), height, ms: 1,
  legend: { markers: { width: 3, dash: (_, place) => legendDashes[place - 1] } },
  cursor: { sync: { key: "time" }, drag: { x: true, y: false, setScale: true }, points: { size: 6 } },
  hooks: { setScale: [(chart, key) => { if (key === "x" && !isMoving) look(chart.scales.x.min, chart.scales.x.max); }] } });

/** The element that a chart is drawn into: in focus it hears keys. */
function chartBox(label) {
  const box = make("div", { class: "chart", tabindex: "0", role: "group", "aria-label": label });
  box.addEventListener("keydown", onKey);
  return box;
}

const times = Array.from({ length: line.steps + 1 }, (_, i) => line.begin + i * line.step);

// The last value again, for the end of its step.
const closed = (values) => { const all = Array.from(values); return all.concat(all[all.length - 1]); };

const kinds = [
  { id: "busy", title: "Cores at work", unit: "mean of each step; the grey line is the whole machine", form: (v) => v.toFixed(1), limit: data.machine.cores,
    values: (mechanism) => closed(series(mechanism, "busy", 10)) },
  { id: "waiting", title: "Cores waited for", unit: "of jobs that could have started, mean of each step", form: (v) => v.toFixed(1),
    values: (mechanism) => closed(series(mechanism, "waiting", 10)) },
  { id: "price", title: "Price paid", unit: "credits a core-hour, of the jobs that ran", form: (v) => v.toFixed(4), markets: true,
    values: (mechanism) => {
      const busy = series(mechanism, "busy", 10), paid = series(mechanism, "paid", 1000);
      return closed(Array.from(paid, (sum, i) => busy[i] > 0 ? sum / (busy[i] * line.step / 3600) : null));
    } },
];

/** At most 48 rows: neighbouring steps are put together. */
function chartTable(kind, shown, columns) {
  const each = Math.ceil(line.steps / 48), rows = [];
  for (let from = 0; from < line.steps; from += each) {
    const cells = columns.map((values) => {
      const known = values.slice(from, Math.min(from + each, line.steps)).filter((value) => value !== null);
      return known.length ? kind.form(known.reduce((a, b) => a + b, 0) / known.length) : "–";
    });
    rows.push([when(times[from]), ...cells]);
  }
  return table(`${kind.title} (${kind.unit})`, ["From", ...shown.map((one) => one.mechanism)], rows);
}

function drawChart(kind) {
  const shown = shownMechanisms().filter((one) => !kind.markets || one.market);
  if (shown.length === 0) return null;
  const columns = shown.map(kind.values);
  const box = chartBox(`${kind.title}, chart; the table below has its numbers`);
  const figure = make("figure", { id: `chart-${kind.id}` }, make("figcaption", {}, kind.title, " ", make("small", {}, kind.unit)), box);
  const lines = shown.map((one) => ({ label: one.mechanism, stroke: colours[one.index % colours.length], width: 1.75,
    dash: dashes[one.index % dashes.length], paths: uPlot.paths.stepped({ align: 1 }), points: { show: false },
    value: (_, value) => value === null || value === undefined ? "–" : kind.form(value) }));
  legendDashes = shown.map((one) => ["solid", "dashed", "dotted"][one.index % dashes.length] || "dashed");
  const values = [times, ...columns];
  if (kind.limit && !isFiltered()) {
    lines.push({ label: "all", stroke: "#8b949e", width: 1, points: { show: false }, value: () => count(kind.limit) });
    values.push(times.map(() => kind.limit));
  }
  const chart = new uPlot({ ...commonOptions(190), axes: [timeAxis(), valueAxis()], scales: { x: { time: false }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] } },
    series: [{ label: "time", value: (_, time) => time === null ? "–" : when(time) }, ...lines] }, values, box);
  charts.push(chart);
  const details = make("details", {}, make("summary", {}, `${kind.title} as a table`));
  const wrap = make("div", { class: "scroll" });
  details.append(wrap);
  details.addEventListener("toggle", () => { if (details.open && !wrap.firstChild) wrap.append(chartTable(kind, shown, columns)); });
  figure.append(details);
  return figure;
}

function drawCharts() {
  for (const chart of charts.splice(0)) chart.destroy();
  const figures = kinds.map(drawChart).filter((figure) => figure !== null);
  const noPrice = data.mechanisms.some((one) => one.market) ? [] : [make("p", { class: "lead" }, "None of these mechanisms has prices.")];
  byId("charts").replaceChildren(...figures, ...noPrice);
}

// SPDX-License-Identifier: GPL-2.0-or-later
// What all parts of the page share: the data, the filters, words for times and amounts.

const data = JSON.parse(document.getElementById("data").textContent);
const line = data.timeline;
const lineEnd = line.begin + line.step * line.steps;
const width = data.partitions.names.length;

// Okabe and Ito's colours, which colour-blind readers tell apart; dashes and hatchings say the same again.
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#3b3b3b"];
const dashes = [[], [9, 4], [2, 3], [11, 3, 2, 3], [5, 5]];

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; text is only ever text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const state = { account: -1, partition: -1, mechanisms: new Set(data.mechanisms.keys()) };
const accountOf = (group) => Math.floor(group / width);
const matches = (group) => (state.account < 0 || accountOf(group) === state.account) &&
  (state.partition < 0 || group % width === state.partition);
const isFiltered = () => state.account >= 0 || state.partition >= 0;
const shownMechanisms = () => data.mechanisms.map((one, index) => ({ ...one, index })).filter((one) => state.mechanisms.has(one.index));

function nameOf(list, index) {
  const isRest = list.others > 0 && index === list.names.length - 1;
  return isRest ? `others (${list.others})` : list.names[index] || "(none)";
}

/** Sums of the groups that the filters leave. */
function totals(mechanism, wanted = matches) {
  const sum = { jobs: 0, done: 0, refused: 0, dropped: 0, late: 0, wait: 0, core_s: 0, asked: 0, served: 0, charged: 0,
    waits: data.wait_classes.map(() => 0).concat(0) };
  for (const group of mechanism.groups) {
    if (!wanted(group.group)) continue;
    for (const key of Object.keys(sum)) {
      if (key === "waits") group.waits.forEach((count, i) => { sum.waits[i] += count; });
      else sum[key] += group[key];
    }
  }
  return sum;
}

/** One number for each step: `key` of the groups that the filters leave. */
function series(mechanism, key, unit) {
  const sums = new Float64Array(line.steps);
  for (const group of mechanism.groups) {
    if (!matches(group.group) || group[key].length === 0) continue;
    const first = group[key][0];
    for (let i = 1; i < group[key].length; ++i) sums[first + i - 1] += group[key][i] / unit;
  }
  return sums;
}

const pad = (number) => String(number).padStart(2, "0");

/** "2026-03-01 10:00"; of logs without dates "day 3, 10:00". */
function when(time) {
  const date = new Date(time * 1000);
  if (data.dated) return date.toISOString().slice(0, 16).replace("T", " ");
  const day = Math.floor(time / 86400), left = time - day * 86400;
  return `day ${day + 1}, ${pad(Math.floor(left / 3600))}:${pad(Math.floor(left / 60) % 60)}`;
}

/** Slurm's own way: days-hours:minutes:seconds. */
function span(seconds) {
  const whole = Math.round(seconds), days = Math.floor(whole / 86400);
  const clock = `${pad(Math.floor(whole / 3600) % 24)}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
  return days > 0 ? `${days}-${clock}` : clock;
}

const count = (number) => Math.round(number).toLocaleString("en-US");
const credits = (number) => number.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const percent = (part) => Number.isFinite(part) ? `${(part * 100).toFixed(1)} %` : "–";
const ratio = (above, below) => below > 0 ? above / below : NaN;
const orDash = (number, form) => Number.isFinite(number) ? form(number) : "–";

/** A table: rows of cells, each a text or {text, part} with a bar behind it. The first of a row is its heading. */
function table(caption, headings, rows) {
  const cell = (content, place) => {
    if (place === 0) return content instanceof Node ? content : make("th", { scope: "row", title: content }, content);
    if (typeof content !== "object") return make("td", {}, content);
    const td = make("td", { class: content.wide ? "bar wide" : "bar" }, content.text);
    td.style.setProperty("--part", `${Math.max(0, Math.min(100, content.part * 100 || 0))}%`);
    return td;
  };
  return make("table", {}, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...headings.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
}

function lineSwatch(index) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg"), stroke = document.createElementNS(space, "line");
  for (const [name, value] of Object.entries({ width: 28, height: 8, class: "swatch", "aria-hidden": "true" })) svg.setAttribute(name, value);
  const look = { x1: 0, y1: 4, x2: 28, y2: 4, stroke: colours[index % colours.length], "stroke-width": 3,
    "stroke-dasharray": dashes[index % dashes.length].join(" ") };
  for (const [name, value] of Object.entries(look)) stroke.setAttribute(name, value);
  svg.append(stroke);
  return svg;
}

function mechanismHeading(mechanism) {
  return make("th", { scope: "row" }, lineSwatch(mechanism.index), mechanism.mechanism + (mechanism.whole ? "" : " (interrupted)"));
}

function fillHeader() {
  const computer = data.log.computer ? `, ${data.log.computer}` : "";
  byId("about").textContent = `The jobs of ${data.log.name}${computer}, once more under ` +
    `${data.mechanisms.map((one) => one.mechanism).join(", ")}.`;
  const first = data.mechanisms[0];
  const facts = [[count(first.jobs), "jobs"], [count(data.machine.cores), `cores on ${count(data.machine.nodes)} nodes`],
    [when(first.first_submit), "first submission"], [span(lineEnd - line.begin), "days-hours:minutes:seconds"],
    [credits(first.asked_value), "credits that all jobs are worth"]];
  byId("facts").replaceChildren(...facts.map(([figure, what]) => make("li", {}, make("b", {}, figure), make("span", {}, what))));
  const complaints = data.mechanisms.flatMap((one) => one.complaints.map((text) => `${one.mechanism}: ${text}`));
  const notes = data.notes.concat(complaints);
  byId("notes").hidden = notes.length === 0;
  byId("notes").querySelector("summary").textContent = notes.length === 1 ? "One note on the input" : `${notes.length} notes on the input`;
  byId("notes").querySelector("ul").replaceChildren(...notes.map((text) => make("li", {}, text)));
  byId("made").textContent = `smarket simulate, seed ${data.seed}. Times are the log's own.`;
}

function fillFilters(changed) {
  const options = (list, all) => [make("option", { value: -1 }, all),
    ...list.names.map((_, index) => make("option", { value: index }, nameOf(list, index)))];
  byId("account").replaceChildren(...options(data.accounts, "all"));
  byId("partition").replaceChildren(...options(data.partitions, "all"));
  for (const kind of ["account", "partition"]) {
    byId(kind).addEventListener("change", (event) => { state[kind] = Number(event.target.value); changed(); });
  }
  for (const [index, mechanism] of data.mechanisms.entries()) {
    const box = make("input", { type: "checkbox", checked: "" });
    box.addEventListener("change", () => {
      if (box.checked) state.mechanisms.add(index);
      else if (state.mechanisms.size > 1) state.mechanisms.delete(index);
      else box.checked = true; // one at least is shown
      changed();
    });
    byId("mechanisms").append(make("label", {}, box, " ", lineSwatch(index), mechanism.mechanism));
  }
  byId("filters").addEventListener("reset", () => {
    Object.assign(state, { account: -1, partition: -1, mechanisms: new Set(data.mechanisms.keys()) });
    setTimeout(changed, 0);
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
}

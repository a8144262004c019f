// SPDX-License-Identifier: GPL-2.0-or-later
// The plan as a Gantt chart: each core is a row, each job a bar for every stretch of neighbouring cores that it had.

const kMostTableRows = 100;
const plan = { mechanism: 0, chart: null, selected: -1, bars: [] };
const hatchings = ["", "/", "\\", "."];
const patterns = new Map();

/** The colour of an account, hatched from the eighth account on. */
function fillOf(context, account) {
  const colour = colours[account % colours.length], hatching = hatchings[Math.floor(account / colours.length) % hatchings.length];
  const key = colour + hatching;
  if (!patterns.has(key)) {
    const tile = make("canvas", { width: 8, height: 8 }), pen = tile.getContext("2d");
    pen.globalAlpha = 0.62;
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 8, 8);
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = "#fff";
    pen.lineWidth = 1.5;
    pen.beginPath();
    if (hatching === "/") for (const x of [-8, 0, 8]) { pen.moveTo(x, 8); pen.lineTo(x + 8, 0); }
    if (hatching === "\\") for (const x of [-8, 0, 8]) { pen.moveTo(x, 0); pen.lineTo(x + 8, 8); }
    pen.stroke();
    if (hatching === ".") pen.fillRect(2, 2, 3, 3);
    patterns.set(key, tile);
  }
  return context.createPattern(patterns.get(key), "repeat");
}

const job = (index) => {
  const [name, group, cores, submit, run, limit, worth, deadline, user] = data.plan.jobs[index];
  const [letter, start, end, charged, rows] = data.mechanisms[plan.mechanism].runs[index];
  return { index, name, group, cores, submit, run, limit, worth, deadline, user, letter, start, end, charged, rows };
};

/** Jobs of the plan's mechanism that the filters leave and that run in view, by start. */
function jobsInView() {
  const jobs = [];
  for (let index = 0; index < data.plan.jobs.length; ++index) {
    const one = job(index);
    if (one.rows.length > 0 && matches(one.group) && one.end >= view.min && one.start <= view.max) jobs.push(one);
  }
  return jobs.sort((a, b) => a.start - b.start || a.index - b.index);
}

const stateWords = { C: "completed", R: "still ran", W: "still waited", F: "refused", D: "dropped at its deadline", N: "not submitted" };

function jobText(one) {
  const account = nameOf(data.accounts, accountOf(one.group)), partition = nameOf(data.partitions, one.group % width);
  const charge = data.mechanisms[plan.mechanism].market ? `, charged ${credits(one.charged)} of ${credits(one.worth)}` : `, worth ${credits(one.worth)}`;
  const deadline = one.deadline ? `, deadline ${when(one.deadline)}${one.end > one.deadline ? " (late)" : ""}` : "";
  return `Job ${one.name} of ${one.user} (account ${account}, partition ${partition}): ${one.cores} cores, submitted ${when(one.submit)}, ran ${when(one.start)} ` +
    `to ${when(one.end)} (${span(one.end - one.start)}), ${span(one.start - one.submit)} after its submission, ${stateWords[one.letter]}${charge}${deadline}.`;
}

function drawBars(chart) {
  const context = chart.ctx, { left, top, width: across, height: down } = chart.bbox;
  context.save();
  context.beginPath();
  context.rect(left, top, across, down);
  context.clip();
  plan.bars = [];
  const fills = new Map();
  const label = 11 * devicePixelRatio;
  context.font = `${label}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const one of jobsInView()) {
    const account = accountOf(one.group);
    if (!fills.has(account)) fills.set(account, fillOf(context, account));
    const x = chart.valToPos(one.start, "x", true), end = Math.max(x + 1, chart.valToPos(one.end, "x", true));
    for (let i = 0; i < one.rows.length; i += 2) {
      const y = chart.valToPos(one.rows[i], "y", true), bottom = Math.max(y + 1, chart.valToPos(one.rows[i] + one.rows[i + 1], "y", true));
      context.fillStyle = fills.get(account);
      context.fillRect(x, y, end - x, bottom - y);
      if (bottom - y > 4 && end - x > 4) {
        context.strokeStyle = "#fff";
        context.lineWidth = 1;
        context.strokeRect(x + 0.5, y + 0.5, end - x - 1, bottom - y - 1);
      }
      drawLabel(context, one, [Math.max(x, left), y, Math.min(end, left + across), bottom], label);
      if (one.index === plan.selected) {
        context.strokeStyle = "#000";
        context.lineWidth = 2 * devicePixelRatio;
        context.strokeRect(x, y, end - x, bottom - y);
      }
      plan.bars.push([x, y, end, bottom, one.index]);
    }
  }
  context.restore();
}

function drawLabel(context, one, [x, y, end, bottom], size) {
  if (bottom - y < size + 3) return;
  const name = nameOf(data.accounts, accountOf(one.group)), text = `${name} ${one.name}`;
  const fitting = [text, name].find((words) => context.measureText(words).width < end - x - 8);
  if (!fitting) return;
  context.fillStyle = "#fff";
  context.fillRect(x + 3, (y + bottom) / 2 - size / 2 - 2, context.measureText(fitting).width + 4, size + 4);
  context.fillStyle = "#1c2127";
  context.fillText(fitting, x + 5, (y + bottom) / 2);
}

function select(index) {
  plan.selected = index;
  byId("plan-job").textContent = jobText(job(index));
  plan.chart.redraw(false);
}

/** The next job in view by start, or the one before. */
function step(by) {
  const jobs = jobsInView();
  if (jobs.length === 0) return;
  const now = jobs.findIndex((one) => one.index === plan.selected);
  const next = now < 0 ? (by > 0 ? 0 : jobs.length - 1) : Math.max(0, Math.min(jobs.length - 1, now + by));
  select(jobs[next].index);
}

function pointAt(event) {
  const box = plan.chart.over.getBoundingClientRect();
  const x = (event.clientX - box.left) * devicePixelRatio + plan.chart.bbox.left, y = (event.clientY - box.top) * devicePixelRatio + plan.chart.bbox.top;
  const bar = plan.bars.find(([left, top, right, bottom]) => x >= left && x <= right && y >= top && y <= bottom);
  if (bar && bar[4] !== plan.selected) select(bar[4]);
}

/** The node that a row belongs to, where the page knows their names. */
const firstRows = [];
let rowsSoFar = 0;
for (const [name, cores] of data.machine.names) { firstRows.push([rowsSoFar, name]); rowsSoFar += cores; }
function nodeAt(row) {
  let found = "";
  for (const [first, name] of firstRows) { if (first > row) break; found = name; }
  return found || `core ${count(row)}`;
}

function drawPlan() {
  const box = chartBox("Plan, a Gantt chart; up and down go from job to job, the table below has the jobs in view");
  box.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  });
  const options = commonOptions(Math.max(220, Math.min(560, 120 + data.machine.cores * 14)));
  options.cursor.drag = { x: true, y: true, uni: 40, setScale: true };
  options.cursor.points = { show: false };
  options.hooks.draw = [drawBars];
  const rows = data.machine.cores;
  plan.chart = new uPlot({ ...options, legend: { show: false }, series: [{}, { show: true, stroke: "transparent", points: { show: false } }],
    scales: { x: { time: false }, y: { dir: -1, range: (chart, min, max) => (min === null || max - min >= rows - 1 || max <= 0) ? [0, rows] : [Math.max(0, min), Math.min(rows, max)] } },
    axes: [timeAxis(), { ...timeAxis(), incrs: undefined, size: 64, space: 26, grid: { show: false }, values: (_, splits) => splits.map((row) => row < rows && row >= 0 && Number.isInteger(row) ? nodeAt(row) : "") }] },
  [[line.begin, lineEnd], [0, rows]], box);
  charts.push(plan.chart);
  plan.chart.over.addEventListener("mousemove", pointAt);
  plan.chart.over.addEventListener("dblclick", () => { plan.chart.setScale("y", { min: 0, max: rows }); });
  byId("plan-chart").replaceChildren(box);
  const accounts = [...new Set(data.plan.jobs.map((each) => accountOf(each[1])))].filter((each) => state.account < 0 || each === state.account).sort((a, b) => a - b);
  byId("plan-legend").replaceChildren(...accounts.slice(0, 21).map((account) => {
    const swatch = make("canvas", { width: 22, height: 12, "aria-hidden": "true" }), pen = swatch.getContext("2d");
    pen.fillStyle = fillOf(pen, account);
    pen.fillRect(0, 0, 22, 12);
    return make("li", {}, swatch, nameOf(data.accounts, account));
  }), ...(accounts.length > 21 ? [make("li", {}, `and ${accounts.length - 21} more, told by their labels`)] : []));
}

function fillPlanTable() {
  const jobs = jobsInView();
  byId("plan-details").querySelector("summary").textContent = jobs.length > kMostTableRows
    ? `The first ${kMostTableRows} of ${count(jobs.length)} jobs in view as a table` : `The ${count(jobs.length)} jobs in view as a table`;
  if (!byId("plan-details").open) return;
  const rows = jobs.slice(0, kMostTableRows).map((one) => [one.name, one.user, nameOf(data.accounts, accountOf(one.group)), count(one.cores), nodeAt(one.rows[0]),
    when(one.submit), when(one.start), when(one.end), span(one.start - one.submit), credits(one.worth), credits(one.charged)]);
  byId("plan-table").replaceChildren(table("Jobs in view, by start",
    ["Job", "User", "Account", "Cores", "First node", "Submitted", "Start", "End", "From submission to start", "Worth", "Charged"], rows));
}

function startPlan() {
  const shown = data.plan.jobs.length;
  byId("plan-lead").textContent = "Who ran where and when. " + (shown < data.plan.of
    ? `Of ${count(data.plan.of)} jobs the ${count(shown)} with the most core-hours are shown; they hold ${percent(data.plan.share)} of all core-hours. White is free, or taken by smaller jobs.`
    : `All ${count(shown)} jobs are here; white is free.`);
  byId("plan-mechanism").replaceChildren(...data.mechanisms.map((one, index) => make("option", { value: index }, one.mechanism)));
  byId("plan-mechanism").addEventListener("change", (event) => { plan.mechanism = Number(event.target.value); plan.selected = -1; plan.chart.redraw(false); fillPlanTable(); });
  byId("zoom-in").addEventListener("click", () => zoom(0.5));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("zoom-all").addEventListener("click", () => { look(line.begin, lineEnd); plan.chart.setScale("y", { min: 0, max: data.machine.cores }); });
  byId("plan-details").addEventListener("toggle", fillPlanTable);
  watchers.push(fillPlanTable);
}

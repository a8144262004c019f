// SPDX-License-Identifier: GPL-2.0-or-later
// Welfare, waits and bills as tables with bars, and what draws the page.

function drawServed() {
  const shown = shownMechanisms();
  const rows = shown.map((one) => {
    const sum = totals(one), all = !isFiltered();
    return [mechanismHeading(one), { text: `${credits(sum.served)} · ${percent(ratio(sum.served, sum.asked))}`, part: ratio(sum.served, sum.asked), wide: true },
      count(sum.jobs), count(sum.done), count(sum.refused), count(sum.late + sum.dropped), span(ratio(sum.wait, sum.done) || 0),
      all ? span(one.wait_s.median) : "–", all ? span(one.wait_s.p95) : "–", all ? one.bounded_slowdown.mean.toFixed(2) : "–",
      all ? percent(one.utilization) : "–", all ? one.fairness.toFixed(3) : "–", one.market ? credits(sum.charged) : "–"];
  });
  byId("served-table").replaceChildren(table("In credits. Late: ended after its deadline, or dropped at it. Fairness: Jain's index over the users' mean slowdowns.",
    ["Mechanism", "Value served, of asked", "Jobs", "Done", "Refused", "Late", "Mean wait", "Median", "95 %", "Slowdown", "Used", "Fairness", "Revenue"], rows));
}

function drawWaits() {
  const shown = shownMechanisms();
  const bounds = ["1 minute", "10 minutes", "1 hour", "6 hours", "1 day", "7 days"];
  const headings = ["Mechanism", ...bounds.map((bound) => `up to ${bound}`), "longer"];
  const rows = shown.map((one) => {
    const sum = totals(one);
    return [mechanismHeading(one), ...sum.waits.map((jobs) => ({ text: percent(ratio(jobs, sum.done)), part: ratio(jobs, sum.done) }))];
  });
  byId("waits-table").replaceChildren(table("Share of the jobs that ended, by how long they waited", headings, rows));
  drawByAccount("waited-table", "Mean wait of each account's jobs that ended", shown, (one, sum) => sum.done > 0 ? sum.wait / sum.done : NaN, span);
}

/** One row for each account that the filters leave, one column with bars for each mechanism. */
function drawByAccount(id, caption, shown, figure, form) {
  const cells = data.accounts.names.map((_, account) => shown.map((one) =>
    figure(one, totals(one, (group) => accountOf(group) === account && matches(group)))));
  const most = Math.max(1e-9, ...cells.flat().filter(Number.isFinite));
  const rows = cells.map((figures, account) => ({ figures, account })).filter(({ account }) => state.account < 0 || account === state.account)
    .map(({ figures, account }) => [nameOf(data.accounts, account), count(totals(shown[0], (group) => accountOf(group) === account && matches(group)).jobs),
      ...figures.map((value) => ({ text: orDash(value, form), part: value / most }))]);
  byId(id).replaceChildren(table(caption, ["Account", "Jobs", ...shown.map((one) => one.mechanism)], rows));
}

function drawBills() {
  const shown = shownMechanisms().filter((one) => one.market);
  byId("bills-lead").textContent = shown.length === 0 ? "None of the mechanisms shown is a market, so nobody pays."
    : "What each account would have paid, in credits, and for a core-hour.";
  if (shown.length === 0) return byId("bills-table").replaceChildren();
  const rows = [], most = Math.max(1e-9, ...shown.flatMap((one) => data.accounts.names.map((_, account) => totals(one, (group) => accountOf(group) === account && matches(group)).charged)));
  for (const account of data.accounts.names.keys()) {
    if (state.account >= 0 && account !== state.account) continue;
    const row = [nameOf(data.accounts, account)];
    for (const one of shown) {
      const sum = totals(one, (group) => accountOf(group) === account && matches(group));
      row.push({ text: credits(sum.charged), part: sum.charged / most }, orDash(ratio(sum.charged, sum.core_s / 3600), (value) => value.toFixed(4)), credits(sum.served));
    }
    rows.push(row);
  }
  return byId("bills-table").replaceChildren(table("Bills", ["Account", ...shown.flatMap((one) => [`${one.mechanism}: charged`, "a core-hour", "value served"])], rows));
}

/** Value that a market refused or that was dropped, by the hour of the day of its submission. */
function drawRefusedHours() {
  const shown = shownMechanisms().filter((one) => one.refused_value_by_hour && one.refused_value_by_hour.some((value) => value > 0));
  const most = Math.max(1e-9, ...shown.flatMap((one) => one.refused_value_by_hour));
  byId("refused-hours").replaceChildren(...shown.map((one) => {
    const bars = make("div", { class: "hours", role: "img", "aria-label": `Value refused by ${one.mechanism}, hours 0 to 23: ${one.refused_value_by_hour.map((value) => value.toFixed(0)).join(", ")} credits` });
    for (const [hour, value] of one.refused_value_by_hour.entries()) {
      const bar = make("i", { title: `${hour}:00: ${credits(value)} credits` });
      bar.style.height = `${value / most * 100}%`;
      bars.append(bar);
    }
    return make("div", {}, make("h3", {}, lineSwatch(one.index), `${one.mechanism}: value refused by hour of the day`), bars,
      make("div", { class: "hour-names", "aria-hidden": "true" }, ...["0:00", "6:00", "12:00", "18:00", "24:00"].map((text) => make("span", {}, text))));
  }));
}

function draw() {
  byId("filtered").textContent = isFiltered() ? "Figures of the jobs that the filters leave." : "";
  drawServed();
  drawRefusedHours();
  drawCharts();
  drawPlan();
  look(view.min, view.max);
  drawWaits();
  drawBills();
}

/** On paper all tables are open and the charts as wide as the sheet. */
function preparePrint() {
  const closedOnes = [];
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) { closedOnes.push(details); details.open = true; }
    for (const chart of charts) chart.setSize({ width: 660, height: chart.height });
  });
  addEventListener("afterprint", () => {
    for (const details of closedOnes.splice(0)) details.open = false;
    for (const chart of charts) chart.setSize({ width: chartWidth(), height: chart.height });
  });
}

function start() {
  fillHeader();
  fillFilters(draw);
  startPlan();
  draw();
  addEventListener("resize", () => { for (const chart of charts) chart.setSize({ width: chartWidth(), height: chart.height }); });
  preparePrint();
}

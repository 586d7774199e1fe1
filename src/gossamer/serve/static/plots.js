// Draws the history as plots above each other: one time axis, one cursor. Values become text and coordinates, never markup.
"use strict";

const REFRESH_MS = 10000; // as often as the crawl writes its history
const HEIGHT = 90, LEFT = 56, RIGHT = 8, TOP = 8, BOTTOM = 4;
const SVG = "http://www.w3.org/2000/svg";
const place = document.getElementById("plots");
const choice = document.getElementById("span");
let width = 600; // of a plot, in pixels
let shown = null; // the answer that is drawn
let cursor = null; // the step under the cursor; null: the last one

function svg(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function html(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function scaled(value, units, base) {
  let size = Math.abs(value), unit = 0;
  while (size >= base && unit < units.length - 1) { size /= base; value /= base; unit += 1; }
  return `${value.toLocaleString("en", { maximumSignificantDigits: 3 })}${units[unit]}`;
}

function written(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "bytes") return scaled(value, [" B", " kB", " MB", " GB", " TB"], 1000);
  if (unit === "seconds") return value < 1 ? `${Math.round(value * 1000).toLocaleString("en")} ms` : scaled(value, [" s"], Infinity);
  return value < 1000 ? scaled(value, [""], Infinity) : Math.round(value).toLocaleString("en");
}

function time(step) {
  return `${new Date((shown.began_at + step * shown.step_s) * 1000).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

const x = (step) => LEFT + ((step + 0.5) / shown.steps) * (width - LEFT - RIGHT);

function path(values, most) {
  const y = (value) => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  let drawn = "", pen = "M";
  values.forEach((value, step) => {
    if (value === null) { pen = "M"; return; }
    const point = `${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
    drawn += `${pen}${point}`;
    if (pen === "M") drawn += `h0.01`; // so that a single point is seen
    pen = "L";
  });
  return drawn;
}

function figure(plot) {
  const made = html("figure", "plot");
  const caption = html("figcaption", "");
  caption.append(html("h3", "", plot.title));
  const legend = html("p", "legend");
  plot.lines.forEach((line, number) => {
    const key = html("span", `key k${number}`, line.name);
    const value = html("b", "", "");
    value.dataset.values = number;
    legend.append(key, value);
  });
  caption.append(legend);
  const told = plot.lines.flatMap((line) => line.values.filter((value) => value !== null));
  const most = Math.max(...told, 0) || 1;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" });
  for (const share of [0, 0.5, 1]) {
    const y = TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
    drawing.append(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
    if (share) drawing.append(svg("text", { class: "tick end", x: LEFT - 5, y: y + 3 }, written(most * share, plot.unit)));
  }
  plot.lines.forEach((line, number) => drawing.append(svg("path", { class: `curve k${number}`, d: path(line.values, most) })));
  drawing.append(svg("line", { class: "cursor", y1: 0, y2: HEIGHT, visibility: "hidden" }));
  made.append(caption, drawing);
  return made;
}

function lastStep() {
  const told = shown.plots.flatMap((plot) => plot.lines.map((line) => line.values.findLastIndex((value) => value !== null)));
  return Math.max(...told, 0);
}

// Shows the values of one moment in all plots at once.
function point() {
  const step = Math.min(cursor ?? lastStep(), shown.steps - 1);
  document.getElementById("moment").textContent = cursor === null ? `latest: ${time(step)}` : time(step);
  [...place.querySelectorAll("figure")].forEach((made, number) => {
    const plot = shown.plots[number];
    for (const value of made.querySelectorAll("[data-values]")) {
      value.textContent = written(plot.lines[value.dataset.values].values[step], plot.unit);
    }
    const line = made.querySelector(".cursor");
    line.setAttribute("visibility", cursor === null ? "hidden" : "visible");
    line.setAttribute("x1", x(step));
    line.setAttribute("x2", x(step));
  });
}

function axis() {
  const made = html("div", "axis");
  made.append(...[0, Math.floor(shown.steps / 2), shown.steps].map((step) => html("span", "", time(step).slice(5, 16))));
  return made;
}

function draw() {
  document.getElementById("no-plots").hidden = shown.plots.length > 0;
  width = Math.max(200, place.clientWidth);
  place.replaceChildren(...shown.plots.map(figure));
  if (!shown.plots.length) return;
  place.append(axis());
  point();
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(`/history?span=${encodeURIComponent(choice.value)}`);
    if (!answer.ok) return; // the stream says what is wrong
    shown = await answer.json();
    draw();
  } catch { /* the server is gone: the stream says so */ }
}

function stepAt(event) {
  const box = event.target.closest("svg")?.getBoundingClientRect();
  if (!box || !shown) return null;
  const inside = (event.clientX - box.left - LEFT) / (width - LEFT - RIGHT);
  return Math.max(0, Math.min(shown.steps - 1, Math.floor(inside * shown.steps)));
}

place.addEventListener("pointermove", (event) => {
  const step = stepAt(event);
  if (step !== null) { cursor = step; point(); }
});
place.addEventListener("pointerleave", () => { cursor = null; if (shown?.plots.length) point(); });
place.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
  if (!shown?.plots.length || (by === undefined && event.key !== "Escape")) return;
  event.preventDefault();
  cursor = by === undefined ? null : Math.max(0, Math.min(shown.steps - 1, (cursor ?? lastStep()) + by));
  point();
});
choice.addEventListener("change", () => { cursor = null; refresh(); });
document.addEventListener("visibilitychange", refresh);
window.addEventListener("resize", () => { if (shown) draw(); });
setInterval(refresh, REFRESH_MS);
refresh();

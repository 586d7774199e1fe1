// Puts what the server sends into the page, as text only: nothing here makes markup out of it.
"use strict";

function fill(element, children) {
  element.replaceChildren(...children);
}

function make(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

function show(values) {
  for (const [key, text] of Object.entries(values.texts ?? {})) {
    for (const element of document.querySelectorAll(`[data-text="${key}"]`)) {
      if (element.textContent !== text) element.textContent = text;
    }
  }
  for (const [key, lines] of Object.entries(values.lists ?? {})) {
    const list = document.querySelector(`[data-list="${key}"]`);
    const shown = [...list.children].map((line) => line.textContent);
    // A screen reader announces this list, so it is touched only if it has changed.
    if (shown.join("\n") !== lines.join("\n")) fill(list, lines.map((line) => make("li", line)));
  }
  for (const [key, rows] of Object.entries(values.tables ?? {})) {
    const body = document.querySelector(`[data-table="${key}"]`);
    fill(body, rows.map((cells) => {
      const row = document.createElement("tr");
      row.append(...cells.map((cell) => make("td", cell)));
      return row;
    }));
  }
}

let stream = null;

function open() {
  if (stream) return;
  stream = new EventSource("/events");
  stream.onmessage = (event) => {
    document.body.classList.remove("stale");
    show(JSON.parse(event.data));
  };
  stream.onerror = () => {
    document.body.classList.add("stale");
    show({ texts: { as_of: "no connection to the dashboard's server" } });
    if (stream.readyState === EventSource.CLOSED) {
      stream = null;
      setTimeout(open, 5000); // refused, not cut: the browser does not try again by itself
    }
  };
}

// A tab that is not seen costs the crawl nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else {
    open();
  }
});
if (!document.hidden) open();

// The map editor: a picture of a floor, walls and places drawn on it; the server says at once where the robot can go.

import { Viewport, byId, element, say, shape, show } from "./dom.js";
import { offerLanguages, t, teach } from "./language.js";
import { Link } from "./link.js";

teach({
  "To the tools": "Zu den Werkzeugen", "Map editor": "Karten-Editor", "Redo": "Wiederholen", "Another floor …": "Anderer Boden …", "The floor": "Der Boden", "the floor from above: draw here": "der Boden von oben: hier zeichnen",
  "Drop a picture of a floor here: PNG or PGM, with its YAML if there is one.": "Hier das Bild eines Stockwerks ablegen: PNG oder PGM, mit seiner YAML-Datei, wenn es eine gibt.", "Open a picture …": "Bild öffnen …", "or begin with an empty floor and draw walls:": "oder mit einem leeren Boden beginnen und Wände zeichnen:",
  "width": "Breite", "height": "Höhe", "Empty floor": "Leerer Boden", "or open a domain again:": "oder eine Domäne wieder öffnen:", "Open": "Öffnen", "the robot can go there": "dorthin kommt der Roboter", "cut off: it fits, but no way leads there": "abgeschnitten: er passt hin, aber kein Weg führt hin",
  "1. Draw": "1. Zeichnen", "2. Name the places": "2. Orte benennen", "Nothing is drawn yet.": "Noch ist nichts gezeichnet.", "3. Sizes": "3. Maße", "The picture is": "Das Bild ist", "m wide": "m breit", "The robot's radius": "Radius des Roboters", "Its speed": "Sein Tempo", "A cell of the plan": "Zelle des Plans", "Dark is free": "Dunkel ist frei",
  "4. Save and start": "4. Speichern und starten", "name": "Name", "Save": "Speichern", "Start the robot on it": "Roboter darauf starten", "End the robot system": "Roboter beenden",
  "Move": "Bewegen", "Rectangle": "Rechteck", "Polygon": "Vieleck", "Circle": "Kreis", "Room": "Raum", "Wall": "Wand", "Door": "Tür",
  "Drag a place to move it, its corners to change it; drag the floor to look elsewhere.": "Einen Ort ziehen, um ihn zu bewegen, seine Ecken, um ihn zu ändern; den Boden ziehen, um anderswo hinzusehen.",
  "Drag over the floor: a place from corner to corner.": "Über den Boden ziehen: ein Ort von Ecke zu Ecke.", "Click the corners of a place; click the first one again, or press Enter, to close it.": "Die Ecken eines Ortes anklicken; die erste noch einmal, oder Enter, schließt ihn.",
  "Drag from the middle of a place outwards.": "Aus der Mitte eines Ortes nach außen ziehen.", "Drag a room from corner to corner: walls around it, and a place of its size. Then cut a door.": "Einen Raum von Ecke zu Ecke ziehen: Wände darum und ein Ort von seiner Größe. Dann eine Tür schneiden.", "Drag a wall from end to end.": "Eine Wand von Ende zu Ende ziehen.", "Click on a wall: an opening of one metre; drag for a wider one.": "Auf eine Wand klicken: eine Öffnung von einem Meter; ziehen für eine breitere.",
  "avoid": "meiden", "robots should keep out of it: missions can say never": "Roboter sollen draußen bleiben: Missionen können „nie“ sagen", "remove": "entfernen", "{0} cannot be reached: {1}": "{0} ist nicht erreichbar: {1}", "{0} cells; {1} cut off": "{0} Zellen; {1} abgeschnitten", "{0} cells, all of them connected": "{0} Zellen, alle verbunden",
  "reading the picture …": "liest das Bild …", "saving …": "speichert …", "saved as {0}": "gespeichert als {0}", "Replace {0}?": "{0} ersetzen?", "starting the robot system …": "startet das Robotersystem …", "The robot runs on {0}:": "Der Roboter läuft auf {0}:", "open its page": "seine Seite öffnen", "ready": "bereit", "connection lost": "Verbindung verloren", "name of place {0}": "Name des Ortes {0}",
});

const COLOURS = ["#5c9bd6", "#e8a33d", "#4fae62", "#9a7bc4", "#3fb0b0", "#cf7c9b", "#a3a33a", "#94705a"];
const FORBIDDEN = "#cc4038", WALL = 0.12, DOOR = 1.0, LOOK_AFTER = 200, PART = 45000, DRAFT = "skm-map-draft";
const TOOLS = {
  room: ["Room", "Drag a room from corner to corner: walls around it, and a place of its size. Then cut a door."],
  door: ["Door", "Click on a wall: an opening of one metre; drag for a wider one."],
  wall: ["Wall", "Drag a wall from end to end."],
  rectangle: ["Rectangle", "Drag over the floor: a place from corner to corner."],
  polygon: ["Polygon", "Click the corners of a place; click the first one again, or press Enter, to close it."],
  circle: ["Circle", "Drag from the middle of a place outwards."],
  move: ["Move", "Drag a place to move it, its corners to change it; drag the floor to look elsewhere."],
};

/** The drawing: places with a shape each, walls and openings; all in metres from the lower left corner. */
let model = { places: [], edits: [], robot: { radius: 0.22, speed: 0.5, cell: 0.25 }, width: null, negate: false };
let sheet = null, blank = null, tool = "room", chosen = -1, looked = {}, past = [], future = [], drag = null, corners = [], saved = "", asked = 0, documents = {}, rebuilding = false;
/** Domains that were opened or saved here: they may be written again without a question. */
const ours = new Set();

const svg = byId("drawing");
const layers = Object.fromEntries(["picture", "edits", "floor", "places", "draft"].map((name) => [name, shape("g", { class: name })]));
svg.append(...Object.values(layers));
const link = new Link({ onMessage: take, onImage: () => {}, onChange: status });
const ask = (request) => link.ask(request);
// Drawing goes before moving the picture.
svg.addEventListener("pointerdown", (event) => pressed(event), true);
svg.addEventListener("dblclick", (event) => event.stopImmediatePropagation(), true);
const view = new Viewport(svg, byId("view-tools"));

function take(message) {
  Object.assign(documents, message.documents ?? {});
  if (message.documents?.editor) {
    const { domains, first } = documents.editor;
    show("before", domains.length > 0);
    byId("domains").replaceChildren(...domains.map((name) => element("option", { value: name }, name)));
    if (!sheet && first) opened(first);
    else if (!sheet) restore();
  }
  if (message.documents?.started) started(documents.started);
  status();
}

function status() {
  const live = link.connected && !link.silent;
  say("status", t(live ? "ready" : documents.editor ? "connection lost" : "connecting …")).dataset.kind = live ? "live" : "lost";
}

// Opening

async function openFiles(files) {
  const list = [...files], text = list.find((file) => /\.ya?ml$/i.test(file.name)), picture = list.find((file) => file !== text);
  if (!picture) { told(t("Drop a picture of a floor here: PNG or PGM, with its YAML if there is one."), true); return; }
  told(t("reading the picture …"));
  const packed = new Uint8Array(await new Response(picture.stream().pipeThrough(new CompressionStream("deflate"))).arrayBuffer());
  const begun = await ask({ type: "map_open", name: picture.name.slice(-200), yaml: text ? (await text.text()).slice(0, 20000) : "" });
  if (!begun.ok) { told(begun.message, true); return; }
  for (let at = 0; at < packed.length; at += PART) {
    let data = "";
    for (const byte of packed.subarray(at, at + PART)) data += String.fromCharCode(byte);
    const answer = await ask({ type: "map_part", upload: begun.upload, data: btoa(data), last: at + PART >= packed.length });
    if (!answer.ok && /too many requests/.test(answer.message)) { at -= PART; await new Promise((resolve) => setTimeout(resolve, 300)); continue; }
    if (!answer.ok) { told(answer.message, true); return; }
    if (answer.sheet) opened(answer);
  }
  told("");
}

async function begin(request) {
  const answer = await ask(request);
  if (!answer.ok) told(answer.message, true);
  else { opened(answer); told(""); }
  return answer.ok;
}

function opened({ sheet: given, places, robot }) {
  sheet = given;
  past = []; future = []; chosen = -1; corners = [];
  model = { places: (places ?? []).flatMap(({ name, constraint, shapes }) => shapes.map((each) => ({ name, constraint, shape: each }))), edits: [], robot: robot ?? model.robot, width: given.width, negate: Boolean(given.negate) };
  byId("name").value = given.name;
  byId("facts").open = !blank && !places && !given.described;
  if (places) ours.add(given.name);
  saved = "";
  pick(places?.length ? "move" : blank ? "room" : "rectangle");
  fit();
  changed(false);
}

/** Bring back what was drawn before the page was loaded again, where the floor was empty then. */
async function restore() {
  const kept = JSON.parse(localStorage.getItem(DRAFT) ?? "null");
  if (!kept?.blank || sheet) return;
  blank = kept.blank;
  if (await begin({ type: "map_blank", ...blank })) { model = kept.model; byId("name").value = kept.name; fit(); changed(false); }
}

/** The picture lies in metres; the width that a person gives decides how many. */
function fit() {
  const ratio = sheet.height / sheet.width, width = model.width ?? sheet.width;
  size = { width, height: width * ratio };
  layers.picture.replaceChildren(shape("image", { href: `maps/${sheet.map}.png`, width: size.width, height: size.height, preserveAspectRatio: "none" }));
  show(svg, true); show("begin", false); show("new", true);
  view.moved = false;
  const margin = 0.03 * Math.max(size.width, size.height);
  view.fit([-margin, -margin, size.width + 2 * margin, size.height + 2 * margin]);
  svg.tabIndex = 0;
}
let size = { width: 1, height: 1 };

// Changing

/** Keep what was, so that it can be brought back; then do it. */
function change(act) {
  past.push(JSON.stringify(model));
  if (past.length > 200) past.shift();
  future = [];
  act();
  changed();
}

function back(from, to) {
  if (!from.length) return;
  to.push(JSON.stringify(model));
  model = JSON.parse(from.pop());
  chosen = -1; corners = [];
  changed();
}

function changed(unsaved = true) {
  if (unsaved) saved = "";
  draw(); list(); fields(); buttons();
  keep();
  clearTimeout(changed.timer);
  changed.timer = setTimeout(look, LOOK_AFTER);
}

const keep = () => localStorage.setItem(DRAFT, JSON.stringify({ blank, model, name: byId("name").value }));

function request(type) {
  const places = model.places.map(({ name, constraint, shape: each }) => ({ name, constraint, shapes: [each] }));
  return { type, map: sheet.map, width: model.width, negate: model.negate, robot: model.robot, edits: model.edits, places };
}

async function look() {
  if (!sheet) return;
  const number = (asked += 1);
  const answer = await ask(request("map_look"));
  if (number !== asked) return;
  looked = answer.ok ? answer : { problem: answer.message };
  for (const [name, part] of [["floor", looked.floor], ["cut_off", looked.cut_off]]) paths[name].setAttribute("d", part ?? "");
  const facts = looked.problem ?? (looked.lost ? t("{0} cells; {1} cut off", looked.cells, looked.lost) : t("{0} cells, all of them connected", looked.cells));
  say("floor-facts", facts).classList.toggle("bad", Boolean(looked.problem));
  draw(); list(); buttons();
}
const paths = { floor: shape("path", { class: "floor" }), cut_off: shape("path", { class: "cut" }) };
layers.floor.append(paths.floor, paths.cut_off);

// Showing

const colour = (place, index) => (place.constraint ? FORBIDDEN : COLOURS[[...new Set(model.places.map(({ name }) => name))].indexOf(place.name) % COLOURS.length] ?? COLOURS[index % COLOURS.length]);
const up = (y) => size.height - y;

function outline(each, look) {
  if (each.kind === "circle") { const [x, y, r] = each.circle; return shape("circle", { cx: x, cy: up(y), r, ...look }); }
  if (each.kind === "rectangle") { const [x0, y0, x1, y1] = each.rectangle; return shape("rect", { x: Math.min(x0, x1), y: up(Math.max(y0, y1)), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0), ...look }); }
  return shape("polygon", { points: each.polygon.map(([x, y]) => `${x},${up(y)}`).join(" "), ...look });
}

function middle(each) {
  if (each.kind === "circle") return each.circle;
  const points = handles(each);
  return [points.reduce((sum, [x]) => sum + x, 0) / points.length, points.reduce((sum, [, y]) => sum + y, 0) / points.length];
}

/** Return the points that change a shape when they are dragged. */
function handles(each) {
  if (each.kind === "circle") { const [x, y, r] = each.circle; return [[x + r, y]]; }
  if (each.kind === "rectangle") { const [x0, y0, x1, y1] = each.rectangle; return [[x0, y0], [x1, y1]]; }
  return each.polygon;
}

function setHandle(each, index, [x, y]) {
  if (each.kind === "circle") each.circle[2] = Math.max(0.05, round(Math.hypot(x - each.circle[0], y - each.circle[1])));
  else if (each.kind === "rectangle") each.rectangle.splice(2 * index, 2, x, y);
  else each.polygon[index] = [x, y];
}

function moveBy(each, dx, dy) {
  if (each.kind === "circle") each.circle = [round(each.circle[0] + dx), round(each.circle[1] + dy), each.circle[2]];
  else if (each.kind === "rectangle") each.rectangle = each.rectangle.map((value, index) => round(value + (index % 2 ? dy : dx)));
  else each.polygon = each.polygon.map(([x, y]) => [round(x + dx), round(y + dy)]);
}

function draw() {
  if (!sheet) return;
  svg.classList.toggle("move", tool === "move");
  const letter = Math.max(size.width, size.height) / 45;
  layers.edits.replaceChildren(...model.edits.map(({ kind, line: [x0, y0, x1, y1], width }) => shape("line", { class: kind, x1: x0, y1: up(y0), x2: x1 + 1e-6, y2: up(y1), "stroke-width": width })));
  const focused = document.activeElement?.dataset?.place;
  layers.places.replaceChildren(...model.places.map((place, index) => {
    const lost = looked.unreachable?.[place.name], paint = colour(place, index), [x, y] = middle(place.shape);
    const group = shape("g", { "data-place": index, tabindex: 0, role: "button", "aria-label": `${place.name}${lost ? `: ${lost}` : ""}`, class: index === chosen ? "chosen" : null }, outline(place.shape, { class: lost ? "place lost" : "place", fill: paint, stroke: paint }), shape("text", { x, y: up(y), "font-size": letter }, `${lost ? "⚠ " : ""}${place.name}`));
    // Only where they can be dragged: the next room may begin at a corner of the last one.
    if (index === chosen && tool === "move") group.append(...handles(place.shape).map(([hx, hy], number) => shape("circle", { class: "handle", "data-handle": number, cx: hx, cy: up(hy), r: letter / 2.6 })));
    group.addEventListener("focus", () => choose(index));
    return group;
  }));
  if (focused !== undefined) layers.places.children[focused]?.focus();
  drawDraft();
}

function drawDraft() {
  const parts = [];
  if (drag?.shape) parts.push(outline(drag.shape, { class: "draft" }));
  if (drag?.line) parts.push(shape("line", { class: "draft", x1: drag.line[0], y1: up(drag.line[1]), x2: drag.line[2] + 1e-6, y2: up(drag.line[3]), "stroke-width": 5 }));
  if (corners.length) parts.push(shape("polyline", { class: "draft", points: [...corners, drag?.at ?? corners[0]].map(([x, y]) => `${x},${up(y)}`).join(" ") }), ...corners.map(([x, y]) => shape("circle", { class: "handle", cx: x, cy: up(y), r: Math.max(size.width, size.height) / 120 })));
  layers.draft.replaceChildren(...parts);
}

function list() {
  const rows = byId("places-list"), active = document.activeElement?.dataset?.field;
  const { selectionStart: start, selectionEnd: end } = document.activeElement ?? {};
  show("no-places", model.places.length === 0);
  rows.replaceChildren(...model.places.map((place, index) => {
    const name = element("input", { type: "text", "data-field": `name-${index}`, "aria-label": t("name of place {0}", index + 1), spellcheck: "false", autocapitalize: "off", maxlength: 60, value: place.name });
    name.addEventListener("focus", () => { if (!rebuilding) choose(index, false); });
    name.addEventListener("input", () => { const to = name.value.replace(/[\s-]+/g, "_"); change(() => { place.name = to; }); });
    const avoid = element("input", { type: "checkbox", "data-field": `avoid-${index}`, checked: place.constraint });
    avoid.addEventListener("change", () => change(() => { place.constraint = avoid.checked; }));
    const gone = element("button", { type: "button", class: "quiet", title: t("remove"), "aria-label": `${t("remove")}: ${place.name}` }, "✕");
    gone.addEventListener("click", () => remove(index));
    const spot = element("span", { class: "spot" });
    spot.style.background = colour(place, index);
    const row = element("li", { class: index === chosen ? "chosen" : null }, spot, name, element("label", { title: t("robots should keep out of it: missions can say never") }, avoid, t("avoid")), gone);
    const lost = looked.unreachable?.[place.name];
    if (lost) row.append(element("p", { class: "bad" }, t("{0} cannot be reached: {1}", place.name, lost)));
    return row;
  }));
  for (const problem of looked.problems ?? []) rows.append(element("li", {}, element("p", { class: "bad" }, problem)));
  if (active) {
    const node = rows.querySelector(`[data-field="${active}"]`);
    rebuilding = true;
    node?.focus();
    rebuilding = false;
    if (start !== undefined && start !== null && node?.type === "text") node.setSelectionRange(start, end);
  }
}

function fields() {
  for (const id of ["radius", "speed", "cell"]) if (document.activeElement !== byId(id)) byId(id).value = model.robot[id];
  if (document.activeElement !== byId("map-width")) byId("map-width").value = +(model.width ?? 0).toFixed(3);
  byId("negate").checked = model.negate;
}

function buttons() {
  byId("undo").disabled = !past.length;
  byId("redo").disabled = !future.length;
  const placed = model.places.length > 0 && !looked.problem && !(looked.problems ?? []).length;
  byId("save").disabled = !sheet || !placed;
  byId("start").disabled = !sheet || !placed;
}

function told(text, bad = false) { say("answer", text).className = bad ? "bad" : ""; }

function choose(index, redraw = true) {
  if (chosen === index) return;
  chosen = index;
  draw();
  if (redraw) list();
  else [...byId("places-list").children].forEach((row, number) => row.classList.toggle("chosen", number === index));
}

function remove(index) { change(() => { model.places.splice(index, 1); chosen = -1; }); }

// Drawing

const round = (value) => Math.round(value * 1000) / 1000;

/** Return where a pointer is in metres, on the grid of 5 cm. */
function at(event) {
  const { x, y } = view.at(event), step = 0.05;
  return [round(Math.round(Math.min(Math.max(x, 0), size.width) / step) * step), round(Math.round(Math.min(Math.max(size.height - y, 0), size.height) / step) * step)];
}

function add(each, walls = false) {
  let number = 1;
  const stem = walls ? "room" : "place", names = model.places.map(({ name }) => name);
  while (names.includes(`${stem}_${number}`)) number += 1;
  change(() => {
    if (walls) {
      const [x0, y0, x1, y1] = each.rectangle, line = (a, b, c, d) => ({ kind: "wall", line: [a, b, c, d], width: WALL });
      model.edits.push(line(x0, y0, x1, y0), line(x1, y0, x1, y1), line(x1, y1, x0, y1), line(x0, y1, x0, y0));
    }
    model.places.push({ name: `${stem}_${number}`, constraint: false, shape: each });
    chosen = model.places.length - 1;
  });
  const field = byId("places-list").querySelector(`[data-field="name-${model.places.length - 1}"]`);
  field?.focus({ preventScroll: true });
  field?.select();
}

function pressed(event) {
  if (!sheet || event.button) return;
  if (document.activeElement?.matches("input")) document.activeElement.blur();
  const point = at(event), handle = event.target.dataset.handle, group = event.target.closest("[data-place]");
  if (handle !== undefined && tool === "move") drag = { kind: "handle", index: Number(handle), before: JSON.stringify(model) };
  else if (tool === "move" && group) { choose(Number(group.dataset.place)); drag = { kind: "move", from: point, before: JSON.stringify(model) }; }
  else if (tool === "move") { choose(-1); return; }
  else if (tool === "polygon") {
    const close = corners.length > 2 && Math.hypot(point[0] - corners[0][0], point[1] - corners[0][1]) < Math.max(size.width, size.height) / 50;
    if (close) closePolygon(); else corners.push(point);
    drag = { at: point };
    drawDraft();
  } else drag = { kind: tool, from: point };
  event.stopImmediatePropagation();
  if (event.target.closest("[data-place]") === null || tool !== "move") event.preventDefault();
  svg.setPointerCapture(event.pointerId);
}

svg.addEventListener("pointermove", (event) => {
  if (!drag || !sheet) { if (corners.length) { drag = { at: at(event) }; drawDraft(); drag = null; } return; }
  const to = at(event), { from } = drag, place = model.places[chosen];
  if (drag.kind === "handle") { setHandle(place.shape, drag.index, to); drag.moved = true; draw(); }
  else if (drag.kind === "move") { moveBy(place.shape, to[0] - from[0], to[1] - from[1]); drag.from = to; drag.moved = true; draw(); }
  else if (drag.kind === "room" || drag.kind === "rectangle") drag.shape = { kind: "rectangle", rectangle: [...from, ...to] };
  else if (drag.kind === "circle") drag.shape = { kind: "circle", circle: [...from, Math.max(0.05, round(Math.hypot(to[0] - from[0], to[1] - from[1])))] };
  else if (drag.kind === "wall" || drag.kind === "door") drag.line = [...from, ...straight(from, to)];
  else if (tool === "polygon") drag.at = to;
  drawDraft();
});

/** Walls that are nearly level or upright are. */
function straight([x0, y0], [x1, y1]) {
  if (Math.abs(x1 - x0) < 0.12 * Math.abs(y1 - y0)) return [x0, y1];
  if (Math.abs(y1 - y0) < 0.12 * Math.abs(x1 - x0)) return [x1, y0];
  return [x1, y1];
}

for (const name of ["pointerup", "pointercancel"]) {
  svg.addEventListener(name, () => {
    const done = drag;
    drag = null;
    if (!done) return;
    if (done.before && done.moved) { past.push(done.before); future = []; changed(); }
    else if (done.shape) {
      const [x0, y0, x1, y1] = done.shape.rectangle ?? [0, 0, 1, 1];
      if (Math.abs(x1 - x0) > 0.09 && Math.abs(y1 - y0) > 0.09) {
        if (done.shape.rectangle) done.shape.rectangle = [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
        add(done.shape, done.kind === "room");
      }
    } else if (done.kind === "wall" && done.line) change(() => model.edits.push({ kind: "wall", line: done.line, width: WALL }));
    else if (done.kind === "door") change(() => model.edits.push({ kind: "opening", line: done.line ?? [...done.from, ...done.from], width: DOOR }));
    drawDraft();
  });
}

function closePolygon() {
  const points = corners;
  corners = [];
  if (points.length > 2) add({ kind: "polygon", polygon: points });
  drawDraft();
}

function pick(name) {
  tool = name;
  corners = [];
  if (sheet) draw();
  byId("tool-buttons").replaceChildren(...Object.entries(TOOLS).map(([key, [title, hint]]) => {
    const button = element("button", { type: "button", "data-tool": key, "aria-pressed": String(key === tool), title: t(hint) }, t(title));
    button.addEventListener("click", (event) => { pick(key); byId("tool-buttons").querySelector(`[data-tool=${key}]`).focus(); if (event.detail === 0) inTheMiddle(key); });
    return button;
  }));
  say("hint", t(TOOLS[tool][1]));
  if (sheet) draw();
}

/** With keys: put what the tool draws into the middle; arrows move it, with Shift they change its size. */
function inTheMiddle(key) {
  if (!sheet) return;
  const x = round(size.width / 2), y = round(size.height / 2), half = round(Math.min(size.width, size.height) / 8);
  if (key === "rectangle" || key === "room") add({ kind: "rectangle", rectangle: [x - half, y - half, x + half, y + half] }, key === "room");
  else if (key === "circle") add({ kind: "circle", circle: [x, y, half] });
  else if (key === "polygon") add({ kind: "polygon", polygon: [[x - half, y - half], [x + half, y - half], [x, y + half]] });
  else if (key === "wall") change(() => model.edits.push({ kind: "wall", line: [x - half, y, x + half, y], width: WALL }));
  else if (key === "door") change(() => model.edits.push({ kind: "opening", line: [x, y, x, y], width: DOOR }));
}

svg.addEventListener("keydown", (event) => {
  const step = 0.1, moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
  if (event.key === "Enter" && corners.length) { event.preventDefault(); closePolygon(); return; }
  const index = event.target.dataset.place;
  if (index === undefined) return;
  const place = model.places[Number(index)];
  if (event.key === "Delete" || event.key === "Backspace") { event.preventDefault(); remove(Number(index)); return; }
  if (!moves) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  change(() => {
    const points = handles(place.shape), last = points.length - 1;
    if (event.shiftKey) setHandle(place.shape, last, [round(points[last][0] + moves[0]), round(points[last][1] + moves[1])]);
    else moveBy(place.shape, ...moves);
  });
}, true);

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input[type=text], input[type=number]");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !typing) { event.preventDefault(); if (event.shiftKey) back(future, past); else back(past, future); }
  else if (event.key === "Escape") { corners = []; drag = null; drawDraft(); }
});

// Saving and starting

async function save(sure = false, then = null) {
  told(t("saving …"));
  const name = byId("name").value.trim();
  const answer = await ask({ ...request("map_save"), name, overwrite: sure || ours.has(name) });
  if (!answer.ok) { told(answer.message, true); return false; }
  if (answer.exists) {
    const replace = element("button", { type: "button", class: "quiet", id: "replace" }, t("Replace {0}?", name));
    replace.addEventListener("click", () => save(true, then));
    byId("answer").className = "";
    byId("answer").replaceChildren(replace);
    replace.focus();
    return false;
  }
  saved = name;
  const lost = Object.entries(answer.reasons ?? {}).map(([place, why]) => ` ${t("{0} cannot be reached: {1}", place, why)}.`);
  told(`${t("saved as {0}", answer.folder)}.${lost.join("")}`);
  ours.add(name);
  then?.();
  return true;
}

async function start() {
  if (saved !== byId("name").value.trim()) { save(false, start); return; }
  const answer = await ask({ type: "map_start", name: saved });
  if (!answer.ok) told(answer.message, true);
}

function started({ domain, url, problem, starting }) {
  show("running", Boolean(domain));
  show("end", Boolean(url || starting));
  if (!domain) return;
  const page = url ? [`${t("The robot runs on {0}:", domain)} `, element("a", { href: url, id: "robot-page", target: "_blank", rel: "noopener" }, t("open its page"))] : [problem ?? t("starting the robot system …")];
  byId("running").className = problem ? "bad" : "";
  byId("running").replaceChildren(...page);
}

// What is always there

byId("file").addEventListener("change", (event) => { blank = null; openFiles(event.target.files); event.target.value = ""; });
for (const name of ["dragover", "dragenter"]) document.addEventListener(name, (event) => { event.preventDefault(); document.body.classList.add("over"); });
document.addEventListener("dragleave", () => document.body.classList.remove("over"));
document.addEventListener("drop", (event) => { event.preventDefault(); document.body.classList.remove("over"); if (event.dataTransfer.files.length) { blank = null; openFiles(event.dataTransfer.files); } });
byId("blank").addEventListener("click", () => { blank = { width: Number(byId("blank-width").value), height: Number(byId("blank-height").value) }; begin({ type: "map_blank", ...blank }); });
byId("open-domain").addEventListener("click", () => { blank = null; begin({ type: "map_domain", name: byId("domains").value }); });
for (const id of ["radius", "speed", "cell"]) byId(id).addEventListener("change", () => { const value = Number(byId(id).value); if (value > 0) change(() => { model.robot = { ...model.robot, [id]: value }; }); });
byId("map-width").addEventListener("change", () => { const value = Number(byId("map-width").value); if (sheet && value > 0) { change(() => { model.width = value; }); fit(); draw(); } });
byId("negate").addEventListener("change", () => change(() => { model.negate = byId("negate").checked; }));
byId("name").addEventListener("input", () => { saved = ""; keep(); });
byId("new").addEventListener("click", () => { show(svg, false); show("begin", true); show("new", false); byId("file").focus(); });
byId("undo").addEventListener("click", () => back(past, future));
byId("redo").addEventListener("click", () => back(future, past));
byId("save").addEventListener("click", () => save());
byId("start").addEventListener("click", start);
byId("end").addEventListener("click", () => ask({ type: "map_end" }));
byId("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches, root = document.documentElement;
  root.dataset.theme = (root.dataset.theme ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  localStorage.setItem("skm-theme", root.dataset.theme);
});
if (localStorage.getItem("skm-theme")) document.documentElement.dataset.theme = localStorage.getItem("skm-theme");
pick("room");
offerLanguages(byId("language"), () => { pick(tool); list(); status(); started(documents.started ?? {}); look(); });
setInterval(status, 500);

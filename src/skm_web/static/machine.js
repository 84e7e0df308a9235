// The mission's machine: the picture that the server laid out, with the present state lit, the way so far and the next move.

import { Viewport, byId, element, say, shape, show, stateColour } from "./dom.js";
import { t } from "./language.js";

/** Pixels that the smallest letters of the picture have at least. */
const LETTER = 12;

export class Machine {
  constructor(ask) {
    this.svg = byId("graph");
    this.view = new Viewport(this.svg, byId("machine-tools"));
    this.position = { state: -1, way: [], moves: [], next: null };
    this.states = new Map();
    this.edges = new Map();
    this.leaving = new Map();
    this.lit = new Set();
    this.marked = new Set();
    this.whole = element("button", { type: "button", class: "quiet", hidden: true, id: "unfold" }, t("all states"));
    this.whole.addEventListener("click", () => this.unfold(ask));
    byId("machine-tools").append(this.whole);
  }

  async unfold(ask) {
    if (this.unfolded) {
      this.unfolded = false;
      this.draw(this.folded);
      return;
    }
    say(this.whole, t("drawing …"));
    const answer = await ask({ type: "machine" });
    if (!answer.ok) { say("machine-facts", t(answer.message)); say(this.whole, t("all states")); return; }
    this.unfolded = true;
    this.draw(answer.drawing);
  }

  /** Take a picture from the server: the whole of a small machine, what is near in a large one. */
  drawing(content) {
    show("no-machine", Boolean(content.problem));
    show(this.svg, !content.problem);
    if (content.problem) {
      say("no-machine", t("The machine cannot be shown: {0}", content.problem));
      return;
    }
    const other = this.folded?.states !== content.states;
    this.folded = content;
    if (other) this.unfolded = false;
    if (!this.unfolded) this.draw(content);
  }

  draw(content) {
    for (const kept of [this.states, this.edges, this.leaving, this.lit]) kept.clear();
    const groups = content.groups.map((group) => this.group(group));
    this.svg.replaceChildren(...groups);
    this.svg.classList.toggle("whole", Boolean(this.unfolded));
    this.view.moved = false;
    this.view.all = this.box = content.box;
    const letters = content.groups.flatMap((group) => group.parts.filter((part) => part[0] === "text").map((part) => part[5]));
    this.legible = LETTER / Math.min(...letters, LETTER);
    show(this.whole, this.folded.folded);
    say(this.whole, t(this.unfolded ? "fold" : "all states"));
    say("machine-facts", content.folded ? t("{0} of {1} states: the rest is folded", content.shown, content.states) : t("{0} states", content.states));
    this.light();
  }

  group(group) {
    const parts = group.parts.flatMap((part) => drawn(part));
    const node = shape("g", { class: group.kind, "data-kind": group.kind }, ...parts);
    if (group.tooltip) node.prepend(shape("title", {}, group.tooltip));
    if (group.kind === "state") {
      this.states.set(group.state, node);
      node.dataset.state = group.state;
      if (group.hidden) node.append(badge(group));
    } else if (group.kind === "edge") {
      const key = `${group.source}-${group.target}`;
      node.dataset.edge = key;
      if (!this.edges.has(key)) {
        this.edges.set(key, []);
        this.leaving.set(group.source, [...(this.leaving.get(group.source) ?? []), key]);
      }
      this.edges.get(key).push(node);
    }
    return node;
  }

  /** Take where the machine is. */
  at(position) {
    this.position = position;
    this.light();
  }

  /** Show the whole picture where it is legible, else what is around the present state. */
  follow() {
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    const here = this.states.get(this.position.state);
    if (!here || this.unfolded || !width || Math.min(width / this.box[2], height / this.box[3]) >= this.legible) { this.view.fit(this.box); return; }
    const box = here.getBBox(), [left, top, across, down] = this.box;
    const [wide, high] = [width / this.legible, height / this.legible];
    const x = within(box.x + box.width / 2 - 0.38 * wide, left, across - wide);
    this.view.fit([x, within(box.y + box.height / 2 - high / 2, top, down - high), wide, high]);
  }

  /** Mark the present state, the way and the next move; only what is no longer so, or newly so, is touched. */
  light() {
    if (this.box) this.follow();
    const { state, way, moves, next } = this.position;
    const been = new Set(way), taken = new Set(moves);
    const ahead = next === null ? "" : `${next[0]}-${next[1]}`;
    for (const number of [...been, state, next?.[1]]) {
      this.mark(this.states.get(number), [number === state && "here", been.has(number) && number !== state && "been", next?.[1] === number && "next"], been.has(number) || number === state ? stateColour(number) : "");
    }
    const fromHere = this.leaving.get(state) ?? [];
    for (const key of new Set([...taken, ahead, ...fromHere])) {
      for (const node of this.edges.get(key) ?? []) this.mark(node, [taken.has(key) && "taken", key === ahead && "ahead", fromHere.includes(key) && "from-here"]);
    }
    for (const node of this.lit) if (!this.marked.has(node)) this.change(node, "", "");
    [this.lit, this.marked] = [this.marked, new Set()];
  }

  mark(node, marks, colour = "") {
    if (!node) return;
    this.marked.add(node);
    this.change(node, marks.filter(Boolean).join(" "), colour);
  }

  change(node, marks, colour) {
    if (node.dataset.marks === `${marks} ${colour}`) return;
    node.dataset.marks = `${marks} ${colour}`;
    node.setAttribute("class", `${node.dataset.kind} ${marks}`);
    if (node.dataset.kind === "state") node.querySelector("rect, circle:not(.dot)")?.setAttribute("stroke", colour);
  }
}

/** Return a beginning that shows no more than there is; where there is room for all, that all is in the middle. */
const within = (start, least, room) => (room < 0 ? least + room / 2 : Math.min(Math.max(start, least), least + room));

function badge(group) {
  const outline = group.parts.find((part) => part[0] === "circle" || part[0] === "card");
  const [x, y] = [outline[2] + outline[4], outline[3] + outline[4]];
  return shape("text", { x, y, class: "badge", "font-size": 12 }, `+${group.hidden}`);
}

/** Return the elements of one part of the picture. */
function drawn(part) {
  const [kind, tone, ...rest] = part;
  if (kind === "path") {
    const [pieces, dashed, arrow, width, opacity] = rest;
    const line = pieces.map((piece) => [...piece]);
    const last = line[line.length - 1];
    const head = arrow ? arrowHead(last) : null;
    if (arrow) shorten(last);
    const steps = [`M${line[0][0]},${line[0][1]}`, ...line.map((piece) => (piece.length === 4 ? `L${piece[2]},${piece[3]}` : `C${piece.slice(2).join(" ")}`))];
    const drawn = [shape("path", { d: steps.join(""), class: `line ${tone}`, "stroke-width": width, "stroke-dasharray": dashed ? "5 4" : null, opacity: opacity < 1 ? opacity : null })];
    if (head) drawn.push(shape("path", { d: head, class: `head ${tone}` }));
    return drawn;
  }
  if (kind === "circle") return [shape("circle", { cx: rest[0], cy: rest[1], r: rest[2], class: tone, "stroke-width": rest[3] })];
  if (kind === "dot") return [shape("circle", { cx: rest[0], cy: rest[1], r: rest[2], class: "dot" })];
  if (kind === "card") {
    const [x, y, halfWidth, halfHeight] = rest;
    return [shape("rect", { x: x - halfWidth, y: y - halfHeight, width: 2 * halfWidth, height: 2 * halfHeight, rx: 14, class: tone, "stroke-width": 1.6 })];
  }
  const [x, y, text, size, words, bold, halo, anchor] = rest;
  const node = shape("text", { x, y, "font-size": size, "text-anchor": anchor, class: `${tone}${bold ? " bold" : ""}${halo ? " halo" : ""}` });
  if (words) node.append(shape("tspan", { class: "words" }, words), ` ${text}`);
  else node.append(text);
  return [node];
}

function direction(piece) {
  const [x0, y0, x1, y1] = piece.slice(-4);
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  return [(x1 - x0) / length, (y1 - y0) / length];
}

function arrowHead(piece) {
  const [x, y] = piece.slice(-2), [across, down] = direction(piece);
  const back = [x - 8 * across, y - 8 * down];
  return `M${x},${y}L${back[0] + 3.6 * down},${back[1] - 3.6 * across}L${back[0] - 3.6 * down},${back[1] + 3.6 * across}Z`;
}

function shorten(piece) {
  const [across, down] = direction(piece);
  piece[piece.length - 2] -= 6.4 * across;
  piece[piece.length - 1] -= 6.4 * down;
}

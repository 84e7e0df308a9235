// Elements by hand: text is only ever set as text, so nothing that a robot or a mission says becomes markup.

import { t } from "./language.js";

const SVG = "http://www.w3.org/2000/svg";

/** Return the element of an id. */
export const byId = (id) => document.getElementById(id);

/** Return a new element with attributes and children; children are elements or text. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Return a new element of an SVG picture. */
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Set an element's text if it is another; touching nothing keeps screen readers quiet. */
export function say(id, text) {
  const node = typeof id === "string" ? byId(id) : id;
  if (node.textContent !== text) node.textContent = text;
  return node;
}

/** Show or hide an element; by its attribute, since those of SVG have no property for it. */
export function show(id, visible) {
  const node = typeof id === "string" ? byId(id) : id;
  node.toggleAttribute("hidden", !visible);
}

/** Return a label set as people write it. */
export const setText = (labels) => `{${labels.join(", ")}}`;

/** The colours of the machine's states on the path: eight that the colour-blind tell apart, then again. */
export const STATE_COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7a5195", "#8c8c00"];

/** Return the colour of a machine state; grey before any mission. */
export const stateColour = (state) => (state < 0 ? "#8a94a3" : STATE_COLOURS[state % STATE_COLOURS.length]);

/** Let a picture be moved and zoomed: by wheel, drag, two fingers, keys and buttons. */
export class Viewport {
  constructor(svg, tools) {
    this.svg = svg;
    this.home = [0, 0, 100, 100];
    this.box = [...this.home];
    this.moved = false;
    this.all = null;
    this.pointers = new Map();
    for (const [text, label, act] of [["+", "zoom in", () => this.zoom(0.8)], ["−", "zoom out", () => this.zoom(1.25)], ["⤢", "show all", () => this.reset()]]) {
      const button = element("button", { type: "button", class: "quiet", title: t(label), "aria-label": t(label), "data-t": "" }, text);
      button.dataset.entitle = button.dataset.enarialabel = label;
      button.addEventListener("click", act);
      tools.append(button);
    }
    svg.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(event.deltaY > 0 ? 1.12 : 0.89, this.at(event)); }, { passive: false });
    svg.addEventListener("pointerdown", (event) => { this.dragged = false; this.pointers.set(event.pointerId, event); });
    svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    svg.addEventListener("dblclick", () => this.reset());
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  /** Set what is seen when nobody has moved the picture. */
  fit(box) {
    this.home = box;
    if (!this.moved) this.apply([...box]);
  }

  /** Go home; from there, where that is not all, show all. */
  reset() {
    const all = this.all && !this.moved && String(this.all) !== String(this.box);
    this.moved = Boolean(all);
    this.apply([...(all ? this.all : this.home)]);
  }

  /** Show a part of the picture; touching nothing where it is the same keeps the browser from laying it out again. */
  apply(box) {
    this.box = box;
    const text = box.map((number) => +number.toFixed(4)).join(" ");
    if (this.svg.getAttribute("viewBox") !== text) this.svg.setAttribute("viewBox", text);
  }

  at(event) {
    const matrix = this.svg.getScreenCTM();
    return matrix ? new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()) : { x: this.box[0] + this.box[2] / 2, y: this.box[1] + this.box[3] / 2 };
  }

  zoom(factor, point = { x: this.box[0] + this.box[2] / 2, y: this.box[1] + this.box[3] / 2 }) {
    const [x, y, width, height] = this.box;
    if (width * factor > this.home[2] * 8 || width * factor < this.home[2] / 60) return;
    this.moved = true;
    this.apply([point.x - (point.x - x) * factor, point.y - (point.y - y) * factor, width * factor, height * factor]);
  }

  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    if (!this.dragged && Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY) < 4) return;  // a click, as yet
    if (!this.dragged) { this.dragged = true; this.svg.setPointerCapture(event.pointerId); }
    const others = [...this.pointers.values()].filter((pointer) => pointer.pointerId !== event.pointerId);
    const from = this.at(before), to = this.at(event);
    if (others.length) {
      const fixed = this.at(others[0]);
      const ratio = Math.hypot(from.x - fixed.x, from.y - fixed.y) / Math.max(1e-9, Math.hypot(to.x - fixed.x, to.y - fixed.y));
      this.zoom(Math.min(2, Math.max(0.5, ratio)), fixed);
    } else if (from.x !== to.x || from.y !== to.y) {
      this.moved = true;
      this.apply([this.box[0] + from.x - to.x, this.box[1] + from.y - to.y, this.box[2], this.box[3]]);
    }
    this.pointers.set(event.pointerId, event);
  }

  key(event) {
    const step = this.box[2] / 10;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (moves[event.key]) {
      this.moved = true;
      this.apply([this.box[0] + moves[event.key][0], this.box[1] + moves[event.key][1], this.box[2], this.box[3]]);
    } else if (event.key === "+" || event.key === "=") this.zoom(0.8);
    else if (event.key === "-") this.zoom(1.25);
    else if (event.key === "0") this.reset();
    else return;
    event.preventDefault();
  }
}

// The world from above: shapes as the markers show them, the path in the colours of the machine's states, where the robot is going.

import { Viewport, byId, element, say, shape, show, stateColour } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./language.js";

const CHUNK = 200;
/** Pixels that the letters of names have at least. */
const LETTER = 12.2;
/** Of a floor of tiles, how far its walls reach beyond them: parts of a tile. */
const WALL = 0.14;

export class World {
  /** `prefix` is that of its elements' ids: a page may show two worlds. */
  constructor(prefix = "") {
    this.prefix = prefix;
    this.svg = byId(`${prefix}scene`);
    this.layers = ["things", "path", "going", "names", "robot"].map((name) => shape("g", { class: name }));
    this.svg.append(...this.layers);
    this.view = new Viewport(this.svg, byId(`${prefix}world-tools`));
    this.epoch = -1;
    this.size = 1;
    this.robotAt = null;
    this.picture = byId(`${prefix}image`);
    /** Propositions that a click on their shape uses in a mission. */
    this.places = new Set();
    this.onPlace = () => {};
    this.svg.addEventListener("click", (event) => { const name = event.target.dataset.place; if (name && !this.view.dragged) this.onPlace(name); });
    const toggle = element("button", { type: "button", class: "quiet", hidden: true }, t("picture"));
    toggle.addEventListener("click", () => { this.wantsPicture = !this.wantsPicture; this.choose(); });
    byId(`${prefix}world-tools`).append(toggle);
    this.toggle = toggle;
  }

  scene({ shapes }) {
    this.hasShapes = shapes.length > 0;
    this.choose();
    const [low, high] = extent(shapes.filter((each) => each.kind !== "text"));
    if (low) {
      const margin = 0.03 * Math.max(high[0] - low[0], high[1] - low[1]);
      this.size = Math.max(high[0] - low[0], high[1] - low[1]);
      const [width, height] = [high[0] - low[0] + 2 * margin, high[1] - low[1] + 2 * margin];
      this.view.fit([low[0] - margin, -high[1] - margin, width, height]);
      this.svg.style.setProperty("--shape", `${width.toFixed(3)} / ${height.toFixed(3)}`);
    }
    this.things = shapes.filter((each) => each.kind !== "text" && !["floor", "wall"].includes(each.group));
    const drawn = (wanted) => shapes.filter(wanted).sort((a, b) => a.top - b.top).map((each) => this.drawn(each));
    this.layers[0].replaceChildren(...walls(shapes), ...drawn((each) => each.kind !== "text"), ...shapes.flatMap((each) => sign(each, this.size / 18)));
    this.layers[3].replaceChildren(...drawn((each) => each.kind === "text"));
  }

  robot({ shapes }) {
    this.robotAt = shapes.length ? [shapes[0].x, shapes[0].y] : null;
    const bodies = shapes.filter((each) => each.kind !== "text"), names = shapes.filter((each) => each.kind === "text");
    this.layers[4].replaceChildren(...bodies.map((each) => this.drawn(each)), ...names.map((each) => this.drawn(each, bodies)));
    this.point();
  }

  going({ labels, places }) {
    this.destinations = places;
    this.goal = labels;
    this.point();
  }

  /** Take what would fail the mission now; it is marked, and a way that is guessed leads around it. */
  avoided(places) {
    this.shunned = places;
    this.point();
  }

  /** Take what has been chosen for the next mission; it is marked, too. */
  chosen(places, avoided) {
    this.next = { places, avoided };
    if (this.things) this.point();
  }

  /** Return the things that show one of some propositions. */
  named(names) { return (this.things ?? []).filter((each) => [each.group, ...each.group.split(" ")].some((name) => names.includes(name))); }

  /** Take whether ways are planned here, or chosen step by step by skills that were learned. */
  learned(yes) {
    this.guesses = yes;
    this.point();
  }

  /** Take the way that is planned, from place to place. */
  way(points) {
    this.planned = points;
    this.point();
  }

  /** Return what is left of the planned way, from the robot on; null where none is known. */
  ahead() {
    if (!this.planned?.length) return null;
    const [x, y] = this.robotAt, far = this.planned.map((each) => Math.hypot(each[0] - x, each[1] - y));
    return [this.robotAt, ...this.planned.slice(far.indexOf(Math.min(...far)) + 1)];
  }

  /** Show where the robot is going: rings, and the way that is planned; where learned skills choose each step a guess at it, else the direction, if it is one place. */
  point() {
    const places = this.destinations ?? [], shunned = this.shunned ?? [];
    const unit = this.size / 100;
    const { places: wanted = [], avoided = [] } = this.next ?? {};
    const marks = [...this.named(wanted).map((place) => ring(place, unit, "ring chosen")), ...this.named(avoided).map((place) => ring(place, unit, "ring chosen never")), ...shunned.map((place) => ring(place, 0.6 * unit, "ring shunned")), ...places.map((place) => ring(place, unit))];
    const planned = this.robotAt && places.length ? this.ahead() : null, guess = Boolean(places.length && this.robotAt && !planned && this.guesses);
    // Of several places nobody knows here which one is meant: a line to the nearest would be a tale.
    if (this.robotAt && (planned || guess || places.length === 1)) {
      const to = [places[0].x, places[0].y], line = planned ?? (guess ? around(this.robotAt, to, shunned) : [this.robotAt, to]);
      const kind = planned?.length > 2 ? "bearing planned" : guess ? "bearing guess" : "bearing";
      marks.unshift(shape("polyline", { points: line.map(([x, y]) => `${x},${-y}`).join(" "), class: kind, "stroke-width": (guess ? 0.8 : 0.45) * unit, "stroke-dasharray": guess ? `${0.01 * unit} ${1.6 * unit}` : `${1.5 * unit} ${1.5 * unit}` }));
    }
    show(`${this.prefix}way-note`, guess);
    this.layers[2].replaceChildren(...marks);
  }

  path({ epoch, from, items }) {
    if (epoch !== this.epoch || from === 0) {
      this.epoch = epoch;
      this.layers[1].replaceChildren();
      this.line = null;
      this.last = null;
    }
    for (const [x, y, state, gap] of items) {
      const point = `${x},${-y}`;
      if (gap) this.last = null;
      if (!this.line || gap || this.state !== state || this.points.length > CHUNK) {
        this.flush();
        this.points = this.last ? [this.last, point] : [point];
        this.state = state;
        this.line = shape("polyline", { class: "way", stroke: stateColour(state), "stroke-width": this.size / 110 });
        this.layers[1].append(this.line);
      } else this.points.push(point);
      this.last = point;
      this.dirty = true;
    }
    this.flush();
    while (this.layers[1].childElementCount > 400) this.layers[1].firstChild.remove();
  }

  flush() {
    if (this.line && this.dirty) this.line.setAttribute("points", this.points.join(" "));
    this.dirty = false;
  }

  image(bytes) {
    const old = this.url;
    this.url = URL.createObjectURL(new Blob([bytes], { type: "image/png" }));
    this.picture.src = this.url;
    if (old) URL.revokeObjectURL(old);
    this.hasPicture = true;
    this.choose();
  }

  choose() {
    const picture = this.hasPicture && (this.wantsPicture || !this.hasShapes);
    show(this.svg, this.hasShapes && !picture);
    show(this.picture, picture);
    show(`${this.prefix}no-world`, !this.hasShapes && !this.hasPicture);
    show(this.toggle, this.hasPicture && this.hasShapes);
    say(this.toggle, t(picture ? "shapes" : "picture"));
  }

  facts(world, paused) {
    const rate = world.rate ? t("{0} steps a second", world.rate) : t("waits for each action");
    const state = world.stopped ? t("stopped") : world.ended ? t("the episode has ended") : paused ? t("paused") : "";
    say(`${this.prefix}world-facts`, `${t("episode {0}, step {1}", world.episode, world.step)} · ${rate}${state ? ` · ${state}` : ""}`);
  }

  /** Return the pixels of a metre when all is seen. */
  scale() {
    const [, , width, height] = this.view.home;
    return Math.min((this.svg.clientWidth || 800) / width, (this.svg.clientHeight || 600) / height);
  }

  /** Return by how much a name is moved down: below the thing that it is written on, if it is wider. */
  below(name, size, things) {
    const near = things.filter((each) => Math.hypot(each.x - name.x, each.y - name.y) < 0.05);
    const widest = Math.max(0, ...near.map((each) => each.width));
    if (!near.length || widest > 0.62 * size * name.text.length) return 0;
    return Math.max(...near.map((each) => each.height)) / 2 + 0.62 * size;
  }

  drawn(each, things = this.things) {
    const [red, green, blue, opacity] = each.colour;
    const fill = `rgb(${[red, green, blue].map((part) => Math.round(255 * part)).join(" ")})`;
    const place = [each.group, each.text].find((name) => this.places.has(name));
    const look = { fill, "fill-opacity": opacity, transform: turned(each), "data-place": place };
    if (each.kind === "text") {
      const size = Math.max(1.2 * each.letter, this.size / 48, LETTER / this.scale());
      return shape("text", { x: each.x, y: -each.y + this.below(each, size, things), fill, "font-size": size, class: "name", "data-place": place }, each.text);
    }
    if (each.kind === "cube") {
      return shape("rect", { x: each.x - each.width / 2, y: -each.y - each.height / 2, width: each.width, height: each.height, ...look });
    }
    if (each.kind === "arrow") {
      const [x, y, half] = [each.x, -each.y, each.height / 2];
      return shape("path", { d: `M${x},${y - half}L${x + each.width},${y}L${x},${y + half}Z`, ...look });
    }
    return shape("ellipse", { cx: each.x, cy: -each.y, rx: each.width / 2, ry: each.height / 2, ...look });
  }
}

/** Return the walls around a floor of tiles, which has none of its own: what is left to see of larger tiles below them. */
function walls(shapes) {
  const tiles = shapes.filter((each) => each.group === "floor" && each.kind === "cube");
  if (tiles.length < 2 || shapes.some((each) => each.group === "wall")) return [];
  const below = (look, more) => tiles.map(({ x, y, width, height }) => shape("rect", { class: look, x: x - width / 2 - more * width, y: -y - height / 2 - more * height, width: width * (1 + 2 * more), height: height * (1 + 2 * more) }));
  return [...below("outside", WALL), ...below("joint", 0.025)];
}

/** Return the icon of a place: on a small one, whose name is below it; in a large one, above its name. */
function sign(each, most) {
  const strokes = each.kind === "text" || ["floor", "wall"].includes(each.group) ? null : icon(each.group);
  if (!strokes) return [];
  const fits = 0.62 * Math.min(each.width, each.height), size = Math.min(fits, most), above = fits > 1.6 * size ? size : 0;
  return [shape("path", { class: "icon", d: strokes, transform: `translate(${each.x - size / 2} ${-each.y - size / 2 - above}) scale(${size / 24})` })];
}

const turned = ({ heading, x, y }) => (heading ? `rotate(${(-heading * 180) / Math.PI} ${x} ${-y})` : null);

/** How far around a thing a guessed way leads: parts of its radius. */
const CLEARANCE = 1.2;

/** Return a guess at a way: straight, but around things that are avoided, unless it begins or ends in them. */
function around(from, to, shunned, turns = 6) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const inside = (point, each, reach) => Math.hypot(each.x - point[0], each.y - point[1]) < reach;
  let first = null;
  for (const each of turns && length ? shunned : []) {
    const reach = Math.max(each.width, each.height) / 2, [ux, uy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
    const along = (each.x - from[0]) * ux + (each.y - from[1]) * uy, aside = (each.x - from[0]) * uy - (each.y - from[1]) * ux;
    if (along <= 0 || along >= length || Math.abs(aside) >= reach || inside(from, each, reach) || inside(to, each, reach)) continue;
    if (!first || along < first.along) first = { along, at: [each.x - Math.sign(aside || 1) * uy * CLEARANCE * reach, each.y + Math.sign(aside || 1) * ux * CLEARANCE * reach] };
  }
  if (!first) return [from, to];
  return [...around(from, first.at, shunned, turns - 1), ...around(first.at, to, shunned, turns - 1).slice(1)];
}

/** Return a dashed line around a place, of its own form. */
function ring(place, unit, kind = "ring") {
  const look = { class: kind, "stroke-width": 0.7 * unit, "stroke-dasharray": `${2 * unit} ${1.2 * unit}`, transform: turned(place) };
  const [across, down] = [place.width / 2 + 1.4 * unit, place.height / 2 + 1.4 * unit];
  if (place.kind !== "cube") return shape("ellipse", { cx: place.x, cy: -place.y, rx: across, ry: down, ...look });
  return shape("rect", { x: place.x - across, y: -place.y - down, width: 2 * across, height: 2 * down, rx: 1.4 * unit, ...look });
}

function extent(shapes) {
  if (!shapes.length) return [];
  const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  for (const each of shapes) {
    const reach = each.heading ? Math.hypot(each.width, each.height) / 2 : null;
    low[0] = Math.min(low[0], each.x - (reach ?? each.width / 2));
    low[1] = Math.min(low[1], each.y - (reach ?? each.height / 2));
    high[0] = Math.max(high[0], each.x + (reach ?? each.width / 2));
    high[1] = Math.max(high[1], each.y + (reach ?? each.height / 2));
  }
  return [low, high];
}

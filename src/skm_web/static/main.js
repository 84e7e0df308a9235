// The page: one connection to the server, what it says handed to the panels, and a clear word when it says nothing.

import { Builder } from "./builder.js";
import { byId, element, say, show } from "./dom.js";
import { inTongue, offerLanguages, spoken, t } from "./language.js";
import { Link } from "./link.js";
import { Machine } from "./machine.js";
import { MissionBox } from "./mission.js";
import { Log, showHealth, showMission, showOther, showWhy } from "./panels.js";
import { Replay } from "./replay.js";
import { Runs } from "./runs.js";
import { Stop } from "./stop.js";
import { World } from "./world.js";

const documents = {};
/** For those who measure: how many updates have come. */
window.skmUpdates = 0;

const world = new World();
const log = new Log();
const link = new Link({ onMessage: take, onImage: (bytes) => world.image(bytes), onChange: changed });
const ask = (request) => link.ask({ language: spoken(), ...request });
const machine = new Machine(ask);
const box = new MissionBox(ask);
const builder = new Builder(box);
const replay = new Replay(ask);
const runs = new Runs(ask);
const other = new World("other-");
world.onPlace = (name) => builder.use(name);
builder.onShow = (places, avoided) => world.chosen(places, avoided);
const stop = new Stop(link, clock);
link.holding = () => documents.server?.deadman && !stop.pending;

/** The connection is there, or gone. */
function changed() {
  if (link.connected) {
    stop.send();
    box.check();
  } else stop.state("");  // what the robot said before is no confirmation
  status();
}

function take(message) {
  window.skmUpdates += 1;
  for (const [name, value] of Object.entries(message.documents ?? {})) documents[name] = value;
  for (const name of Object.keys(message.documents ?? {})) SHOW[name]?.(documents[name]);
  const { path, log: lines } = message.streams ?? {};
  if (path) world.path(path);
  if (message.streams?.["other.path"]) other.path(message.streams["other.path"]);
  if (lines) log.take(lines, clock);
  status();
}

const mission = () => documents.mission && showMission(documents.mission, documents.formula, documents.words, documents.queue?.paused);
const places = () => documents.domain && builder.take(documents.domain, (documents.events ?? []).map((event) => event.name));
const why = () => showWhy(documents.why, documents.mission ?? {}, documents.formula?.names ?? []);
const health = () => showHealth(documents.health ?? {}, new Set(documents.stale?.nodes ?? []));
const facts = () => documents.world && world.facts(documents.world, documents.paused);

const SHOW = {
  scene: (value) => { world.scene(value); world.point(); },
  robot: (value) => world.robot(value),
  going: (value) => world.going(value),
  avoided: (value) => world.avoided(value),
  way: (value) => world.way(value),
  world: (value) => { facts(); say("alarm-text", value.stopped ? t("The robot is stopped: {0}", inTongue(value, "stopped")) : ""); show("alarm", Boolean(value.stopped) && !documents.server?.replay); stop.state(documents.stale?.world ? "" : value.stopped); show("resume", Boolean(value.stopped) && documents.controls?.stop); },
  labels: (value) => say("labels", value.length ? value.map((name) => name.replaceAll("_", " ")).join(", ") : t("nothing")),
  events: () => events(),
  closed: () => closable(),
  domain: (value) => { closable(); box.domain = value; world.places = new Set(value.propositions); world.learned(value.learned); places(); where(); },
  machine: (value) => machine.drawing(value),
  position: (value) => machine.at(value),
  mission: (value) => { mission(); box.take(value); why(); },
  words: () => mission(),
  formula: () => { mission(); why(); },
  why,
  health,
  stale: (value) => { health(); stop.state(value.world ? "" : documents.world?.stopped); },
  controls: (value) => { box.may(value); show("resume", Boolean(documents.world?.stopped) && value.stop); },
  paused: (value) => { box.pausing(value); facts(); },
  server: () => { where(); mode(); events(); closable(); },
  replay: () => times(),
  queue: (value) => { box.queue(value); mission(); },
  proposals: (value) => proposals(value),
  runs: (value) => { runs.take(value); compare(value); times(); },
  "other.scene": (value) => other.scene(value),
  "other.robot": (value) => other.robot(value),
  "other.going": (value) => other.going(value),
  "other.avoided": (value) => other.avoided(value),
  "other.domain": (value) => other.learned(value.learned),
  "other.way": (value) => other.way(value),
  "other.world": (value) => other.facts(value, false),
  "other.mission": () => beside(),
  "other.words": () => beside(),
  "other.replay": () => times(),
};

const beside = () => documents["other.mission"] && showOther(documents["other.mission"], documents["other.words"]);

/** Show two runs, or one. */
function compare({ beside: file }) {
  document.body.classList.toggle("comparing", Boolean(file));
  show("other", Boolean(file));
  show("other-mission", Boolean(file));
  say("other-title", file).title = file;
}

/** One time line for both: as long as the longer one. */
function times() {
  if (!documents.replay) { replay.close(); return; }
  const second = documents.runs?.beside ? documents["other.replay"] : null;
  if (!second) { replay.take(documents.replay); return; }
  const first = documents.replay, later = second.length > first.length ? second : first;
  replay.take({ ...later, position: Math.max(first.position, second.position), playing: first.playing || second.playing, moves: [...first.moves, ...second.moves].sort((a, b) => a - b) });
}

/** Show what assistants propose: a person takes it or not. */
function proposals(list) {
  show("proposals", list.length > 0);
  byId("proposals").replaceChildren(...list.map(({ id, mission: text, words, why: reason }) => {
    const decide = (accept) => async () => { const { ok, message } = await ask({ type: "proposal", proposal: id, accept }); say("answer", t(message)).classList.toggle("bad", !ok); };
    const yes = element("button", { type: "button", class: "primary" }, t("Run it")), no = element("button", { type: "button" }, t("No"));
    yes.addEventListener("click", decide(true));
    no.addEventListener("click", decide(false));
    return element("li", {}, element("p", {}, element("strong", {}, t("An assistant proposes:")), ` ${words || text} `, element("code", {}, text), reason ? ` – ${reason}` : ""), yes, no);
  }));
}

/** Show which events are true; where the page may, a click sets one. */
function events() {
  const list = documents.events ?? [];
  const fixed = Boolean(documents.server?.read_only || documents.server?.replay);
  show("events", list.length > 0);
  if (String(builder.events) !== String(list.map((event) => event.name))) places();
  byId("events").replaceChildren(...list.map(({ name, true: on }) => {
    const button = element("button", { type: "button", "aria-pressed": String(on), disabled: fixed }, `${name}: ${t(on ? "true" : "false")}`);
    button.addEventListener("click", async () => {
      button.disabled = true;
      const { ok, message } = await ask({ type: "event", name, on: !on });
      button.disabled = fixed;
      say("answer", `${name}: ${ok ? t(message) : t("not set: {0}", t(message))}`);
    });
    return button;
  }));
}

/** Show which places are out of service; where the page may, a click takes one out, or puts it back. */
function closable() {
  const { closed, domain, server } = documents;
  show("service", Boolean(closed && domain && !server?.replay));
  if (!closed || !domain) return;
  const names = Object.keys(closed).sort();
  say("closed", names.length ? names.map((name) => name.replaceAll("_", " ")).join(", ") : t("none"));
  byId("closable").replaceChildren(...domain.propositions.map((name) => {
    const button = element("button", { type: "button", "aria-pressed": String(name in closed), disabled: Boolean(server?.read_only), title: closed[name] ?? "" }, name.replaceAll("_", " "));
    button.addEventListener("click", async () => {
      const { message } = await ask({ type: "place", name, closed: !(name in documents.closed) });
      say("answer", message);
    });
    return button;
  }));
}

function where() {
  const { domain, server } = documents;
  show("to-runs", Boolean(server?.recordings));
  show("to-robot", Boolean(server?.below));
  const parts = [domain?.domain, server?.source].filter(Boolean);
  say("where", parts.join(" · "));
  document.title = parts.length ? `skm – ${parts.join(" – ")}` : "skm";
}

function mode() {
  const { server } = documents;
  const replaying = Boolean(server.replay || server.runs);
  show("compose", !server.read_only && !replaying);
  stop.allow(!server.read_only && !replaying);
  for (const id of ["send", "hold", "cancel", "pause", "reset"]) show(id, !replaying && !server.read_only);
  document.body.classList.toggle("read-only", server.read_only);
}

/** Say whether what is shown is live, and if not, since when. */
function status() {
  const { server, stale } = documents;
  let kind = "live", text = t(server?.replay ? "recording" : server?.runs ? "recordings" : "live");
  if (!link.connected || link.silent) {
    kind = "lost";
    text = link.time ? t("connection lost: as of {0}", daytime(link.time)) : t("connecting …");
    box.forget();
    if (link.replaced) text = t("closed: too many pages are open on this device; reload to use this one");
  } else if (stale?.world && !server?.replay && !server?.runs) {
    kind = "stale";
    text = stale.since ? t("stale: nothing heard from the world since {0}", clock(stale.since)) : t("stale: nothing heard from the world yet");
  }
  if (server?.read_only && kind === "live" && !server?.replay) text = t("live, read-only");
  say("status", text).dataset.kind = kind;
  document.body.classList.toggle("stale", kind !== "live");
}

function clock(at) {
  if (documents.server?.replay) return `${Math.max(0, at - documents.server.replay.began).toFixed(1)} s`;
  return daytime(at);
}

function daytime(at) { return new Date(at * 1000).toLocaleTimeString([], { hour12: false }); }

function themes() {
  const kept = localStorage.getItem("skm-theme");
  if (kept) document.documentElement.dataset.theme = kept;
  byId("theme").addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("skm-theme", next);
  });
}

/** The experts' part is as they left it; what was drawn while it was closed has had no size. */
function experts() {
  const part = byId("experts");
  part.open = localStorage.getItem("skm-experts") === "open";
  part.addEventListener("toggle", () => {
    localStorage.setItem("skm-experts", part.open ? "open" : "");
    document.body.classList.toggle("expert", part.open);
    machine.light();
  });
  document.body.classList.toggle("expert", part.open);
}

themes();
experts();
offerLanguages(byId("language"), () => {
  for (const name of Object.keys(documents)) SHOW[name]?.(documents[name]);
  log.again(clock);
  builder.show();
  runs.show();
  stop.show();
  status();
  box.check();
});
box.check();
setInterval(status, 500);

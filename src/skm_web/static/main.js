// The page: one connection to the server, what it says handed to the panels, and a clear word when it says nothing.

import { Builder } from "./builder.js";
import { byId, element, say, show } from "./dom.js";
import { offerLanguages, t } from "./language.js";
import { Link } from "./link.js";
import { Machine } from "./machine.js";
import { MissionBox } from "./mission.js";
import { Log, showHealth, showMission, showWhy } from "./panels.js";
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
const ask = (request) => link.ask(request);
const machine = new Machine(ask);
const box = new MissionBox(ask);
const builder = new Builder(box);
const replay = new Replay(ask);
const runs = new Runs(ask);
world.onPlace = (name) => builder.use(name);
const stop = new Stop(link, clock);
link.holding = () => documents.server?.deadman && !stop.pending;

/** The connection is there, or gone. */
function changed() {
  if (link.connected) {
    stop.send();
    if (box.box.value) box.check();
  } else stop.state("");  // what the robot said before is no confirmation
  status();
}

function take(message) {
  window.skmUpdates += 1;
  for (const [name, value] of Object.entries(message.documents ?? {})) documents[name] = value;
  for (const name of Object.keys(message.documents ?? {})) SHOW[name]?.(documents[name]);
  const { path, log: lines } = message.streams ?? {};
  if (path) world.path(path);
  if (lines) log.take(lines, clock);
  status();
}

const mission = () => documents.mission && showMission(documents.mission, documents.formula, documents.words);
const places = () => documents.domain && builder.take(documents.domain, (documents.events ?? []).map((event) => event.name));
const why = () => showWhy(documents.why, documents.mission ?? {}, documents.formula?.names ?? []);
const health = () => showHealth(documents.health ?? {}, new Set(documents.stale?.nodes ?? []));
const facts = () => documents.world && world.facts(documents.world, documents.paused);

const SHOW = {
  scene: (value) => world.scene(value),
  robot: (value) => world.robot(value),
  going: (value) => world.going(value),
  world: (value) => { facts(); say("alarm", value.stopped ? t("The robot is stopped: {0}", value.stopped) : ""); show("alarm", Boolean(value.stopped)); stop.state(documents.stale?.world ? "" : value.stopped); show("resume", Boolean(value.stopped) && documents.controls?.stop); },
  labels: (value) => say("labels", value.length ? value.map((name) => name.replaceAll("_", " ")).join(", ") : t("nothing")),
  events: () => events(),
  domain: (value) => { box.domain = value; world.places = new Set(value.propositions); places(); where(); },
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
  server: () => { where(); mode(); events(); },
  replay: (value) => replay.take(value),
  runs: (value) => runs.take(value),
};

/** Show which events are true; where the page may, a click sets one. */
function events() {
  const list = documents.events ?? [];
  const fixed = Boolean(documents.server?.read_only || documents.server?.replay);
  show("events", list.length > 0);
  if (String(builder.events) !== String(list.map((event) => event.name))) places();
  byId("events").replaceChildren(...list.map(({ name, true: on }) => {
    const button = element("button", { type: "button", "aria-pressed": String(on), disabled: fixed }, `${name}: ${on}`);
    button.addEventListener("click", async () => {
      button.disabled = true;
      const { ok, message } = await ask({ type: "event", name, on: !on });
      button.disabled = fixed;
      say("answer", `${name}: ${ok ? message : `not set: ${message}`}`);
    });
    return button;
  }));
}

function where() {
  const { domain, server } = documents;
  const parts = [domain?.domain, server?.source].filter(Boolean);
  say("where", parts.join(" · "));
  document.title = parts.length ? `skm – ${parts.join(" – ")}` : "skm";
}

function mode() {
  const { server } = documents;
  const replaying = Boolean(server.replay || server.runs);
  show("compose", !server.read_only && !replaying);
  stop.allow(!server.read_only && !replaying);
  for (const id of ["send", "cancel", "pause", "reset"]) show(id, !replaying && !server.read_only);
  document.body.classList.toggle("read-only", server.read_only);
}

/** Say whether what is shown is live, and if not, since when. */
function status() {
  const { server, stale } = documents;
  let kind = "live", text = t(server?.replay ? "recording" : server?.runs ? "recordings" : "live");
  if (!link.connected || link.silent) {
    kind = "lost";
    text = link.time ? t("connection lost: as of {0}", clock(link.time)) : t("connecting …");
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
  return new Date(at * 1000).toLocaleTimeString([], { hour12: false });
}

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
});
setInterval(status, 500);

// The page: one connection to the server, what it says handed to the panels, and a clear word when it says nothing.

import { byId, element, say, show } from "./dom.js";
import { Machine } from "./machine.js";
import { MissionBox } from "./mission.js";
import { Log, showHealth, showMission, showWhy } from "./panels.js";
import { Replay } from "./replay.js";
import { World } from "./world.js";

const SILENT = 2000;
const RETRY = [250, 500, 1000, 2000];

const documents = {};
const waiting = new Map();
let socket = null, number = 0, tries = 0, heardAt = 0, lastTime = 0, connected = false;
/** For those who measure: how many updates have come. */
window.skmUpdates = 0;

function ask(request) {
  if (!connected) return Promise.resolve({ ok: false, message: "there is no connection to the server" });
  const id = (number += 1);
  socket.send(JSON.stringify({ ...request, id }));
  return new Promise((resolve) => waiting.set(id, resolve));
}

const world = new World();
const machine = new Machine(ask);
const box = new MissionBox(ask);
const log = new Log();
const replay = new Replay(ask);

function connect() {
  socket = new WebSocket(`ws://${location.host}/socket`);
  socket.binaryType = "arraybuffer";
  socket.addEventListener("open", () => { connected = true; tries = 0; heardAt = performance.now(); if (box.box.value) box.check(); status(); });
  socket.addEventListener("message", (event) => (event.data instanceof ArrayBuffer ? world.image(event.data) : take(JSON.parse(event.data))));
  socket.addEventListener("close", () => {
    connected = false;
    for (const resolve of waiting.values()) resolve({ ok: false, message: "the connection to the server was lost" });
    waiting.clear();
    status();
    setTimeout(connect, RETRY[Math.min(tries++, RETRY.length - 1)]);
  });
}

function take(message) {
  heardAt = performance.now();
  if (message.type === "answer") {
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
    return;
  }
  window.skmUpdates += 1;
  lastTime = message.time;
  for (const [name, value] of Object.entries(message.documents ?? {})) documents[name] = value;
  for (const name of Object.keys(message.documents ?? {})) SHOW[name]?.(documents[name]);
  const { path, log: lines } = message.streams ?? {};
  if (path) world.path(path);
  if (lines) log.take(lines, clock);
  status();
}

const why = () => showWhy(documents.why, documents.mission ?? {}, documents.formula?.names ?? []);
const health = () => showHealth(documents.health ?? {}, new Set(documents.stale?.nodes ?? []));
const facts = () => documents.world && world.facts(documents.world, documents.paused);

const SHOW = {
  scene: (value) => world.scene(value),
  robot: (value) => world.robot(value),
  going: (value) => world.going(value),
  world: (value) => { facts(); box.alarm(value.stopped ? `The robot is stopped: ${value.stopped}` : ""); show("resume", Boolean(value.stopped) && documents.controls?.stop); },
  labels: (value) => byId("labels").replaceChildren(...(value.length ? value : ["nothing"]).map((label) => element("li", { class: value.length ? null : "muted" }, label))),
  events: () => events(),
  domain: (value) => { box.domain = value; where(); },
  machine: (value) => machine.drawing(value),
  position: (value) => machine.at(value),
  mission: (value) => { showMission(value, documents.formula); box.take(value); why(); },
  formula: () => { if (documents.mission) showMission(documents.mission, documents.formula); why(); },
  why,
  health,
  stale: () => health(),
  controls: (value) => { box.may(value); show("resume", Boolean(documents.world?.stopped) && value.stop); },
  paused: (value) => { box.pausing(value); facts(); },
  server: () => { where(); mode(); events(); },
  replay: (value) => replay.take(value),
};

/** Show which events are true; where the page may, a click sets one. */
function events() {
  const list = documents.events ?? [];
  const fixed = Boolean(documents.server?.read_only || documents.server?.replay);
  show("events", list.length > 0);
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
  const replaying = Boolean(server.replay);
  show("compose", !server.read_only && !replaying);
  show("stop", !server.read_only && !replaying);
  for (const id of ["send", "cancel", "pause", "reset"]) show(id, !replaying && !server.read_only);
  document.body.classList.toggle("read-only", server.read_only);
}

/** Say whether what is shown is live, and if not, since when. */
function status() {
  const silent = performance.now() - heardAt > SILENT;
  const { server, stale } = documents;
  let kind = "live", text = server?.replay ? "recording" : "live";
  if (!connected || silent) {
    kind = "lost";
    text = lastTime ? `connection lost: as of ${clock(lastTime)}` : "connecting …";
  } else if (stale?.world && !server?.replay) {
    kind = "stale";
    text = `stale: nothing heard from the world${stale.since ? ` since ${clock(stale.since)}` : " yet"}`;
  }
  if (server?.read_only && kind === "live" && !server?.replay) text = "live, read-only";
  say("status", text).dataset.kind = kind;
  document.body.classList.toggle("stale", kind !== "live");
  byId("stop").disabled = !connected || !documents.controls?.stop;
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

themes();
connect();
setInterval(status, 500);

// The one connection to the server: requests and their answers, news handed on, and a new connection where the old one says nothing.

const RETRY = [250, 500, 1000, 2000];
/** Milliseconds without a word, after which what is shown is not the present; the server speaks twice a second. */
const SILENT = 2000;
/** Milliseconds without a word, after which another connection is tried: a network that is gone closes none. */
const GIVEN_UP = 4000;
/** Milliseconds that a connection may take to open: four times a delay of two seconds, and more. */
const OPENING = 10000;
/** Milliseconds between two signs of life, which a dead-man switch is held by. */
const ALIVE = 200;
/** The close code of a page that had to go for a newer one of the same client. */
const REPLACED = 4008;

export class Link {
  /** `onMessage` takes what the server says, `onImage` a picture, `onChange` that the connection is there or gone. */
  constructor({ onMessage, onImage, onChange }) {
    this.heard = { onMessage, onImage };
    this.onChange = onChange;
    this.waiting = new Map();
    this.number = this.tries = this.heardAt = this.aliveAt = 0;
    this.connected = this.replaced = false;
    /** The server's time in the latest news, in seconds since 1970; 0: none yet. */
    this.time = 0;
    /** Whether signs of life are wanted, and given: who waits for a stop holds no switch. */
    this.holding = () => false;
    setInterval(() => this.watch(), 250);
    this.connect();
  }

  get silent() { return performance.now() - this.heardAt > SILENT; }

  /** Send a request; the promise is of its answer, also where there is no connection. */
  ask(request) {
    if (!this.connected) return Promise.resolve({ ok: false, lost: true, message: "there is no connection to the server" });
    const id = (this.number += 1);
    this.socket.send(JSON.stringify({ ...request, id }));
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  connect() {
    clearTimeout(this.timer);
    this.drop();
    this.replaced = false;
    const socket = (this.socket = new WebSocket(new URL("socket", document.baseURI.replace(/^http/, "ws"))));
    this.openedAt = performance.now();
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { this.connected = true; this.tries = 0; this.heardAt = performance.now(); this.onChange(); };
    socket.onmessage = (event) => this.take(event.data);
    socket.onclose = (event) => {
      this.drop();
      this.replaced = event.code === REPLACED;
      if (!this.replaced) this.timer = setTimeout(() => this.connect(), RETRY[Math.min(this.tries++, RETRY.length - 1)]);
      this.onChange();
    };
  }

  /** Let the connection go, if there is one: it may not even be able to say that it is closed. */
  drop() {
    const socket = this.socket;
    this.socket = null;
    this.connected = false;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
    for (const resolve of this.waiting.values()) resolve({ ok: false, lost: true, message: "the connection to the server was lost" });
    this.waiting.clear();
  }

  watch() {
    const now = performance.now();
    const dead = this.connected ? now - this.heardAt > GIVEN_UP : this.socket && now - this.openedAt > OPENING;
    if (dead) { this.connect(); this.onChange(); }
  }

  take(data) {
    this.heardAt = performance.now();
    if (data instanceof ArrayBuffer) { this.heard.onImage(data); return; }
    const message = JSON.parse(data);
    if (message.type === "answer") {
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
      return;
    }
    this.time = message.time;
    this.heard.onMessage(message);
    if (this.holding() && document.visibilityState === "visible" && this.heardAt - this.aliveAt >= ALIVE) {
      this.aliveAt = this.heardAt;
      this.socket?.send(JSON.stringify({ type: "alive", time: this.time }));
    }
  }
}

// The one connection of the page: pictures and texts from the console, held keys and STOP to it.
// Every component uses `link`; nothing else opens a socket to the machine.

const HEADER = 4; // numbers before the bodies of a picture: version, number, timestamp, bodies
const FRAME = 12; // numbers of a body: x, y and z axis, origin
const RETRY_MS = 500;
const SILENT_MS = 1000;
const OLD_MS = 1500; // without a picture after which what is shown counts as old
const ENDED = [1001, 1012]; // codes with which a server closes its connections when it is ended

class Link extends EventTarget {
  machine = null; // the latest description
  picture = null; // {version, number, timestamp, bodies, values, twin}
  path = null; // that of the active goal
  drawn = null; // number of the picture drawn last
  updates = 0; // pictures drawn since the page was opened
  delays = []; // ms from telemetry to the drawn frame, the latest 600
  costs = []; // ms of page time of a scene update, the latest 600

  // recorded: the page plays a recording; it has no STOP, and the keys of STOP are free.
  connect(page, recorded = false) {
    if (this.page) return;
    this.page = page;
    this.recorded = recorded;
    this.#open();
    setInterval(() => this.#watch(), 250);
  }

  get live() {
    return this.socket?.readyState === WebSocket.OPEN && performance.now() - this.heard < SILENT_MS;
  }

  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  // STOP takes both ways at once, so that a stalled socket does not keep it. Twice does no harm.
  stop() {
    this.dispatchEvent(new CustomEvent("stop"));
    this.send({ type: "stop" });
    const failed = (why) => ({ confirmed: false, text: `STOP was not confirmed: the console ${why}` });
    fetch("/console/stop", { method: "POST", keepalive: true })
      .then((answer) => (answer.ok ? answer.json() : failed(`answers with status ${answer.status}`)))
      .catch(() => failed("does not answer"))
      .then((answer) => this.#tell("stopped", answer));
  }

  // Components call this after each frame that shows a new picture.
  seen(picture, cost) {
    if (picture.number === this.drawn) return;
    this.drawn = picture.number;
    this.updates++;
    this.send({ type: "seen", picture: picture.number });
    this.delays.push(Date.now() - 1e3 * picture.timestamp);
    this.costs.push(cost);
    if (this.delays.length > 600) this.delays.shift(), this.costs.shift();
  }

  #open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/console/link?page=${this.page}`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.heard = performance.now();
    socket.onmessage = (event) => {
      this.heard = performance.now();
      if (typeof event.data === "string") this.#read(JSON.parse(event.data));
      else this.#show(new Float64Array(event.data));
    };
    socket.onclose = (event) => {
      if (ENDED.includes(event.code)) this.ended = true; // until a console answers again
      this.dispatchEvent(new CustomEvent("lost"));
      setTimeout(() => this.#open(), RETRY_MS);
    };
  }

  #read(message) {
    if (message.type === "machine") this.machine = message = inChosenUnits(message);
    if (message.type === "path") this.path = message;
    this.#tell(message.type, message);
  }

  #show(numbers) {
    const bodies = numbers[3];
    const end = HEADER + FRAME * bodies;
    const values = end + (this.machine?.channels.length ?? 0);
    this.picture = {
      version: numbers[0],
      number: numbers[1],
      timestamp: numbers[2],
      bodies: numbers.subarray(HEADER, end),
      values: numbers.subarray(end, values),
      twin: numbers.subarray(values), // frames of a ghost: the digital twin, or a second recording
    };
    this.pictured = this.heard;
    this.#tell("picture", this.picture);
  }

  #watch() {
    const live = this.live;
    if (live !== this.wasLive) this.#tell("live", { live });
    this.wasLive = live;
    if (live) this.ended = false;
    document.documentElement.classList.toggle("console-ended", !!this.ended);
    document.documentElement.classList.toggle("link-lost", !live);
    const old = !this.recorded && this.machine && performance.now() - this.pictured > OLD_MS;
    document.documentElement.classList.toggle("machine-old", !!old);
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

// The description with the units that this browser has chosen (scene_card.py), else those of the console.
function inChosenUnits(machine) {
  const chosen = document.cookie.match(/(?:^|; )linkwork_units=(\w+)/)?.[1];
  const shown = machine.shown[chosen] ?? machine.shown[machine.choice];
  return { ...machine, shown, units: machine.units.map((unit) => shown[unit] ?? [1, unit]) };
}

export const link = new Link();

// Index of a channel in the values of a picture, -1 where there is none.
export function channel(name) {
  return link.machine ? link.machine.channels.indexOf(name) : -1;
}

export function value(name) {
  const index = channel(name);
  return index < 0 || !link.picture ? NaN : link.picture.values[index];
}

export function isTextField(element) {
  if (!element) return false;
  if (element.readOnly) return false; // a list to choose from is an input, too
  if (element.isContentEditable || element.tagName === "TEXTAREA") return true;
  const plain = ["button", "checkbox", "radio", "range", "submit", "reset", "file", "color"];
  return element.tagName === "INPUT" && !plain.includes(element.type);
}

// What WebGL runs on: "hardware", "software", or "" where there is none. Software draws on the processor, which
// every other part of the page then has to spare.
let drawsOn = null;
export function graphics() {
  drawsOn ??= findGraphics();
  return drawsOn;
}

function findGraphics() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return "";
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name) ? "software" : "hardware";
}

// STOP: space and Escape wherever the focus is, except in a text field; and every element marked data-stop.
let swallowed = false;
window.addEventListener(
  "keydown",
  (event) => {
    if (link.recorded || (event.key !== " " && event.key !== "Escape")) return;
    if (isTextField(event.target)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    swallowed = true;
    if (!event.repeat) link.stop();
  },
  true,
);
window.addEventListener(
  "keyup",
  (event) => {
    if (!swallowed || (event.key !== " " && event.key !== "Escape")) return;
    swallowed = false;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);
window.addEventListener(
  "pointerdown",
  (event) => {
    if (event.target.closest?.("[data-stop]")) link.stop();
  },
  true,
);
window.addEventListener(
  "click",
  (event) => {
    // Enter on the button, and assistive technology, click without a pointer.
    if (event.detail === 0 && event.target.closest?.("[data-stop]")) link.stop();
  },
  true,
);

window.linkwork = { link, value };

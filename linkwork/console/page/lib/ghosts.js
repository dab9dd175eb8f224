// Transparent copies of the machine, and the paths that they walk: goals before and while they are followed.
import { THREE } from "nicegui-scene";
import { channel, link } from "linkwork-console";
import { Bodies, FRAME } from "linkwork-console/bodies.js";
import { color } from "linkwork-console/plot_base.js";

const AHEAD = 0x0072b2; // a path to come
const REFUSED = 0xd55e00;
const TWIN = 0x009e73;
const LISTED = 0.01; // share of the time from which on a limit stands in the legend
const MODES = [0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00, 0x8c8c8c, 0xb8860b];

// Frames of all bodies along a path, as the console sends them: 32-bit floats in base64.
export class Poses {
  constructor(message, bodies) {
    const bytes = Uint8Array.from(atob(message.frames), (letter) => letter.charCodeAt(0));
    this.frames = new Float32Array(bytes.buffer);
    this.stride = FRAME * bodies;
    this.times = message.times ?? [];
    this.count = this.stride ? this.frames.length / this.stride : 0;
  }

  // Number of the pose nearest to a time.
  at(time) {
    let best = 0;
    this.times.forEach((each, k) => {
      if (Math.abs(each - time) < Math.abs(this.times[best] - time)) best = k;
    });
    return best;
  }

  // Where a place of a body is; null: the place is in the world.
  place(pose, body, at) {
    if (body === null) return new THREE.Vector3(...at);
    const n = (k) => this.frames[pose * this.stride + FRAME * body + k];
    const coordinate = (axis) => n(9 + axis) + n(axis) * at[0] + n(3 + axis) * at[1] + n(6 + axis) * at[2];
    return new THREE.Vector3(coordinate(0), coordinate(1), coordinate(2));
  }
}

// A transparent copy of all bodies.
class Ghost {
  constructor(view, color, opacity) {
    this.view = view;
    this.bodies = new Bodies(link.machine.scene, { ghost: { color, opacity }, changed: () => (view.dirty = true) });
    view.world.add(this.bodies.object);
  }

  get material() {
    return this.bodies.material;
  }

  pose(poses, k) {
    this.bodies.pose(poses.frames, k * poses.stride);
    this.view.dirty = true;
  }

  remove() {
    this.view.world.remove(this.bodies.object);
    this.bodies.object.traverse((part) => part.geometry?.dispose());
    this.material.dispose();
    this.view.dirty = true;
  }
}

// The color of a limit of the fastest timing, by its number.
export function hue(k) {
  return color(k, document.body.classList.contains("body--dark"));
}

// The path of the tool: a line, and a dot for each pose. Dots at equal times: the closer, the slower.
// hues: numbers of colors, one for each pose; without them all have one color.
class ToolPath {
  constructor(view, poses, color, hues) {
    const { tool, size } = view;
    const body = view.index[tool.body] ?? null;
    this.view = view;
    this.places = Array.from({ length: poses.count }, (_, k) => poses.place(k, body, tool.at));
    this.line = new THREE.Line(
      new THREE.BufferGeometry().setFromPoints(this.places),
      new THREE.LineBasicMaterial(hues ? { vertexColors: true } : { color }),
    );
    const dot = new THREE.SphereGeometry((hues ? 0.012 : 0.008) * size, 6, 4);
    const material = new THREE.MeshBasicMaterial(hues ? {} : { color });
    this.dots = new THREE.InstancedMesh(dot, material, Math.max(1, poses.count));
    if (hues) this.paint(hues.map((k) => new THREE.Color(hue(k))));
    this.dots.frustumCulled = this.line.frustumCulled = false;
    const matrix = new THREE.Matrix4();
    // Backwards, so that what is past can be left out.
    this.places.forEach((place, k) => this.dots.setMatrixAt(poses.count - 1 - k, matrix.setPosition(place)));
    this.dots.count = poses.count;
    view.world.add(this.line, this.dots);
    view.dirty = true;
  }

  // Give each pose its color.
  paint(colors) {
    const numbers = new Float32Array(colors.flatMap((each) => each.toArray()));
    this.line.geometry.setAttribute("color", new THREE.BufferAttribute(numbers, 3));
    colors.forEach((each, k) => this.dots.setColorAt(colors.length - 1 - k, each));
  }

  // Leave out what lies before the pose k.
  from(k) {
    this.line.geometry.setDrawRange(k, Infinity);
    this.dots.count = this.places.length - k;
  }

  show(on) {
    this.line.visible = this.dots.visible = on;
  }

  remove() {
    this.view.world.remove(this.line, this.dots);
    this.line.geometry.dispose();
    this.dots.dispose();
    this.view.dirty = true;
  }
}

// Texts beside places of the scene; those with an action are buttons.
export class Labels {
  constructor(view, box = view.$el.querySelector(".machine-labels")) {
    this.view = view;
    this.box = box;
    this.known = [];
  }

  add(place, text, kind, act) {
    const label = document.createElement(act ? "button" : "span");
    label.className = `machine-label ${kind}`;
    label.textContent = text;
    if (act) label.addEventListener("click", act);
    this.box.append(label);
    this.known.push({ place, label });
    this.view.dirty = true;
    return label;
  }

  clear() {
    this.box.replaceChildren();
    this.known = [];
  }

  // After each frame: where the camera sees the places; those that move are functions.
  follow() {
    const { clientWidth: width, clientHeight: height } = this.view.$el;
    for (const { place, label } of this.known) {
      const seen = (typeof place === "function" ? place() : place.clone()).project(this.view.camera);
      label.style.left = `${Math.max(0, Math.min(width - label.offsetWidth, ((seen.x + 1) / 2) * width))}px`;
      label.style.top = `${Math.max(0, Math.min(height - label.offsetHeight, ((1 - seen.y) / 2) * height))}px`;
    }
  }
}

// All ghosts of one view.
export class GhostLayer {
  constructor(view) {
    this.view = view;
    this.labels = new Labels(view);
    this.ears = [
      ["preview", (event) => this.preview(event.detail)],
      ["scrub", (event) => this.scrub(event.detail)],
      ["path", (event) => this.goal(event.detail)],
      ["modes", (event) => this.modes(event.detail)],
      ["mode-seen", (event) => this.pick(event.detail.mode)],
    ];
    for (const [type, handler] of this.ears) link.addEventListener(type, handler);
    this.canvasClick = (event) => this.clicked(event);
    view.canvas.addEventListener("click", this.canvasClick);
  }

  remove() {
    for (const [type, handler] of this.ears) link.removeEventListener(type, handler);
    this.view.canvas.removeEventListener("click", this.canvasClick);
  }

  // The machine was built again: its ghosts are of the old one.
  rebuild() {
    this.ahead?.remove();
    this.twin?.remove();
    this.ahead = this.twin = null;
    this.preview({});
    this.modes({});
    if (link.path) this.goal(link.path);
  }

  // The path of the active goal.
  goal(message) {
    this.ahead?.remove();
    this.ahead = null;
    this.running = message.frames ? message.limits : null;
    this.legend();
    if (!message.frames || message.bodies !== this.view.bodies?.length) return;
    this.poses = new Poses(message, this.view.bodies.length);
    this.ahead = new ToolPath(this.view, this.poses, AHEAD, message.hues);
    this.follow();
  }

  // What the colors of a path in the fastest time mean: of the preview, else of the active goal.
  legend() {
    const box = this.view.$el.querySelector(".machine-legend");
    const limits = (this.asked ?? this.running ?? []).filter((limit) => limit.share >= LISTED);
    const lines = limits.map((limit) => {
      const line = document.createElement("li");
      line.style.setProperty("--hue", hue(limit.hue));
      line.textContent = `${limit.text} ${Math.round(100 * limit.share)} %`;
      return line;
    });
    box.replaceChildren(...lines);
  }

  // Called with each picture.
  follow() {
    this.followTwin();
    if (!this.ahead) return;
    const on = this.view.layers?.ahead !== false;
    this.ahead.show(on);
    const at = link.picture?.values[channel("path_s")];
    if (on && Number.isFinite(at)) this.ahead.from(this.poses.at(at));
  }

  followTwin() {
    const frames = link.picture?.twin;
    const on = this.view.layers?.twin && frames?.length === FRAME * this.view.bodies.length;
    if (!on) {
      this.twin?.remove();
      this.twin = null;
      return;
    }
    this.twin ??= new Ghost(this.view, TWIN, 0.45);
    this.twin.pose({ frames, stride: 0 }, 0);
  }

  preview(message) {
    for (const part of [this.ghost, this.planned, ...(this.marks ?? [])]) part?.remove();
    this.ghost = this.planned = null;
    this.marks = [];
    this.labels.clear();
    this.asked = message.frames ? message.limits : null;
    this.legend();
    if (!message.frames || message.bodies !== this.view.bodies?.length) return;
    const { view } = this;
    const poses = new Poses(message, view.bodies.length);
    this.shown = { ...message, poses };
    this.planned = new ToolPath(view, poses, message.refused == null ? AHEAD : REFUSED, message.hues);
    this.ghost = new Ghost(view, AHEAD, 0.45);
    for (const event of message.events ?? []) {
      const k = poses.at(event.time_s);
      this.mark(this.planned.places[k], 0xe69f00);
      this.labels.add(this.planned.places[k], event.text, "event");
    }
    if (message.refused != null) {
      const place = this.placeOf(message.joint, poses, message.refused);
      this.mark(place, REFUSED);
      this.labels.add(place, message.reason, "refused");
    }
    this.pose(message.refused ?? 0);
  }

  // Where the joint of a violation is in a pose; the tool, where it is no joint.
  placeOf(name, poses, pose) {
    const { scene } = link.machine;
    const joint = scene.joints.find((each) => each.name === name);
    return joint ? poses.place(pose, this.view.index[joint.child], [0, 0, 0]) : this.planned.places[pose].clone();
  }

  mark(place, color) {
    const { view } = this;
    const ball = new THREE.Mesh(
      new THREE.SphereGeometry(0.03 * view.size, 16, 12),
      new THREE.MeshBasicMaterial({ color, transparent: true, opacity: 0.8, depthTest: false }),
    );
    ball.position.copy(place);
    view.world.add(ball);
    this.marks.push({ remove: () => view.world.remove(ball) });
  }

  scrub(time) {
    if (this.ghost) this.pose(this.shown.poses.at(time));
  }

  pose(k) {
    this.ghost.material.color.set(k === this.shown.refused ? REFUSED : AHEAD);
    this.ghost.pose(this.shown.poses, k);
  }

  // Assembly modes, one ghost each; choosing one is an event "mode" of the link.
  modes(message) {
    for (const ghost of this.choices ?? []) ghost.remove();
    if (this.choices?.length) this.labels.clear();
    this.choices = [];
    const several = !!message.frames && message.bodies === this.view.bodies?.length;
    if (this.view.machine) this.view.machine.object.visible = !several;
    this.view.dirty = true;
    if (!several) return;
    this.preview({});
    const { view } = this;
    const poses = new Poses(message, view.bodies.length);
    const body = view.index[view.tool.body] ?? null;
    this.choices = Array.from({ length: poses.count }, (_, k) => {
      const ghost = new Ghost(view, MODES[k % MODES.length], 0.5);
      ghost.pose(poses, k);
      const place = poses.place(k, body, view.tool.at);
      const label = this.labels.add(place, `${k + 1}`, "mode", () => this.choose(k));
      label.setAttribute("aria-label", `assembly mode ${k + 1}`);
      label.style.borderColor = `#${MODES[k % MODES.length].toString(16).padStart(6, "0")}`;
      for (const type of ["pointerenter", "focus"]) label.addEventListener(type, () => this.pick(k));
      for (const type of ["pointerleave", "blur"]) label.addEventListener(type, () => this.pick(null));
      return ghost;
    });
  }

  // Let one of the modes stand out; null: none.
  pick(k) {
    this.choices?.forEach((ghost, each) => {
      ghost.material.opacity = k === null ? 0.5 : each === k ? 0.9 : 0.12;
    });
    this.view.dirty = true;
  }

  choose(k) {
    link.dispatchEvent(new CustomEvent("mode", { detail: k }));
  }

  clicked(event) {
    if (!this.choices?.length) return;
    const box = this.view.canvas.getBoundingClientRect();
    const place = new THREE.Vector2(
      ((event.clientX - box.left) / box.width) * 2 - 1,
      1 - ((event.clientY - box.top) / box.height) * 2,
    );
    const ray = new THREE.Raycaster();
    ray.setFromCamera(place, this.view.camera);
    const hits = this.choices
      .map((ghost, k) => ({ k, hit: ray.intersectObject(ghost.bodies.object, true)[0] }))
      .filter(({ hit }) => hit)
      .sort((one, other) => one.hit.distance - other.hit.distance);
    if (hits.length) this.choose(hits[0].k);
  }
}

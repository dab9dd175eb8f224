// The machine in 3-D: one group for each body, moved by one message for each picture.
import { OrbitControls, THREE } from "nicegui-scene";
import { channel, graphics, link } from "linkwork-console";
import { Beside } from "linkwork-console/beside.js";
import { ball, Bodies, setFrame, sizeOf } from "linkwork-console/bodies.js";
import { GhostLayer, Labels } from "linkwork-console/ghosts.js";

const TRAIL = 3000;
const GOOD = new THREE.Color(0x009e73);
const BAD = new THREE.Color(0xd55e00);
const UP = new THREE.Vector3(0, 1, 0);

export default {
  template: `
    <div class="machine-view">
      <canvas tabindex="0" aria-label="The machine in 3-D. Drag to turn, scroll to zoom." role="img"></canvas>
      <div class="machine-labels"></div>
      <div class="machine-labels"></div>
      <ul class="machine-legend" aria-label="What limits the motion"></ul>
      <p class="machine-view-note" role="status"></p>
      <p class="machine-scale"></p>
    </div>`,
  props: { layers: Object },
  mounted() {
    this.canvas = this.$el.querySelector("canvas");
    [this.note, this.scale] = this.$el.querySelectorAll("p");
    if (!graphics()) {
      this.note.textContent = "This browser has no WebGL: the machine is not drawn.";
      link.addEventListener("picture", (event) => link.seen(event.detail, 0));
      if (link.picture) link.seen(link.picture, 0);
      return;
    }
    const antialias = graphics() === "hardware"; // in software, smooth edges cost most of the frame rate
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias, alpha: true });
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(40, 1, 0.001, 100);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => (this.dirty = true));
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x667788, 2.2));
    const sun = new THREE.DirectionalLight(0xffffff, 1.6);
    sun.position.set(1, -2, 3);
    this.scene.add(sun);
    keepSize(this.$el.closest(".scene-card"), "height");
    keepSize(this.$el.closest(".left"), "width");
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.$el);
    this.ghosts = new GhostLayer(this);
    this.names = new Labels(this, this.$el.querySelectorAll(".machine-labels")[1]);
    this.onMode = (event) => this.$emit("mode", event.detail);
    link.addEventListener("mode", this.onMode);
    this.onMachine = () => this.build();
    link.addEventListener("machine", this.onMachine);
    if (link.machine) this.build();
    const frame = () => {
      if (this.gone) return;
      requestAnimationFrame(frame);
      this.draw();
    };
    requestAnimationFrame(frame);
  },
  beforeUnmount() {
    this.gone = true;
    this.ghosts?.remove();
    link.removeEventListener("mode", this.onMode);
    link.removeEventListener("machine", this.onMachine);
    this.observer?.disconnect();
    this.renderer?.dispose();
  },
  watch: {
    layers: {
      deep: true,
      handler() {
        this.show();
      },
    },
  },
  methods: {
    resize() {
      const { clientWidth: width, clientHeight: height } = this.$el;
      if (!width || !height) return;
      this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
      this.renderer.setSize(width, height, false);
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      this.dirty = true;
    },
    build() {
      const { scene, machine } = link.machine;
      if (this.built === machine + JSON.stringify(scene)) {
        this.findChannels();
        return; // only the channels have changed
      }
      this.built = machine + JSON.stringify(scene);
      if (this.world) this.scene.remove(this.world);
      this.world = new THREE.Group();
      this.scene.add(this.world);
      this.machine = new Bodies(scene, {
        changed: () => (this.dirty = true),
        failed: (text) => (this.note.textContent = text),
      });
      this.world.add(this.machine.object);
      this.bodies = this.machine.groups;
      this.index = this.machine.index;
      this.extras = { frames: [], axes: [], forces: [], efforts: [], trail: [], regions: [], names: [] };
      this.size = sizeOf(scene);
      this.buildGround(scene);
      this.buildExtras(scene);
      this.findChannels();
      this.second = link.machine.beside ? new Beside(this, link.machine.beside.scene) : null;
      this.framed = false;
      this.ghosts.rebuild();
      this.show();
    },
    group(parent) {
      const group = new THREE.Group();
      group.matrixAutoUpdate = false;
      parent.add(group);
      return group;
    },
    bodyOf(name) {
      return this.machine.of(name);
    },
    buildGround(scene) {
      const decade = 10 ** Math.floor(Math.log10(this.size / 2));
      const step = decade * [5, 2, 1].find((each) => each * decade <= this.size / 2);
      this.grid = new THREE.GridHelper(16 * step, 16, 0x888888, 0x888888);
      const [factor, unit] = link.machine.shown.m;
      this.scale.textContent = `grid ${+(factor * step).toPrecision(3)} ${unit}`;
      this.grid.material.transparent = true;
      this.grid.material.opacity = 0.25;
      this.world.add(this.grid);
    },
    buildExtras(scene) {
      const size = this.size;
      for (const body of this.bodies) {
        const axes = new THREE.AxesHelper(0.2 * size);
        axes.material.depthTest = false;
        body.add(axes);
        this.extras.frames.push(axes);
      }
      const world = new THREE.AxesHelper(0.3 * size);
      this.world.add(world);
      this.extras.frames.push(world);
      for (const joint of scene.joints) {
        if (joint.kind === "other") continue;
        const axis = new THREE.Vector3(...joint.axis).multiplyScalar(0.16 * size);
        const ends = [axis.clone().negate(), axis];
        const line = new THREE.Line(
          new THREE.BufferGeometry().setFromPoints(ends),
          new THREE.LineBasicMaterial({ color: 0xd55e00 }),
        );
        this.bodyOf(joint.child).add(line); // the axis passes through the child's origin
        this.extras.axes.push(line);
        if (!joint.most) continue;
        const gauge = effortGauge(joint, size);
        this.bodyOf(joint.child).add(gauge.object);
        gauge.name = joint.name;
        gauge.most = joint.most;
        this.extras.efforts.push(gauge);
      }
      for (const closure of scene.closures) {
        const holder = this.group(this.bodyOf(closure.body));
        setFrame(holder, [...closure.axes.flat(), ...closure.at]);
        const arrow = new THREE.ArrowHelper(UP.clone(), new THREE.Vector3(), 0.2 * size, 0xcc3377);
        holder.add(arrow);
        this.extras.forces.push({ name: closure.name, arrow });
      }
      scene.points.forEach((point, k) => {
        const color = k === scene.points.length - 1 ? 0xcc79a7 : 0x999999;
        const mark = ball(0.026 * size, new THREE.MeshLambertMaterial({ color }));
        mark.position.set(...point.at);
        this.bodyOf(point.body).add(mark);
        point.mark = mark;
      });
      this.names.clear();
      for (const { name, com } of scene.bodies) {
        this.names.add(() => new THREE.Vector3(...com).applyMatrix4(this.bodyOf(name).matrix), name, "name");
      }
      this.tool = scene.points.at(-1) ?? { body: scene.bodies.at(-1).name, at: scene.bodies.at(-1).com };
      this.trail = polyline(TRAIL, 0xcc79a7);
      this.world.add(this.trail);
      for (const region of scene.regions) this.buildRegion(region);
      this.trailCount = 0;
    },
    buildRegion(region) {
      const far = 2 * this.size;
      const low = new THREE.Vector3(...region.low.map((x) => x ?? -far));
      const high = new THREE.Vector3(...region.high.map((x) => x ?? far));
      const box = new THREE.Box3Helper(new THREE.Box3(low, high), 0xe69f00);
      this.world.add(box);
      this.extras.regions.push(box);
    },
    findChannels() {
      for (const gauge of this.extras.efforts) gauge.channel = channel(`effort/${gauge.name}`);
      for (const force of this.extras.forces) {
        force.channels = ["x", "y", "z"].map((row) => channel(`constraint_force/${force.name}.${row}`));
      }
      this.sigma = channel("sigma_motors");
    },
    show() {
      if (!this.extras) return;
      const on = this.layers ?? {};
      for (const each of this.extras.frames) each.visible = !!on.frames;
      for (const each of this.extras.axes) each.visible = !!on.axes;
      for (const each of this.extras.regions) each.visible = !!on.regions;
      for (const each of this.extras.efforts) each.object.visible = !!on.efforts;
      for (const each of this.extras.forces) each.arrow.visible = false;
      this.trail.visible = !!on.trail;
      this.grid.visible = on.grid !== false;
      this.scale.hidden = !this.grid.visible;
      this.names.box.hidden = !on.names;
      this.dirty = true;
    },
    draw() {
      const picture = link.picture;
      const fresh = picture && picture.number !== link.drawn && this.bodies?.length * 12 === picture.bodies.length;
      if (!fresh && !this.dirty) return;
      const begin = performance.now();
      if (fresh) this.move(picture);
      this.controls.update();
      this.dirty = false;
      this.renderer.render(this.scene, this.camera);
      this.ghosts.labels.follow();
      if (this.layers?.names) this.names.follow();
      if (fresh) link.seen(picture, performance.now() - begin);
    },
    move(picture) {
      this.machine.pose(picture.bodies);
      if (!this.framed) this.frameAll();
      this.ghosts.follow();
      const tool = new THREE.Vector3(...this.tool.at).applyMatrix4(this.bodyOf(this.tool.body).matrix);
      if (!this.last || this.last.distanceTo(tool) > 2e-4 * this.size) this.lengthen(tool);
      const on = this.layers ?? {};
      if (on.efforts) {
        for (const gauge of this.extras.efforts) gauge.set(picture.values[gauge.channel] / gauge.most);
      }
      if (on.forces) this.drawForces(picture.values);
      if (this.tool.mark) {
        const sigma = this.sigma < 0 ? NaN : picture.values[this.sigma];
        const material = this.tool.mark.material;
        if (on.conditioning && Number.isFinite(sigma)) material.color.lerpColors(BAD, GOOD, Math.min(1, sigma * 2));
        else material.color.set(0xcc79a7);
      }
      this.second?.follow(picture.twin);
    },
    drawForces(values) {
      const forces = this.extras.forces.map(
        (each) => new THREE.Vector3(...each.channels.map((k) => (k < 0 ? 0 : values[k]))),
      );
      const largest = Math.max(1, ...forces.map((force) => force.length() || 0));
      this.extras.forces.forEach((each, k) => {
        const length = forces[k].length();
        each.arrow.visible = length > 1e-3 * largest;
        if (!each.arrow.visible) return;
        each.arrow.setDirection(forces[k].clone().normalize());
        each.arrow.setLength((0.5 * this.size * length) / largest);
      });
    },
    lengthen(place) {
      this.last = place.clone();
      const position = this.trail.geometry.attributes.position;
      if (this.trailCount === TRAIL) {
        position.array.copyWithin(0, 3);
        this.trailCount--;
      }
      position.setXYZ(this.trailCount++, place.x, place.y, place.z);
      position.needsUpdate = true;
      this.trail.geometry.setDrawRange(0, this.trailCount);
    },
    forgetTrail() {
      this.trailCount = 0;
      this.trail.geometry.setDrawRange(0, 0);
      this.dirty = true;
    },
    look(from) {
      this.from = from;
      this.frameAll();
      this.dirty = true;
    },
    // A camera that shows all bodies; a machine that lies in a plane is seen from the plane's side.
    frameAll() {
      this.framed = true;
      const box = new THREE.Box3();
      this.scene.updateMatrixWorld(true);
      for (const group of [this.machine.object, ...this.bodies]) {
        for (const child of group.children) if (child.isMesh || (child.isGroup && group !== this.machine.object)) box.expandByObject(child);
      }
      const middle = box.getCenter(new THREE.Vector3());
      const extent = box.getSize(new THREE.Vector3());
      const reach = Math.max(extent.length(), 0.05);
      const { normal } = link.machine.scene;
      const up = new THREE.Vector3(...(normal ?? [0, 0, 1])); // of the grid, which lies behind the machine
      this.grid.quaternion.setFromUnitVectors(UP, up);
      const depth = 0.5 * (Math.abs(up.x) * extent.x + Math.abs(up.y) * extent.y + Math.abs(up.z) * extent.z);
      this.grid.position.copy(middle).addScaledVector(up, -depth);
      let from = new THREE.Vector3(...(normal ?? [0.9, -1.1, 0.7]));
      if (from.z > 0.999) from.y = -0.001; // from above: y points up
      const named = { front: [0, -1, 0], top: [0, -0.001, 1], side: [1, 0, 0] }[this.from];
      if (named) from = new THREE.Vector3(...named);
      from.normalize().multiplyScalar((1.5 * reach) / Math.min(1, this.camera.aspect));
      this.camera.position.copy(middle).add(from);
      this.camera.near = 0.01 * reach;
      this.camera.far = 50 * reach;
      this.camera.updateProjectionMatrix();
      this.controls.target.copy(middle);
      this.controls.update();
    },
  },
};

// Remember the size that the user has given to an element.
function keepSize(element, side) {
  const key = `linkwork-${side}`;
  element.style[side] = localStorage.getItem(key) ?? "";
  new ResizeObserver(() => element.style[side] && localStorage.setItem(key, element.style[side])).observe(element);
}

function polyline(count, color) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * count), 3));
  geometry.setDrawRange(0, 0);
  const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color }));
  line.frustumCulled = false;
  return line;
}

// An arc about a turning axis, or a bar along a sliding one: its length is the share of the largest effort.
function effortGauge(joint, size) {
  const steps = 48;
  const points = [];
  for (let k = 0; k <= 2 * steps; k++) {
    const share = k / steps - 1; // -1 … 1
    if (joint.kind === "slides") points.push(new THREE.Vector3(0.06 * size, 0, 0.3 * size * share));
    else {
      const angle = 0.75 * Math.PI * share;
      points.push(new THREE.Vector3(-Math.sin(angle), Math.cos(angle), 0).multiplyScalar(0.1 * size));
    }
  }
  const curve = new THREE.CatmullRomCurve3(points);
  const geometry = new THREE.TubeGeometry(curve, 2 * steps, 0.012 * size, 6);
  const object = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({ color: 0xe69f00 }));
  object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...joint.axis));
  const ring = 36; // indices of one ring of the tube: 6 sides, 2 triangles
  return {
    object,
    set(share) {
      const bounded = Math.max(-1, Math.min(1, Number.isFinite(share) ? share : 0));
      const count = Math.round(Math.abs(bounded) * steps);
      geometry.setDrawRange(ring * (bounded < 0 ? steps - count : steps), ring * count);
      object.material.color.set(Math.abs(bounded) > 0.9 ? 0xd55e00 : 0xe69f00);
    },
  };
}

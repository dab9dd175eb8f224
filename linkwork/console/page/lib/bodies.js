// The bodies of a machine as objects of the scene: rods between their joints, or their own shapes.
import { THREE, GLTFLoader, STLLoader } from "nicegui-scene";

const LINK_COLORS = [0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00, 0x8c8c8c, 0xf0e442];
// Where a ghost coincides with the machine, the machine is seen.
const GHOSTLY = { transparent: true, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 };
const UP = new THREE.Vector3(0, 1, 0);
export const FRAME = 12; // numbers of a body: x, y and z axis, origin

export function setFrame(group, numbers, begin = 0) {
  const n = (k) => numbers[begin + k];
  // prettier-ignore
  group.matrix.set(
    n(0), n(3), n(6), n(9),
    n(1), n(4), n(7), n(10),
    n(2), n(5), n(8), n(11),
    0, 0, 0, 1,
  );
  group.matrixWorldNeedsUpdate = true;
}

// A length by which everything is drawn (m).
export function sizeOf(scene) {
  return Math.max(0.02, ...scene.lines.flatMap((line) => line.ends.map((end) => Math.hypot(...end.at))));
}

export function ball(radius, material) {
  return new THREE.Mesh(new THREE.SphereGeometry(radius, 14, 9), material);
}

// Bodies of a scene as the console describes it. ghost: {color, opacity} of all of them.
// changed: called when a mesh has arrived; failed: with a text where it has not.
export class Bodies {
  constructor(scene, { ghost = null, changed = () => {}, failed = () => {} } = {}) {
    this.object = new THREE.Group();
    this.changed = changed;
    this.failed = failed;
    this.material = ghost && new THREE.MeshLambertMaterial({ ...GHOSTLY, ...ghost });
    this.groups = scene.bodies.map(() => frame(this.object));
    this.index = Object.fromEntries(scene.bodies.map((body, k) => [body.name, k]));
    this.lines = scene.lines;
    this.radius = 0.018 * sizeOf(scene);
    this.owners = [...new Set([...scene.bodies.map((body) => body.name), ...scene.lines.map((line) => line.of)])];
    this.spans = []; // lines between two bodies
    const shaped = new Set(scene.shapes.map((shape) => shape.body));
    this.rods((line) => !shaped.has(line.of));
    for (const shape of scene.shapes) this.shape(shape);
  }

  // Group of a body; that of all, which stands still, for the world.
  of(name) {
    return name in this.index ? this.groups[this.index[name]] : this.object;
  }

  // Frames of all bodies, 12 numbers each, from a place on.
  pose(numbers, begin = 0) {
    this.groups.forEach((group, k) => setFrame(group, numbers, begin + FRAME * k));
    for (const { mesh, ends } of this.spans) {
      span(mesh, ...ends.map((end) => new THREE.Vector3(...end.at).applyMatrix4(this.of(end.body).matrix)));
    }
  }

  // Lines within a body move with it; those between two bodies (slides, rods, springs) are laid in each pose.
  rods(wanted) {
    for (const { kind, of, ends } of this.lines.filter(wanted)) {
      const base = of === "world";
      if (base && this.material) continue; // a ghost of what cannot move hides it
      const { radius } = this;
      const color = base ? 0x777777 : LINK_COLORS[this.owners.indexOf(of) % LINK_COLORS.length];
      const material = this.material ?? new THREE.MeshLambertMaterial({ color });
      const thick = radius * (base ? 0.4 : { body: 1, slide: 0.7, rod: 0.7, spring: 0.3 }[kind]);
      const mesh = new THREE.Mesh(new THREE.CylinderGeometry(thick, thick, 1, 10), material);
      const end = ball(base || kind !== "body" ? 1.5 * radius : radius, material);
      end.position.set(...ends[1].at);
      this.of(ends[1].body).add(end);
      if (kind === "body") {
        span(mesh, ...ends.map((each) => new THREE.Vector3(...each.at)));
        this.of(of).add(mesh);
      } else {
        this.spans.push({ mesh, ends });
        this.object.add(mesh);
      }
    }
  }

  shape(shape) {
    if (this.material && !(shape.body in this.index)) return;
    const color = shape.color ?? "#9aa4ad";
    const opacity = color.length === 9 ? parseInt(color.slice(7), 16) / 255 : 1;
    const own = { color: color.slice(0, 7), opacity, transparent: opacity < 1 };
    const material = this.material ?? new THREE.MeshLambertMaterial(own);
    const holder = frame(this.of(shape.body));
    setFrame(holder, [...shape.axes.flat(), ...shape.at]);
    const sizes = shape.sizes;
    if (shape.kind === "box") holder.add(new THREE.Mesh(new THREE.BoxGeometry(...sizes), material));
    else if (shape.kind === "sphere") holder.add(ball(sizes[0], material));
    else if (shape.kind === "mesh") this.load(holder, shape, material);
    else {
      const geometry =
        shape.kind === "capsule"
          ? new THREE.CapsuleGeometry(sizes[0], sizes[1], 8, 24)
          : new THREE.CylinderGeometry(sizes[0], sizes[0], sizes[1], 32);
      geometry.rotateX(Math.PI / 2); // along z
      holder.add(new THREE.Mesh(geometry, material));
    }
  }

  load(holder, shape, material) {
    const add = (object) => {
      object.scale.set(...shape.sizes);
      if (this.material) object.traverse((part) => part.isMesh && (part.material = this.material));
      holder.add(object);
      this.changed();
    };
    const failed = () => {
      this.failed(`A mesh of ${shape.body} could not be read.`);
      this.rods((line) => line.of === shape.body);
    };
    if (shape.mesh.endsWith(".stl")) {
      new STLLoader().load(shape.mesh, (found) => add(new THREE.Mesh(found, material)), undefined, failed);
    } else if (shape.mesh.endsWith(".glb") || shape.mesh.endsWith(".gltf")) {
      new GLTFLoader().load(shape.mesh, (found) => add(found.scene), undefined, failed);
    } else failed();
  }
}

function frame(parent) {
  const group = new THREE.Group();
  group.matrixAutoUpdate = false;
  parent.add(group);
  return group;
}

// Lay a cylinder of length 1 from one place to another.
function span(mesh, a, b) {
  const way = b.clone().sub(a);
  mesh.scale.y = Math.max(way.length(), 1e-9);
  mesh.position.copy(a).addScaledVector(way, 0.5);
  mesh.quaternion.setFromUnitVectors(UP, way.normalize());
}

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
  const lengths = scene.bodies.flatMap((body) => body.ends.map((end) => Math.hypot(...end)));
  lengths.push(...scene.world.map((end) => Math.hypot(...end)));
  return Math.max(0.02, ...lengths);
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
    this.rods(scene);
    for (const shape of scene.shapes) this.shape(shape);
  }

  // Group of a body; that of all, which stands still, for the world.
  of(name) {
    return name in this.index ? this.groups[this.index[name]] : this.object;
  }

  // Frames of all bodies, 12 numbers each, from a place on.
  pose(numbers, begin = 0) {
    this.groups.forEach((group, k) => setFrame(group, numbers, begin + FRAME * k));
  }

  rods(scene) {
    const radius = 0.018 * sizeOf(scene);
    const shaped = new Set(scene.shapes.map((shape) => shape.body));
    scene.bodies.forEach((body, k) => {
      if (shaped.has(body.name)) return;
      const color = LINK_COLORS[k % LINK_COLORS.length];
      const material = this.material ?? new THREE.MeshLambertMaterial({ color });
      const parts = body.ends.map((end) => rod(new THREE.Vector3(...end), radius, material));
      for (const part of parts) if (part) this.groups[k].add(part);
      if (!this.groups[k].children.length) this.groups[k].add(ball(radius * 1.6, material));
    });
  }

  shape(shape) {
    if (this.material && !(shape.body in this.index)) return; // a ghost of what cannot move hides it
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
    const failed = () => this.failed(`A mesh of ${shape.body} could not be read.`);
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

function rod(end, radius, material) {
  const length = end.length();
  if (length < 1e-6) return null;
  const mesh = new THREE.Mesh(new THREE.CapsuleGeometry(radius, length, 3, 10), material);
  mesh.position.copy(end).multiplyScalar(0.5);
  mesh.quaternion.setFromUnitVectors(UP, end.clone().normalize());
  return mesh;
}

// The machine of a second recording, as a ghost in the scene of the first.
import { Bodies, FRAME } from "linkwork-console/bodies.js";

const COLOR = 0xd55e00;
const OPACITY = 0.5;

export class Beside {
  // view: the view of the first machine; scene: content of the second one.
  constructor(view, scene) {
    this.view = view;
    const changed = () => (view.dirty = true);
    this.bodies = new Bodies(scene, { ghost: { color: COLOR, opacity: OPACITY }, changed });
    view.world.add(this.bodies.object);
  }

  // Frames of its bodies; none where it has no tick at this time.
  follow(frames) {
    const there = frames?.length === FRAME * this.bodies.groups.length;
    this.bodies.object.visible = there && this.view.layers?.beside !== false;
    if (there) this.bodies.pose(frames);
  }
}

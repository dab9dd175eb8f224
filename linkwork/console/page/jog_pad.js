// Jogging by held buttons, keys and a pad. The machine moves only while this page says 20 times a second that a
// control is still held, each time with the number of the picture that it has received last.
import { isTextField, link } from "linkwork-console";

const EVERY_MS = 50;
const READ_MS = 150; // between two updates of the positions shown
const LATE_MS = 150; // a timer as late as this means that the page was frozen
const FORWARD = ["+", "=", "ArrowUp", "ArrowRight"];
const BACK = ["-", "_", "ArrowDown", "ArrowLeft"];

class Hold {
  press = 0;
  shares = null; // coordinate → share of the largest jog speed
  source = null; // pointer or key that holds

  begin(source, shares) {
    if (this.shares) return this.end("two controls at once: release both, then press again");
    if (document.hidden || !document.hasFocus()) return;
    this.press++;
    this.source = source;
    this.shares = shares;
    this.at = performance.now();
    this.say?.("");
    this.timer = setInterval(() => this.tick(), EVERY_MS);
    this.send();
  }

  tick() {
    const late = performance.now() - this.at > LATE_MS;
    this.at = performance.now();
    if (late) this.end("the page stood still for a moment: release and press again");
    else if (document.hidden) this.end("");
    else this.send();
  }

  send() {
    const picture = link.picture?.number ?? 0;
    const message = { type: "held", press: this.press, picture, velocity: this.shares };
    if (!link.send(message)) this.end("the connection to the console is lost");
  }

  end(text = "") {
    if (!this.shares) return;
    clearInterval(this.timer);
    this.shares = null;
    this.source = null;
    link.send({ type: "release", press: this.press });
    this.say?.(text);
    this.changed?.();
  }
}

export default {
  template: `
    <section class="jog" aria-label="Jog" @keydown="keyDown" @focusout="focusOut">
      <div class="jog-head">
        <div role="radiogroup" aria-label="Coordinates" v-if="groups.length > 1">
          <label v-for="(group, k) in groups" :key="group.name">
            <input type="radio" name="jog-group" :value="k" v-model="chosen" :disabled="!enabled"> {{ group.name }}
          </label>
        </div>
        <div role="radiogroup" aria-label="Step">
          <label><input type="radio" name="jog-fine" :value="false" v-model="fine" :disabled="!enabled"> coarse</label>
          <label><input type="radio" name="jog-fine" :value="true" v-model="fine" :disabled="!enabled"> fine (÷ 10)</label>
        </div>
        <label class="jog-speed">speed <input type="range" min="1" max="100" v-model.number="percent" :disabled="!enabled"
          aria-label="Share of the largest jog speed"> {{ percent }} %</label>
      </div>
      <div class="jog-body"><div class="jog-rows">
      <div class="jog-row" v-for="(name, k) in names" :key="name" :class="{ selected: k === selected }">
        <button class="jog-button" :disabled="!enabled" :aria-label="name + ' back'" :data-jog="name + '-'"
          @pointerdown="pointerDown($event, name, -1)" @contextmenu.prevent>−</button>
        <button class="jog-name" :aria-pressed="k === selected" :disabled="!enabled" @click="selected = k">
          {{ k + 1 }} {{ name }} <output>{{ readings[name] }}</output></button>
        <button class="jog-button" :disabled="!enabled" :aria-label="name + ' forward'" :data-jog="name + '+'"
          @pointerdown="pointerDown($event, name, 1)" @contextmenu.prevent>+</button>
      </div>
      </div>
      <div class="jog-pad" v-if="names.length > 1" :class="{ disabled: !enabled }" role="img"
        :aria-label="'Pad: ' + names[0] + ' to the right, ' + names[1] + ' up'"
        @pointerdown="padDown" @pointermove="padMove" @contextmenu.prevent>
        <span class="jog-pad-x">{{ names[0] }} →</span><span class="jog-pad-y">{{ names[1] }} ↑</span>
        <span class="jog-knob" :style="knob"></span>
      </div></div>
      <p class="jog-help">Hold a button, or choose a coordinate (1 … 9) and hold + or −, or an arrow key, here.
        The machine moves only while it is held, and stops when the page loses focus.</p>
      <p class="jog-note" role="alert">{{ note }}</p>
    </section>`,
  props: { enabled: Boolean, mode: String },
  data() {
    return {
      groups: [], chosen: 0, selected: 0, fine: false, percent: 20, note: "", readings: {}, pad: null,
    };
  },
  computed: {
    names() {
      return this.groups[this.chosen]?.coordinates.map((each) => each.name) ?? [];
    },
    knob() {
      return this.pad ? { left: `${50 + 50 * this.pad.x}%`, top: `${50 - 50 * this.pad.y}%` } : {};
    },
  },
  mounted() {
    this.hold = new Hold();
    this.hold.say = (text) => (this.note = text);
    this.hold.changed = () => (this.pad = null);
    const end = () => this.hold.end();
    // Everything after which a hold can no longer be seen to last.
    this.ears = [
      [window, "pointerup", (event) => this.released(event.pointerId)],
      [window, "pointercancel", end],
      [window, "pointermove", (event) => this.moved(event)],
      [window, "pointerdown", (event) => event.pointerId !== this.hold.source && this.second()],
      [window, "lostpointercapture", (event) => event.pointerId === this.hold.source && end()],
      [window, "keyup", (event) => this.released(event.code)],
      [window, "keydown", (event) => event.code !== this.hold.source && this.second()],
      [window, "blur", end],
      [window, "pagehide", end],
      [window, "beforeunload", end],
      [window, "dragstart", end],
      [document, "visibilitychange", end],
      [document, "freeze", end],
      [link, "lost", () => this.hold.end("the connection to the console is lost")],
      [link, "stop", end],
      [link, "machine", () => this.learn()],
      [link, "jog", (event) => this.refused(event.detail)],
      [link, "picture", () => this.read()],
    ];
    for (const [target, type, handler] of this.ears) target.addEventListener(type, handler, true);
    if (link.machine) this.learn();
  },
  beforeUnmount() {
    this.hold.end();
    for (const [target, type, handler] of this.ears) target.removeEventListener(type, handler, true);
  },
  watch: {
    enabled(now) {
      if (!now) this.hold.end();
    },
    mode() {
      this.hold.end();
    },
    chosen() {
      this.hold.end();
      this.selected = 0;
    },
    fine() {
      this.hold.end();
    },
  },
  methods: {
    learn() {
      const groups = link.machine.jog;
      if (JSON.stringify(groups) === JSON.stringify(this.groups)) return;
      this.hold.end();
      this.groups = groups;
      this.chosen = this.selected = 0;
    },
    share(direction) {
      return (direction * this.percent) / (this.fine ? 1000 : 100);
    },
    pointerDown(event, name, direction) {
      if (!this.enabled || event.button !== 0) return;
      event.preventDefault();
      event.currentTarget.focus();
      event.currentTarget.setPointerCapture(event.pointerId);
      this.selected = this.names.indexOf(name);
      this.hold.begin(event.pointerId, { [name]: this.share(direction) });
    },
    padDown(event) {
      if (!this.enabled || event.button !== 0) return;
      event.preventDefault();
      event.currentTarget.setPointerCapture(event.pointerId);
      this.hold.begin(event.pointerId, this.deflection(event));
    },
    padMove(event) {
      if (this.hold.shares && event.pointerId === this.hold.source) this.hold.shares = this.deflection(event);
    },
    deflection(event) {
      const box = event.currentTarget.getBoundingClientRect();
      const right = (2 * (event.clientX - box.left)) / box.width - 1;
      const up = 1 - (2 * (event.clientY - box.top)) / box.height;
      const size = Math.max(1, Math.hypot(right, up)); // in a corner no faster than at a side
      const [x, y] = [right / size, up / size];
      this.pad = { x, y };
      return { [this.names[0]]: this.share(x), [this.names[1]]: this.share(y) };
    },
    keyDown(event) {
      if (isTextField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const digit = Number(event.key);
      if (digit >= 1 && digit <= this.names.length) {
        this.hold.end();
        this.selected = digit - 1;
        return;
      }
      if (event.target.type === "range" || event.target.type === "radio") return;
      const direction = FORWARD.includes(event.key) ? 1 : BACK.includes(event.key) ? -1 : 0;
      if (!direction || !this.enabled) return;
      event.preventDefault();
      if (!event.repeat) this.hold.begin(event.code, { [this.names[this.selected]]: this.share(direction) });
    },
    focusOut(event) {
      if (typeof this.hold.source === "string" && !this.$el.contains(event.relatedTarget)) this.hold.end();
    },
    released(source) {
      if (source === this.hold.source) this.hold.end();
    },
    // A second button of a mouse, and the release of one of two, come as moves.
    moved(event) {
      if (event.pointerId === this.hold.source && event.buttons !== 1) this.hold.end();
    },
    second() {
      this.hold.end("two controls at once: release both, then press again");
    },
    refused(message) {
      if (message.press && message.press !== this.hold.press) return;
      this.hold.end();
      this.note = message.text;
    },
    read() {
      if (!this.$el.offsetParent || performance.now() - (this.readAt ?? 0) < READ_MS) return;
      this.readAt = performance.now();
      const { channels } = link.machine;
      const readings = {};
      for (const each of this.groups[this.chosen]?.coordinates ?? []) {
        const found = link.picture.values[channels.indexOf(`coordinate/${each.name}`)];
        const [factor, unit] = link.machine.shown[each.unit];
        readings[each.name] = Number.isFinite(found) ? `${(found * factor).toFixed(factor === 1 ? 5 : 2)} ${unit}` : "–";
      }
      if (JSON.stringify(readings) !== JSON.stringify(this.readings)) this.readings = readings;
    },
  },
};

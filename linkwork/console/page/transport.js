// The transport of a recording: time line with marks, slider, speed, and keys.
import { isTextField, link } from "linkwork-console";

const GROUPS = {
  goal: ["goals", "▲"],
  state: ["states", "■"],
  limited: ["limits", "◆"],
  crossing: ["limits exceeded", "◆"],
  fault: ["faults", "✖"],
  link: ["link", "●"],
};
const OTHER = ["other", "•"];
const FAR_TICKS = 100;

export default {
  template: `
    <section class="card transport" aria-label="Player">
      <div class="transport-line">
        <div class="transport-track">
          <span v-for="(mark, k) in marks" :key="k" class="transport-mark" :class="[mark.group, { beside: mark.beside }]"
            :style="{ left: mark.share + '%' }" :title="mark.title">{{ mark.sign }}</span>
          <input type="range" min="0" :max="duration" step="any" :value="time" @input="seek(Number($event.target.value))"
            @pointerdown="hold" @pointerup="release" @keydown="sliderKey" aria-label="Time of the recording" :aria-valuetext="reading">
        </div>
      </div>
      <div class="bar">
        <button @click="seek(0)" aria-label="To the begin" title="To the begin (Home)">|◂</button>
        <button @click="event(-1)" aria-label="Event before" title="Event before (Page Up)">◂ event</button>
        <button @click="step(-1)" aria-label="One tick back" title="One tick back (←; with Shift: 100)">− 1</button>
        <button class="transport-play" @click="toggle" :aria-label="playing ? 'Pause' : 'Play'" title="Play or pause (space)">
          {{ playing ? "❚❚ pause" : "▶ play" }}</button>
        <button @click="step(1)" aria-label="One tick on" title="One tick on (→; with Shift: 100)">+ 1</button>
        <button @click="event(1)" aria-label="Next event" title="Next event (Page Down)">event ▸</button>
        <button @click="seek(duration)" aria-label="To the end" title="To the end (End)">▸|</button>
        <label>speed <select v-model.number="speed" @change="playing && play()" aria-label="Playback speed">
          <option v-for="each in speeds" :key="each" :value="each">{{ each }} ×</option></select></label>
        <output class="transport-time">{{ reading }}</output>
        <span class="quiet transport-legend"><span v-for="(group, k) in legend" :key="k">{{ group[1] }} {{ group[0] }}</span></span>
      </div>
    </section>`,
  props: { speeds: Array },
  data() {
    return { time: 0, tick: null, playing: false, speed: 1, recording: null, beside: null };
  },
  computed: {
    duration() {
      return this.recording?.duration_s ?? 1;
    },
    reading() {
      const tick = this.tick == null ? "" : `, tick ${this.tick}`;
      return `${this.time.toFixed(3)} s of ${this.duration.toFixed(3)} s${tick}`;
    },
    happenings() {
      const own = (this.recording?.happenings ?? []).map((each) => [...each, false]);
      const other = (this.beside?.happenings ?? []).map((each) => [...each, true]);
      return [...own, ...other].filter(([time]) => time >= 0 && time <= this.duration);
    },
    marks() {
      return this.happenings.map(([time, , group, text, beside]) => ({
        group,
        beside,
        sign: (GROUPS[group] ?? OTHER)[1],
        share: (100 * time) / this.duration,
        title: `${time.toFixed(3)} s: ${text}${beside ? " (beside)" : ""}`,
      }));
    },
    legend() {
      const there = new Set(this.happenings.map(([, , group]) => group));
      const found = [...there].map((group) => GROUPS[group] ?? OTHER);
      return [...new Map(found.map((each) => [each[1], each])).values()];
    },
  },
  mounted() {
    this.ears = [
      [link, "machine", () => this.learn()],
      [link, "picture", (event) => this.follow(event.detail)],
      [link, "player", (event) => this.hear(event.detail)],
      [window, "keydown", (event) => this.key(event)],
    ];
    for (const [target, type, handler] of this.ears) target.addEventListener(type, handler);
    if (link.machine) this.learn();
    if (link.picture) this.follow(link.picture);
  },
  beforeUnmount() {
    for (const [target, type, handler] of this.ears) target.removeEventListener(type, handler);
  },
  methods: {
    learn() {
      this.recording = link.machine.recording;
      this.beside = link.machine.beside;
      this.tickChannel = link.machine.channels.indexOf("tick");
    },
    follow(picture) {
      if (!this.held) this.time = picture.timestamp;
      this.tick = picture.values[this.tickChannel];
    },
    hear(player) {
      this.playing = player.playing;
      this.speed = player.speed;
    },
    hold() {
      this.held = true; // the slider follows the pointer, not the pictures
    },
    release() {
      this.held = false;
    },
    seek(time) {
      this.time = Math.max(0, Math.min(this.duration, time));
      link.send({ type: "seek", time_s: this.time });
    },
    step(ticks) {
      link.send({ type: "step", ticks });
    },
    play() {
      link.send({ type: "play", speed: this.speed });
    },
    toggle() {
      if (this.playing) link.send({ type: "pause" });
      else this.play();
    },
    event(direction) {
      const half = 0.5 * this.recording.period_s;
      const times = this.happenings.map(([time]) => time).sort((a, b) => a - b);
      const found =
        direction > 0
          ? times.find((time) => time > this.time + half)
          : times.findLast((time) => time < this.time - half);
      if (found !== undefined) this.seek(found);
    },
    // Keys of the page, except where an element has its own use for them.
    key(event) {
      const { target } = event;
      if (isTextField(target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (target.closest?.("select, [role=combobox], [role=tab], [role=listbox], canvas")) return;
      if (event.key === " " && target.closest?.("button, [role=checkbox], summary, a")) return;
      if (this.act(event)) event.preventDefault();
    },
    sliderKey(event) {
      if (!this.act(event)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    act(event) {
      const ticks = event.shiftKey ? FAR_TICKS : 1;
      const acts = {
        " ": () => this.toggle(),
        ArrowRight: () => this.step(ticks),
        ArrowLeft: () => this.step(-ticks),
        Home: () => this.seek(0),
        End: () => this.seek(this.duration),
        PageDown: () => this.event(1),
        PageUp: () => this.event(-1),
      };
      acts[event.key]?.();
      return event.key in acts;
    },
  },
};

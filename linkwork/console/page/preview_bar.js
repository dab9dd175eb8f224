// Scrub the ghost of a previewed goal along the goal's time, or play it.
import { link } from "linkwork-console";
import { hue } from "linkwork-console/ghosts.js";

export default {
  template: `
    <div class="preview-bar" v-show="duration > 0">
      <div class="preview-line">
        <button type="button" class="lw-button" @click="toggle" :aria-pressed="playing">{{ playing ? "pause" : "play" }}</button>
        <div class="preview-track">
          <input type="range" min="0" :max="duration" step="any" v-model.number="at" @input="playing = false"
            aria-label="Time of the ghost on the path" :aria-valuetext="at.toFixed(2) + ' s'">
          <span v-for="event in events" :key="event.key" class="preview-mark" :style="left(event.time_s)"
            :title="event.text" aria-hidden="true">▲</span>
          <span v-if="refused !== null" class="preview-mark refused" :style="left(refused)" aria-hidden="true">✕</span>
        </div>
        <output>{{ at.toFixed(2) }} / {{ duration.toFixed(2) }} s</output>
      </div>
      <ul class="preview-events" v-if="events.length" aria-label="Events of the goal">
        <li v-for="event in events" :key="event.key" :class="{ past: at >= event.time_s }">
          {{ event.time_s.toFixed(2) }} s: {{ event.text }}</li>
      </ul>
      <div class="table-wrap" v-if="limits.length"><table class="values path-limits">
        <thead><tr><th scope="col">limited by</th><th scope="col">time</th><th scope="col">share</th>
          <th scope="col" v-if="more">{{ more }} % more saves</th></tr></thead>
        <tbody><tr v-for="limit in limits" :key="limit.text"><td :style="{ '--hue': hue(limit.hue) }">{{ limit.text }}</td>
          <td>{{ limit.time }}</td><td>{{ percent(limit.share) }}</td><td v-if="more">{{ limit.saves }}</td></tr></tbody>
        <tfoot><tr><td>in all</td><td>{{ duration.toFixed(3) }} s</td><td>{{ percent(all) }}</td><td v-if="more"></td></tr></tfoot>
      </table></div>
    </div>`,
  data() {
    return { duration: 0, at: 0, playing: false, events: [], refused: null, limits: [], more: null };
  },
  computed: {
    all() {
      return this.limits.reduce((sum, limit) => sum + limit.share, 0);
    },
  },
  mounted() {
    this.take = (event) => this.show(event.detail);
    link.addEventListener("preview", this.take);
  },
  beforeUnmount() {
    this.playing = false;
    link.removeEventListener("preview", this.take);
  },
  watch: {
    at(time) {
      link.dispatchEvent(new CustomEvent("scrub", { detail: time }));
    },
  },
  methods: {
    hue,
    percent(share) {
      return `${(100 * share).toFixed(1)} %`;
    },
    show(message) {
      this.playing = false;
      const times = message.times ?? [];
      this.duration = times.at(-1) ?? 0;
      this.events = (message.events ?? []).map((event, key) => ({ ...event, key }));
      this.limits = message.limits ?? [];
      this.more = message.more;
      this.refused = message.refused == null ? null : times[message.refused];
      this.at = 0;
      this.$nextTick(() => {
        this.at = this.refused ?? 0; // not before the slider has its new end
        if (this.duration) this.$el.closest("section").scrollIntoView({ block: "nearest" });
      });
    },
    left(time) {
      return { left: `${(100 * time) / this.duration}%` };
    },
    toggle() {
      this.playing = !this.playing;
      if (!this.playing) return;
      if (this.at >= this.duration) this.at = 0;
      let before = performance.now();
      const step = (now) => {
        if (!this.playing) return;
        this.at = Math.min(this.duration, this.at + (now - before) / 1e3);
        before = now;
        if (this.at >= this.duration) this.playing = false;
        else requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    },
  },
};

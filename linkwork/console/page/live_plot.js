// Live plots of telemetry channels: pause, zoom, values at the cursor, CSV of what is shown.
import { channel, graphics, link } from "linkwork-console";
import { download, plotBase } from "linkwork-console/plot_base.js";

const SECONDS = 60;
const REDRAW_MS = { hardware: 100, software: 400 }; // the machine comes first where both are drawn in software

export default {
  mixins: [plotBase],
  template: plotBase.template,
  created() {
    this.live = true;
    this.times = [];
    this.values = {}; // by channel, as long as times
  },
  mounted() {
    this.timer = setInterval(() => this.draw(), REDRAW_MS[graphics()] ?? REDRAW_MS.hardware);
  },
  beforeUnmount() {
    clearInterval(this.timer);
  },
  watch: {
    paused() {
      this.zoomed = false;
      this.restyle();
    },
    seconds() {
      this.restyle();
    },
  },
  methods: {
    remove(name) {
      this.shown = this.shown.filter((each) => each !== name);
      delete this.values[name];
    },
    take(picture) {
      if (this.paused || !picture.timestamp || this.times.at(-1) === picture.timestamp) return;
      if (this.times.at(-1) > picture.timestamp) (this.times = []), (this.values = {}); // another run
      this.times.push(picture.timestamp);
      for (const name of this.shown) {
        const series = (this.values[name] ??= new Array(this.times.length - 1).fill(null));
        const found = picture.values[channel(name)];
        series.push(Number.isFinite(found) ? found : null);
      }
      const old = this.times.findIndex((time) => time > picture.timestamp - SECONDS);
      if (old < 100) return; // forget in strides
      this.times.splice(0, old);
      for (const series of Object.values(this.values)) series.splice(0, old);
    },
    points(name) {
      const now = this.times.at(-1);
      const series = this.values[name] ?? [];
      const points = [];
      for (let k = 0; k < this.times.length; k++) {
        if (this.times[k] >= now - this.seconds) points.push([this.times[k] - now, series[k]]);
      }
      return points;
    },
    range() {
      return [-this.seconds, 0];
    },
    lines() {
      return this.shown.map((name, k) => this.line(name, k, this.points(name)));
    },
    draw() {
      if (this.paused || !this.shown.length || !this.inSight || this.times.at(-1) === this.drawn) return;
      this.drawn = this.times.at(-1);
      this.redraw();
    },
    save() {
      const now = this.times.at(-1);
      const [low, high] = this.shownRange();
      const lines = [["time_s", ...this.shown].join(",")];
      this.times.forEach((time, k) => {
        const back = time - now;
        if (back < low || back > high) return;
        lines.push([time, ...this.shown.map((name) => this.values[name]?.[k] ?? "")].join(","));
      });
      const address = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
      download(`${link.machine.machine}-${this.shown[0].replaceAll("/", "-")}.csv`, address);
      URL.revokeObjectURL(address);
    },
  },
};

// Live plots of telemetry channels: pause, zoom, values at the cursor, CSV of what is shown.
import { echarts } from "nicegui-echart";
import { channel, link } from "linkwork-console";

const SECONDS = 60;
const REDRAW_MS = 100;
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#8c8c8c", "#7a5195"];
const DASHES = ["solid", "dashed", "dotted"];
let plots = 0;

export default {
  template: `
    <section class="plot" :aria-label="'Plot ' + number">
      <div class="plot-head">
        <label>channel <input :list="'channels-' + number" v-model="typed" @change="add" placeholder="effort/…"
          autocomplete="off" spellcheck="false"></label>
        <datalist :id="'channels-' + number"><option v-for="name in names" :key="name" :value="name"></option></datalist>
        <button v-for="name in shown" :key="name" class="plot-chip" :aria-label="'Remove ' + name" @click="remove(name)">
          {{ name }} ✕</button>
        <label>last <select v-model.number="seconds"><option>5</option><option>15</option><option>60</option></select> s</label>
        <button @click="paused = !paused" :aria-pressed="paused">{{ paused ? "continue" : "pause" }}</button>
        <button @click="save" :disabled="!shown.length">CSV</button>
      </div>
      <div class="plot-chart" role="img" :aria-label="'Values over time of ' + shown.join(', ')"></div>
    </section>`,
  props: { channels: Array, dark: Boolean },
  data() {
    return { number: ++plots, names: [], shown: [...(this.channels ?? [])], typed: "", paused: false, seconds: 15 };
  },
  mounted() {
    this.times = [];
    this.values = {}; // by channel, as long as times
    this.chart = echarts.init(this.$el.querySelector(".plot-chart"));
    this.chart.on("datazoom", () => (this.zoomed = true));
    this.observer = new ResizeObserver(() => this.chart.resize());
    this.observer.observe(this.$el);
    this.onPicture = (event) => this.take(event.detail);
    this.onMachine = () => (this.names = link.machine.channels);
    link.addEventListener("picture", this.onPicture);
    link.addEventListener("machine", this.onMachine);
    if (link.machine) this.onMachine();
    this.timer = setInterval(() => this.draw(), REDRAW_MS);
    this.restyle();
  },
  beforeUnmount() {
    clearInterval(this.timer);
    link.removeEventListener("picture", this.onPicture);
    link.removeEventListener("machine", this.onMachine);
    this.observer.disconnect();
    this.chart.dispose();
  },
  watch: {
    shown: {
      deep: true,
      handler() {
        this.restyle();
      },
    },
    dark() {
      this.restyle();
    },
    paused() {
      this.restyle();
    },
    seconds() {
      this.drawn = null;
    },
  },
  methods: {
    add() {
      if (this.names.includes(this.typed) && !this.shown.includes(this.typed)) this.shown.push(this.typed);
      if (this.names.includes(this.typed)) this.typed = "";
    },
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
    restyle() {
      const ink = this.dark ? "#e8eaed" : "#202124";
      const grid = { lineStyle: { color: this.dark ? "#444" : "#ddd" } };
      this.chart.setOption(
        {
          animation: false,
          color: COLORS,
          textStyle: { color: ink },
          grid: { left: 64, right: 20, top: 34, bottom: this.paused ? 74 : 44 },
          legend: { textStyle: { color: ink }, type: "scroll", top: 0, bottom: "auto" },
          tooltip: { trigger: "axis", valueFormatter: (value) => (value == null ? "–" : value.toPrecision(6)) },
          dataZoom: this.paused ? [{ type: "inside" }, { type: "slider", height: 22, bottom: 8 }] : [],
          xAxis: { type: "value", name: "s", axisLabel: { color: ink }, splitLine: grid, max: 0, min: -this.seconds },
          yAxis: { type: "value", scale: true, axisLabel: { color: ink }, splitLine: grid },
          series: this.shown.map((name, k) => this.series(name, k)),
        },
        { notMerge: true },
      );
    },
    series(name, k) {
      const dash = DASHES[Math.floor(k / COLORS.length) % DASHES.length];
      return { name, type: "line", showSymbol: false, lineStyle: { type: dash, width: 1.6 }, data: this.points(name) };
    },
    draw() {
      if (this.paused || !this.shown.length || !this.$el.offsetParent || this.times.at(-1) === this.drawn) return;
      this.drawn = this.times.at(-1);
      this.chart.setOption({
        xAxis: { min: -this.seconds },
        series: this.shown.map((name) => ({ name, data: this.points(name) })),
      });
    },
    save() {
      const now = this.times.at(-1);
      const [low, high] = this.range();
      const lines = [["time_s", ...this.shown].join(",")];
      this.times.forEach((time, k) => {
        const back = time - now;
        if (back < low || back > high) return;
        lines.push([time, ...this.shown.map((name) => this.values[name]?.[k] ?? "")].join(","));
      });
      const file = new Blob([lines.join("\n") + "\n"], { type: "text/csv" });
      const anchor = document.createElement("a");
      anchor.href = URL.createObjectURL(file);
      anchor.download = `${link.machine.machine}-${this.shown[0].replaceAll("/", "-")}.csv`;
      anchor.click();
      URL.revokeObjectURL(anchor.href);
    },
    range() {
      const zoom = this.paused ? this.chart.getOption().dataZoom?.[0] : null;
      return zoom?.startValue != null ? [zoom.startValue, zoom.endValue] : [-this.seconds, 0];
    },
  },
};

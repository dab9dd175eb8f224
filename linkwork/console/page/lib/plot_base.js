// What live and recorded plots share: channels to choose, one chart, colors, and values at the cursor.
import { echarts } from "nicegui-echart";
import { channel, link } from "linkwork-console";

// Those of Okabe and Ito, with a few between them; lighter ones on a dark page.
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#8c8c8c", "#7a5195"];
const ON_DARK = ["#56b4e9", "#ff8c3a", "#2fc79a", "#e9a3cb", "#f0e442", "#9fb8ff", "#b5b5b5", "#c39bd8"];
const DASHES = ["solid", "dashed", "dotted"];
const READ_MS = 150; // between a picture and the update of the values shown
let plots = 0;

// Factor and unit in which a channel is shown.
export function shownIn(name) {
  return link.machine?.units?.[channel(name)] ?? [1, ""];
}

export function number(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : "–";
}

// Call `seen` with whether the page is dark, now and when that changes; return the observer.
export function watchDark(seen) {
  const look = () => seen(document.body.classList.contains("body--dark"));
  const observer = new MutationObserver(look);
  observer.observe(document.body, { attributeFilter: ["class"] });
  look();
  return observer;
}

// Colors and axes of all charts.
export function axes(dark) {
  const ink = dark ? "#e8eaed" : "#202124";
  const splitLine = { lineStyle: { color: dark ? "#444" : "#ddd" } };
  return { ink, splitLine, axisLabel: { color: ink }, faint: dark ? "#9aa4ad" : "#5a6470" };
}

export function color(k, dark) {
  return (dark ? ON_DARK : COLORS)[k % COLORS.length];
}

export function dash(k) {
  return DASHES[Math.floor(k / COLORS.length) % DASHES.length];
}

// Give a file to the user.
export function download(name, address) {
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
}

// A Vue mixin. The component has `lines()` (series of the chart), `range()` (of the time axis) and `save()`, and
// draws when it has new data; `zoomable` says whether the chart may be zoomed.
export const plotBase = {
  template: `
    <section class="plot" :aria-label="'Plot ' + number">
      <div class="plot-head">
        <label><input aria-label="channel" :list="'channels-' + number" v-model="typed" @change="add" @keydown.enter="add" placeholder="channel …"
          autocomplete="off" spellcheck="false"></label>
        <datalist :id="'channels-' + number"><option v-for="name in free" :key="name" :value="name"></option></datalist>
        <template v-if="live">
          <label>last <select v-model.number="seconds"><option>5</option><option>15</option><option>60</option></select> s</label>
          <button @click="paused = !paused" :aria-pressed="paused">{{ paused ? "continue" : "pause" }}</button>
        </template>
        <button @click="whole" v-if="zoomable" :disabled="!zoomed">whole time</button>
        <button @click="save" :disabled="!shown.length">CSV</button>
        <button @click="$emit('close')" :aria-label="'Close plot ' + number" title="close">✕</button>
      </div>
      <div class="plot-chips">
        <button v-for="(name, k) in shown" :key="name" class="plot-chip" :aria-label="'Remove ' + name" @click="remove(name)">
          <span class="plot-line" :style="{ borderTopColor: colorOf(k, dark), borderTopStyle: dashOf(k) }"></span>
          {{ short(name) }} <output>{{ readings[name] }}</output> ✕</button>
        <span class="quiet" v-if="!shown.length">Choose a channel; the chart shows it from now on.</span>
      </div>
      <div class="plot-chart" role="img" :aria-label="'Values over time of ' + shown.join(', ')"></div>
    </section>`,
  props: { channels: Array },
  emits: ["close"],
  data() {
    return {
      number: ++plots, names: [], shown: [...(this.channels ?? [])], typed: "", readings: {}, zoomed: false,
      paused: false, seconds: 15, dark: false,
    };
  },
  computed: {
    free() {
      return this.names.filter((name) => !this.shown.includes(name));
    },
    zoomable() {
      return !this.live || this.paused;
    },
  },
  mounted() {
    this.chart = echarts.init(this.$el.querySelector(".plot-chart"));
    this.chart.on("datazoom", () => this.rezoomed());
    this.observer = new ResizeObserver(() => {
      this.chart.resize();
      this.resized?.();
    });
    this.observer.observe(this.$el);
    this.sight = new IntersectionObserver((seen) => (this.inSight = seen.at(-1).isIntersecting));
    this.sight.observe(this.$el);
    this.darkness = watchDark((dark) => (this.dark = dark));
    this.ears = [
      ["picture", (event) => this.seePicture(event.detail)],
      ["machine", () => this.learn()],
    ];
    for (const [type, handler] of this.ears) link.addEventListener(type, handler);
    if (link.machine) this.learn();
    this.restyle();
  },
  beforeUnmount() {
    for (const [type, handler] of this.ears) link.removeEventListener(type, handler);
    clearTimeout(this.reading);
    this.observer.disconnect();
    this.sight.disconnect();
    this.darkness.disconnect();
    this.chart.dispose();
  },
  watch: {
    shown: {
      deep: true,
      handler() {
        this.changed?.();
        this.restyle();
      },
    },
    dark() {
      this.restyle();
    },
  },
  methods: {
    colorOf: color,
    dashOf: dash,
    learn() {
      this.names = link.machine.channels;
      if (this.chart) this.restyle();
    },
    add() {
      const known = this.names.includes(this.typed);
      if (known && !this.shown.includes(this.typed)) this.shown.push(this.typed);
      if (known) this.typed = "";
    },
    // Without the kind where that is the title of the axis.
    short(name) {
      const kinds = new Set(this.shown.map((each) => each.split("/")[0]));
      return kinds.size === 1 ? name.slice(name.indexOf("/") + 1) : name;
    },
    remove(name) {
      this.shown = this.shown.filter((each) => each !== name);
    },
    seePicture(picture) {
      this.take?.(picture);
      this.reading ??= setTimeout(() => this.read(), READ_MS); // so that the last picture is read too
    },
    read() {
      this.reading = null;
      const { picture } = link;
      if (this.paused || !picture || !this.inSight) return;
      const gone = picture.values[channel("connected")] === 0;
      const read = (name, found) =>
        gone && Number.isNaN(found) ? "plant gone" : `${number(found * shownIn(name)[0])} ${shownIn(name)[1]}`;
      this.readings = Object.fromEntries(this.shown.map((name) => [name, read(name, picture.values[channel(name)])]));
    },
    restyle() {
      const { ink, splitLine, axisLabel, faint } = axes(this.dark);
      const middle = { nameLocation: "middle", nameTextStyle: { color: ink } };
      const [min, max] = this.range();
      const [startValue, endValue] = this.shownRange();
      const kept = this.zoomed && this.zoomable ? { startValue, endValue } : {};
      this.chart.setOption(
        {
          animation: false,
          textStyle: { color: ink },
          grid: { left: 72, right: 24, top: 14, bottom: this.zoomable ? 76 : 40 },
          tooltip: {
            trigger: "axis",
            axisPointer: { type: "cross", label: { backgroundColor: faint } },
            backgroundColor: this.dark ? "#1f252b" : "#ffffff",
            textStyle: { color: ink },
            valueFormatter: number,
          },
          dataZoom: this.zoomable
            ? [
                { type: "inside", filterMode: "none", ...kept },
                { type: "slider", filterMode: "none", height: 22, bottom: 6, textStyle: { color: ink }, ...kept },
              ]
            : [],
          xAxis: { type: "value", name: "time, s", ...middle, nameGap: 20, axisLabel, splitLine, min, max },
          yAxis: { type: "value", name: this.unit(), ...middle, nameGap: 52, scale: true, axisLabel: { ...axisLabel, formatter: number }, splitLine },
          series: this.lines(),
        },
        { notMerge: true },
      );
      this.part = this.shownRange();
    },
    // Title of the value axis: what is shown, where that is one kind of quantity, and its units.
    unit() {
      const kinds = new Set(this.shown.map((name) => name.split("/")[0]));
      const units = new Set(this.shown.map((name) => shownIn(name)[1]).filter(Boolean));
      const what = kinds.size === 1 ? [...kinds][0].replaceAll("_", " ") : "value";
      return units.size ? `${what}, ${[...units].join(" or ")}` : what;
    },
    line(name, k, values, more = {}) {
      const [factor] = shownIn(name.replace(/, beside$/, ""));
      const data = factor === 1 ? values : values.map(([at, value]) => [at, value === null ? null : factor * value]);
      const lineStyle = { type: dash(k), width: 1.6, ...more.lineStyle };
      return { name, type: "line", showSymbol: false, color: color(k, this.dark), data, ...more, lineStyle };
    },
    redraw() {
      this.chart.setOption({ series: this.lines() });
    },
    whole() {
      this.chart.dispatchAction({ type: "dataZoom", start: 0, end: 100 });
    },
    // The part of the time axis that is shown.
    shownRange() {
      const zoom = this.zoomable ? this.chart.getOption()?.dataZoom?.[0] : null;
      return zoom?.startValue != null ? [zoom.startValue, zoom.endValue] : this.range();
    },
    rezoomed() {
      this.part = this.shownRange(); // kept, as asking the chart takes time
      const [begin, end] = this.part;
      const [min, max] = this.range();
      this.zoomed = end - begin < 0.999 * (max - min);
      this.windowChanged?.();
    },
  },
};

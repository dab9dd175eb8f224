// Panels of curves over time. Of a flight record, which has no title: with the fault at time 0, and limits.
import { echarts } from "nicegui-echart";
import { axes, color, dash, number, watchDark } from "linkwork-console/plot_base.js";

const PANEL = 150; // px, title and margin included
const TITLE = 38;

export default {
  template: `<div class="record-plot" role="img" :aria-label="label"></div>`,
  props: { record: Object },
  data() {
    return { dark: false };
  },
  computed: {
    label() {
      if (this.record.title) return this.record.title;
      return `Flight record: ${Object.keys(this.record.signals).join(", ")} over the time around the fault`;
    },
  },
  mounted() {
    this.chart = echarts.init(this.$el, null, { height: this.height() });
    this.observer = new ResizeObserver(() => this.chart.resize({ height: this.height() }));
    this.observer.observe(this.$el);
    this.darkness = watchDark((dark) => (this.dark = dark));
    this.draw();
  },
  beforeUnmount() {
    this.observer.disconnect();
    this.darkness.disconnect();
    this.chart.dispose();
  },
  watch: {
    record() {
      this.draw();
    },
    dark() {
      this.draw();
    },
  },
  methods: {
    height() {
      return PANEL * Object.keys(this.record.signals).length + 24;
    },
    draw() {
      const { ink, splitLine, axisLabel } = axes(this.dark);
      const panels = Object.entries(this.record.signals);
      const inside = { showMinLabel: false, showMaxLabel: false }; // the ends of an axis are no round numbers
      const every = panels.map((_, k) => k);
      this.chart.setOption(
        {
          animation: false,
          textStyle: { color: ink },
          tooltip: { trigger: "axis", valueFormatter: number, axisPointer: { type: "line" } },
          axisPointer: { link: [{ xAxisIndex: "all" }] },
          dataZoom: [{ type: "inside", xAxisIndex: every, filterMode: "none" }],
          title: panels.map(([title], k) => ({
            text: title,
            left: 4,
            top: PANEL * k + 4,
            textStyle: { color: ink, fontSize: 13, fontWeight: 600 },
          })),
          legend: panels.map(([, panel], k) => ({
            data: panel.curves.map((name) => `${name} ${k}`),
            formatter: (name) => name.slice(0, name.lastIndexOf(" ")),
            right: 4,
            top: PANEL * k + 2,
            textStyle: { color: ink },
            itemHeight: 8,
          })),
          grid: panels.map((_, k) => ({ left: 64, right: 16, top: PANEL * k + TITLE, height: PANEL - TITLE - 24 })),
          xAxis: panels.map((_, k) => ({
            type: "value",
            gridIndex: k,
            axisLabel: { ...axisLabel, ...inside, formatter: (value) => `${number(value)} s` },
            splitLine,
            min: "dataMin",
            max: "dataMax",
          })),
          yAxis: panels.map(([, panel], k) => ({
            type: "value",
            gridIndex: k,
            scale: true,
            splitNumber: 3,
            axisLabel: { ...axisLabel, ...inside, formatter: number },
            splitLine,
            ...this.bounds(panel),
          })),
          series: panels.flatMap(([, panel], k) => this.lines(panel, k)),
        },
        { notMerge: true },
      );
    },
    // Limits are part of the range where they do not shrink the curves to a line.
    bounds(panel) {
      const values = Object.values(panel.values).flat().filter(Number.isFinite);
      if (!values.length) return {};
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const reach = high - low || Math.abs(high) || 1;
      const near = panel.limits.filter((limit) => limit >= low - reach && limit <= high + reach);
      const [least, most] = [Math.min(low, ...near), Math.max(high, ...near)];
      return { min: Number((least - 0.05 * reach).toPrecision(3)), max: Number((most + 0.05 * reach).toPrecision(3)) };
    },
    lines(panel, k) {
      const limit = { lineStyle: { color: "#d55e00", type: "dashed" }, label: { formatter: "limit", position: "insideEndTop", color: "#d55e00" } };
      const fault = { xAxis: 0, lineStyle: { color: "#b3001b", type: "solid", width: 1.5 }, label: { show: false } };
      return panel.curves.map((name, n) => ({
        name: `${name} ${k}`,
        type: "line",
        xAxisIndex: k,
        yAxisIndex: k,
        showSymbol: false,
        color: color(n, this.dark),
        lineStyle: { type: n ? dash(8 * n) : "solid", width: 1.6 },
        data: panel.values[name].map((value, at) => [panel.time_s[at], value]),
        markLine: n
          ? undefined
          : {
              symbol: "none",
              silent: true,
              animation: false,
              data: [...(this.record.title ? [] : [fault]), ...panel.limits.map((value) => ({ yAxis: value, ...limit }))],
            },
      }));
    },
  },
};

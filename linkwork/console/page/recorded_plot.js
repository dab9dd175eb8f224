// Plots of a recording: the curves of the time shown, and a cursor at the time of the picture.
import { echarts } from "nicegui-echart";
import { link } from "linkwork-console";
import { download, plotBase } from "linkwork-console/plot_base.js";

const SETTLE_MS = 120; // after the last change of the zoom, until finer curves are fetched
const GROUP = "recorded"; // plots that are zoomed together
const MARKED = { fault: "#b3001b", limited: "#b8860b", crossing: "#b8860b" };

export default {
  mixins: [plotBase],
  template: plotBase.template,
  created() {
    this.live = false;
    this.curves = { time_s: [], values: {} };
    this.asked = 0;
  },
  mounted() {
    this.chart.group = GROUP;
    echarts.connect(GROUP);
    this.cursor = document.createElement("div");
    this.cursor.className = "plot-cursor";
    this.$el.querySelector(".plot-chart").append(this.cursor);
    this.chart.getZr().on("click", (event) => {
      if (this.chart.containPixel("grid", [event.offsetX, event.offsetY])) this.seek(event.offsetX);
    });
  },
  methods: {
    learn() {
      this.names = link.machine.channels;
      if (this.chart) this.restyle();
      this.load();
    },
    changed() {
      this.load();
    },
    windowChanged() {
      clearTimeout(this.settling);
      this.settling = setTimeout(() => this.load(), SETTLE_MS);
      this.place();
    },
    resized() {
      this.place();
    },
    take() {
      this.place();
    },
    seek(pixel) {
      link.send({ type: "seek", time_s: this.chart.convertFromPixel({ xAxisIndex: 0 }, pixel) });
    },
    range() {
      return [0, link.machine?.recording?.duration_s ?? 1];
    },
    query(margin) {
      const [begin, end] = this.shownRange();
      const words = new URLSearchParams({ page: link.page });
      words.append("begin_s", begin - margin * (end - begin));
      words.append("end_s", end + margin * (end - begin));
      for (const name of this.shown) words.append("name", name);
      return words;
    },
    async load() {
      const ticket = ++this.asked;
      if (!this.shown.length || !link.machine) return this.redraw();
      const answer = await fetch(`/console/curves?${this.query(0.5)}`);
      if (!answer.ok || ticket !== this.asked) return;
      this.curves = await answer.json();
      this.redraw();
    },
    points(curves, name) {
      const values = curves?.values[name] ?? [];
      return values.map((value, k) => [curves.time_s[k], value]);
    },
    lines() {
      const found = this.shown.map((name, k) => this.line(name, k, this.points(this.curves, name)));
      const { beside } = this.curves;
      if (beside) {
        this.shown.forEach((name, k) => {
          const lineStyle = { type: [2, 3], width: 1.2, opacity: 0.8 };
          found.push(this.line(`${name}, beside`, k, this.points(beside, name), { lineStyle }));
        });
      }
      if (found.length) found[0].markLine = this.marks();
      return found;
    },
    marks() {
      const data = (link.machine?.recording.happenings ?? [])
        .filter(([, , group]) => group in MARKED)
        .map(([time, , group, text]) => ({
          name: text,
          xAxis: time,
          lineStyle: { color: MARKED[group], type: group === "fault" ? "solid" : "dotted" },
        }));
      return { symbol: "none", silent: true, animation: false, label: { show: false }, data };
    },
    // Put the cursor at the time of the picture.
    place() {
      const time = link.picture?.timestamp;
      if (time == null || !this.cursor || !this.$el.offsetParent) return;
      const [begin, end] = this.part ?? this.range();
      const seen = time >= begin && time <= end;
      this.cursor.style.display = seen ? "block" : "none";
      if (seen) this.cursor.style.left = `${this.chart.convertToPixel({ xAxisIndex: 0 }, time)}px`;
    },
    save() {
      download("", `/console/curves.csv?${this.query(0)}`);
    },
  },
};

// What happened in a recording, as a list; choosing an entry goes there.
import { link } from "linkwork-console";

export default {
  template: `
    <ol class="happenings" aria-label="Events of the recording">
      <li v-for="(each, k) in entries" :key="k" :class="[each.group, { past: each.time <= time, beside: each.beside }]">
        <button @click="go(each.time)"><span>{{ each.time.toFixed(3) }} s</span> {{ each.text }}{{ each.beside ? " (beside)" : "" }}</button>
      </li>
      <li v-if="!entries.length" class="quiet">nothing but motion</li>
    </ol>`,
  data() {
    return { entries: [], time: 0 };
  },
  mounted() {
    this.ears = [
      ["machine", () => this.learn()],
      ["picture", (event) => this.follow(event.detail.timestamp)],
    ];
    for (const [type, handler] of this.ears) link.addEventListener(type, handler);
    if (link.machine) this.learn();
  },
  beforeUnmount() {
    for (const [type, handler] of this.ears) link.removeEventListener(type, handler);
  },
  methods: {
    learn() {
      const entries = (each, beside) =>
        (each?.happenings ?? []).map(([time, , group, text]) => ({ time, group, text, beside }));
      const { recording, beside } = link.machine;
      this.entries = [...entries(recording, false), ...entries(beside, true)].sort((a, b) => a.time - b.time);
    },
    // Redrawn only where an entry passes.
    follow(time) {
      const passed = this.entries.some((each) => each.time <= time !== each.time <= this.time);
      if (passed) this.time = time;
    },
    go(time) {
      link.send({ type: "seek", time_s: time });
    },
  },
};

// What became of STOP: sent, confirmed by the controller, or not.
import { link } from "linkwork-console";

const LATE_MS = 500; // without an answer after which it is said that there is none
const SHOWN_MS = 8000; // for how long a confirmation stands there

export default {
  template: `<p class="stop-said" role="alert" :class="{ unconfirmed }">{{ text }}</p>`,
  data() {
    return { text: "", unconfirmed: false };
  },
  mounted() {
    this.ears = [
      ["stop", () => this.sent()],
      ["stopped", (event) => this.answered(event.detail)],
    ];
    for (const [type, handler] of this.ears) link.addEventListener(type, handler);
  },
  beforeUnmount() {
    for (const [type, handler] of this.ears) link.removeEventListener(type, handler);
    clearTimeout(this.timer);
  },
  methods: {
    sent() {
      this.confirmed = false;
      this.say("STOP was sent", false);
      this.timer = setTimeout(() => {
        this.say("STOP is not confirmed yet. Does the machine move? Use its emergency stop.", true);
      }, LATE_MS);
    },
    // It was sent in two ways: one confirmation is enough.
    answered({ text, confirmed }) {
      if (this.confirmed) return;
      this.confirmed = confirmed;
      this.say(text, !confirmed);
      if (confirmed) this.timer = setTimeout(() => (this.text = ""), SHOWN_MS);
    },
    say(text, unconfirmed) {
      clearTimeout(this.timer);
      this.text = text;
      this.unconfirmed = unconfirmed;
    },
  },
};

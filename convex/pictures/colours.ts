/** The colours of pages and pictures, and the style of their charts. */

export const LIGHT = {
  paper: "#fbfaf7",
  raised: "#ffffff",
  ink: "#1f2430",
  soft: "#5a6272",
  line: "#e4e1da",
  accent: "#0a6a5f",
  "accent-soft": "#e3f1ee",
  post: "#6a4310",
  "post-soft": "#f7ecd9",
  code: "#f3f1ec",
  need: "#a3312a",
  shade: "#c9c3b6",
  // Up, down and neither.
  up: "#0a6a5f",
  "up-soft": "#cfe8e2",
  down: "#a3312a",
  "down-soft": "#f6dcd8",
  even: "#5a6272",
};

export const DARK: typeof LIGHT = {
  paper: "#12151a",
  raised: "#181c23",
  ink: "#e6e8ec",
  soft: "#a3abb8",
  line: "#2a303a",
  accent: "#6fd0bf",
  "accent-soft": "#15302d",
  post: "#eec07c",
  "post-soft": "#34281a",
  code: "#1b2028",
  need: "#ff9d92",
  shade: "#4a5363",
  up: "#6fd0bf",
  "up-soft": "#173a36",
  down: "#ff9d92",
  "down-soft": "#44231f",
  even: "#a3abb8",
};

/** The marks of charts, on pages and in pictures alike. */
export const CHART_STYLE = `.plot { overflow: visible; }
.chart path { vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
.path { fill: none; stroke: var(--ink); stroke-width: 1.75px; } .path.up { stroke: var(--up); } .path.down { stroke: var(--down); } .path.flat { stroke: var(--even); }
.path.main { stroke-width: 2.25px; } .path.held { stroke: var(--even); stroke-dasharray: 6 4; }
.fill { fill: var(--code); } .fill.up { fill: var(--up-soft); } .fill.down { fill: var(--down-soft); }
.gain { fill: var(--up-soft); } .far { opacity: 0.55; } .risk { fill: var(--down-soft); }
.grid-line { stroke: var(--line); }
.level { stroke-width: 1.5px; } .level.zero { stroke-width: 1px; stroke: var(--shade); } .level.entry { stroke: var(--ink); } .level.target { stroke: var(--up); } .level.stop { stroke: var(--down); stroke-dasharray: 5 3; }
.chart .axis { fill: var(--soft); } .chart .named { fill: var(--ink); font-weight: 600; }
.chart .named.target, .chart .named.up { fill: var(--up); } .chart .named.stop, .chart .named.down { fill: var(--down); } .chart .named.held { fill: var(--soft); }
.dot { stroke: var(--raised); stroke-width: 2px; fill: var(--even); } .dot.win, .dot.up { fill: var(--up); } .dot.loss, .dot.down { fill: var(--down); } .dot.pending { fill: var(--raised); stroke: var(--ink); }
.reach { opacity: 0.45; fill: var(--even); } .reach.win { fill: var(--up); } .reach.loss { fill: var(--down); }
`;

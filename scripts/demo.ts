/**
 * `npm run demo`: shows the service at work, with simulated providers and time. `npm run demo -- signals` shows 60 days of
 * trading signals; without a name it is an 8-hour research shift.
 */

const demos: Record<string, () => Promise<unknown>> = {
  research: () => import("./demo/research"),
  signals: () => import("./demo/signals"),
};

const [wanted = "research"] = process.argv.slice(2);
if (wanted === "--help") {
  console.log(`Usage: npm run demo [-- NAME]\n\nThe demos are: ${Object.keys(demos).join(", ")}.`);
  process.exit(0);
}
const demo = demos[wanted];
if (demo === undefined) {
  console.error(`There is no demo named ${wanted}. The demos are: ${Object.keys(demos).join(", ")}.`);
  process.exit(1);
}
await demo();

export {};

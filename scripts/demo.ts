import { parseArgs } from "node:util";
import { failed, Misuse } from "./misuse";

/**
 * `npm run demo`: shows the service at work, with simulated providers and time. `npm run demo -- signals` shows 60 days of
 * trading signals; without a name it is an 8-hour research shift.
 */

const demos: Record<string, () => Promise<{ play: (json: boolean) => Promise<number> }>> = {
  research: () => import("./demo/research"),
  signals: () => import("./demo/signals"),
};

const USAGE = `Usage: npm run demo [-- NAME] [--json]

  research   a research shift of eight hours, in less than a minute (without a name, this one)
  signals    60 days of trading signals and their record

  --json     what came of it, as JSON on stdout; how far it is goes to stderr`;

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: "boolean" }, help: { type: "boolean" } },
  });
  if (values.help === true) {
    console.log(USAGE);
    process.exit(0);
  }
  const [wanted = "research", ...rest] = positionals;
  const demo = rest.length > 0 ? undefined : demos[wanted];
  if (demo === undefined) throw new Misuse(`There is no demo named ${positionals.join(" ")}`);
  process.exit(await (await demo()).play(values.json === true));
} catch (error) {
  process.exit(failed(error));
}

import { format } from "node:util";
import * as z from "zod";
import { examine } from "../../scripts/doctor/examination";
import { failed } from "../../scripts/command";

/** A process in which one doctor after another examines: each with the folder, the variables and the network of its own. */

const orderShape = z.object({
  args: z.array(z.string()),
  folder: z.string(),
  env: z.record(z.string(), z.string()),
});

const { fetch } = globalThis;

process.on("message", (message) => {
  void examined(orderShape.parse(message)).then((told) => process.send?.(told));
});
process.on("disconnect", () => process.exit());

async function examined({ args, folder, env }: z.infer<typeof orderShape>) {
  process.chdir(folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  globalThis.fetch = fetch;
  leaveConnections();
  let output = "";
  console.log = console.error = (...words: unknown[]) => void (output += `${format(...words)}\n`);
  const code = await examine(args).catch((error: unknown) => failed(error));
  return { code, output };
}

/** What an earlier examination has kept open may be closed at the other end by now. */
function leaveConnections(): void {
  const place = Symbol.for("undici.globalDispatcher.1");
  const pool: unknown = Reflect.get(globalThis, place);
  if (typeof pool !== "object" || pool === null) return;
  const fresh: unknown = Reflect.construct(pool.constructor, []);
  Reflect.set(globalThis, place, fresh);
}

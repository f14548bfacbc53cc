import type { BuiltIn } from "./server";
import { serviceUrlOf, SettingsError } from "./service";

/** The stdio proxy for AI clients. Standard output belongs to the protocol alone; with words it is a command. */

declare const BUILT_IN: BuiltIn;

const words = process.argv.slice(2);
const readOnly = words.length === 1 && words[0] === "--read-only";
if (words.length > 0 && !readOnly) {
  const { command } = await import("./commands");
  process.exitCode = await command(words, BUILT_IN);
} else {
  try {
    const serviceUrl = serviceUrlOf(process.env.NOELCLAW_CONVEX_URL, BUILT_IN.serviceUrl);
    process.stdout.on("error", () => process.exit());
    const { serve } = await import("./server");
    serve(BUILT_IN, serviceUrl, readOnly);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

import { OperatorError } from "../command";
import { getServiceUrl, run } from "./commands";
import { serve } from "./server";
import type { BuiltIn } from "./kit";

/** The stdio proxy for AI clients. Standard output belongs to the protocol alone; with words it is a command. */

declare const BUILT_IN: BuiltIn;

if (process.argv.length > 2) await run(BUILT_IN);
else {
  try {
    const serviceUrl = getServiceUrl(process.env.NOELCLAW_CONVEX_URL, BUILT_IN.serviceUrl);
    process.stdout.on("error", () => process.exit());
    serve(BUILT_IN, serviceUrl);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

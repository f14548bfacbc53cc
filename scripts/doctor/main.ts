import { failed } from "../misuse";
import { examine } from "./examination";

/**
 * `npm run doctor`: asks each real provider, the chain and the deployment for one real thing, and says in a line each
 * what is wrong and what to do. It changes nothing. Its exit code is 1 when there is a fault.
 */

// Who reads only the first lines, as `head` does, is not sent a stack trace.
process.stdout.on("error", () => process.exit(1));

process.exitCode = await examine(process.argv.slice(2)).catch((error: unknown) => {
  return failed(error);
});

import { failed } from "../command";
import { examine } from "./examination";

/**
 * `npm run doctor`: asks each real provider, the chain and the deployment one real question, and reports each problem
 * in a line with its remedy. It changes nothing. Its exit code is 1 if there is a fault.
 */

// A reader who stops after the first lines, such as `head`, must not cause a stack trace.
process.stdout.on("error", () => process.exit(1));

process.exitCode = await examine(process.argv.slice(2)).catch((error: unknown) => {
  return failed(error);
});

import { fileURLToPath } from "node:url";
import type { Source } from "../stack/modules";
import { startStack } from "../stack/stack";

/** A local stack in a process of its own, for `npm run load`: the application, or the bare one. Ends with its parent. */
const isBare = process.argv[2] === "bare";
const bare: Source = {
  directory: fileURLToPath(new URL("bare", import.meta.url)),
  load: (file) => import(`./bare/${file}.ts`),
};

process.once("disconnect", () => process.exit(0));
const { siteUrl, realProviders } = await startStack({
  ephemeral: true,
  ...(isBare && { source: bare }),
});
if (realProviders.length > 0) {
  console.error(`The bench calls no real provider: take the variables of ${realProviders.join(", ")} away.`);
  process.exit(1);
}
process.send?.(siteUrl);

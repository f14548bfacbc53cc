import { spawn } from "node:child_process";
import { command } from "../command";
import { pushedModules, root, type PushedModule } from "../push";
import { real } from "../real";
import type { Photo } from "../standins/messengerForms";
import { startStack, type Stack } from "../stack/stack";
import { createContexts, type Contexts, type Faults } from "./context";
import { GLOBALS } from "./globals";
import { createHost } from "./host";
import { runtimeFolder, runtimeScript } from "./javascript";

/**
 * `npm run check -- runtime`: the contract on Convex's own runtime. Convex's CLI builds the bundle; every HTTP action
 * and every action of a local stack runs in it, in a context of its own that is closed after its answer. Queries and
 * mutations run on Convex's test library, as everywhere here.
 */

const USAGE = `Usage: CONVEX_RUNTIME=FOLDER npm run check -- runtime

Runs the contract on Convex's own runtime, and says what it would not do. FOLDER is npm-packages/udf-runtime of a checkout
of get-convex/convex-backend.`;

/** The longest wait for a card with a picture. */
const PATIENCE_MS = 60_000;

await command({ usage: USAGE, flags: {} }, async () => {
  const script = await runtimeScript(runtimeFolder());
  const modules = await pushedModules();
  const faults = new Map<string, number>();
  const fault: Faults = (what) => void faults.set(what, (faults.get(what) ?? 0) + 1);
  process.on("unhandledRejection", (reason) => fault(`a rejection that nobody handles: ${String(reason)}`));
  const contexts = createContexts(script, modules);
  const empty = contexts("an empty context", fault, refuseCall);
  for (const name of GLOBALS)
    if (!empty.hasGlobal(name)) fault(`scripts/runtime/globals.ts: there is no ${name}`);
  await loadAll(contexts, modules, fault);
  let calls = 0;
  const stack = await startStack({ ephemeral: true, host: createHost(contexts, fault, () => void calls++) });
  try {
    if ((await accept(stack)) !== 0) fault("the contract: a row differs");
    const photo = await orderPicture(stack);
    if (photo === null) fault("no card came with a picture as a file");
    else console.log(`A picture of ${photo.width} × ${photo.height} came as a form, ${photo.bytes} bytes.`);
  } finally {
    await stack.stop();
  }
  console.log(`${modules.length} modules, ${calls} actions in contexts of their own.`);
  for (const [what, times] of faults) console.log(`✗ ${what}${times === 1 ? "" : ` (${times} times)`}`);
  if (faults.size === 0) console.log("On Convex's own runtime all is as it is here.");
  return faults.size === 0 ? 0 : 1;
});
process.exit();

function refuseCall(name: string): Promise<never> {
  return Promise.reject(new Error(name));
}

/** Loads each module alone, as a push does, and also the modules that functions load later. */
async function loadAll(contexts: Contexts, modules: readonly PushedModule[], fault: Faults): Promise<void> {
  for (const { path: file } of modules) {
    if (file.startsWith("_deps/") || file.includes("_generated/")) continue;
    const context = contexts(file, fault, refuseCall);
    await context
      .load(file.replace(/\.js$/, ""))
      .catch((error: unknown) => fault(`${file} does not load: ${String(error)}`));
    context.cut();
  }
}

/** @returns The exit code of the contract's own command. */
function accept({ siteUrl, apiUrl, providersUrl, chain }: Stack): Promise<number | null> {
  const port = (url: string | undefined) => new URL(url ?? "http://127.0.0.1:0").port;
  const ports = {
    PORT: port(siteUrl),
    API_PORT: port(apiUrl),
    PROVIDERS_PORT: port(providersUrl),
    CHAIN_PORT: port(chain?.url),
  };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", "tsx", "scripts/accept/main.ts"], {
      cwd: root,
      env: { ...process.env, ...ports },
      stdio: ["ignore", "inherit", "inherit"],
    });
    child.once("error", reject);
    child.once("close", resolve);
  });
}

/** Creates an alert through the bot; its card has a picture. */
async function orderPicture({ providersUrl, standins }: Stack): Promise<Photo | null> {
  const said = { chatId: 7_001, text: "/alert BTC above 9000000" };
  await fetch(`${providersUrl}/_control/messenger/say`, { method: "POST", body: JSON.stringify(said) });
  const end = real.Date.now() + PATIENCE_MS;
  while (real.Date.now() < end) {
    const photo = standins.sent("messenger").find(({ photo }) => photo !== undefined)?.photo;
    if (photo !== undefined) return photo;
    await new Promise((wake) => real.setTimeout(wake, 200));
  }
  return null;
}

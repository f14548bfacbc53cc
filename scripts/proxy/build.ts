import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { command } from "../command";
import { bundle } from "./bundle";
import { mcpBundle, registryEntry } from "./kit";

/**
 * `npm run build`: makes `dist/proxy.js`, the command that `package.json` names, and beside it what clients' directories
 * ask for: `server.json`, the entry in the MCP registry, and `proxy.mcpb`, the bundle for desktop clients. The proxy's own
 * package gets the program, too. npm runs it after every install of the repository, and before it packs the proxy.
 */

const usage = `Usage: npm run build

Makes dist/proxy.js, the stdio proxy for AI clients, its server.json and proxy.mcpb, and the reference of the endpoints.`;

await command({ usage, flags: {} }, async () => {
  const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const [own, packed] = [at("../../dist/proxy.js"), at("dist/proxy.js")];
  const { about, serviceUrl } = await bundle(own);
  await writeFile(
    at("../../dist/server.json"),
    `${JSON.stringify(registryEntry(about, serviceUrl), null, 2)}\n`,
  );
  await writeFile(at("../../dist/proxy.mcpb"), mcpBundle(about, new Uint8Array(await readFile(own))));
  await mkdir(at("dist"), { recursive: true });
  await copyFile(own, packed);
  for (const file of [own, packed]) await chmod(file, 0o755);
  await copyFile(at("../../LICENSE"), at("LICENSE"));
});

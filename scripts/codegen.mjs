/**
 * Writes `convex/_generated` without a deployment: `npm run codegen`, or with `--check` fails when a file would change.
 *
 * The Convex CLI writes these files after asking a deployment which components and environment variables the
 * application declares. This script answers that question itself: it evaluates the bundle of `convex.config.ts`
 * that the CLI sends and returns what a deployment would, so the files come from the CLI's own templates.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

const USAGE = `Usage: npm run codegen

Writes convex/_generated without a deployment. npm run check -- codegen fails when a file would change.`;

const unknown = process.argv.slice(2).filter((name) => name !== "--check" && name !== "--help");
if (process.argv.includes("--help") || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There is no option ${unknown.join(", ")}.\n`);
  console.log(USAGE);
  process.exit(unknown.length > 0 ? 1 : 0);
}

const root = fileURLToPath(new URL("..", import.meta.url));
const generated = join(root, "convex/_generated");
const check = process.argv.includes("--check");

const dataModule = (source) => `data:text/javascript;base64,${Buffer.from(source).toString("base64")}`;

/** Evaluates one `convex.config` bundle; its imports of child components are replaced by their path and name. */
async function evaluateDefinition(bundle, nameOfPath) {
  const source = bundle.source.replace(/(["'])\.\/_componentDeps\/([\w-]+)\1/g, (_match, _quote, encoded) => {
    const path = Buffer.from(encoded, "base64url").toString();
    const child = { componentDefinitionPath: path, defaultName: nameOfPath.get(path) };
    return JSON.stringify(dataModule(`export default ${JSON.stringify(child)};`));
  });
  const module = await import(dataModule(source));
  return module.default.export();
}

/** What a deployment answers to `start_push`, reduced to what code generation reads. */
async function startPushAnswer(push) {
  const nameOfPath = new Map();
  for (const component of push.componentDefinitions) {
    const definition = await evaluateDefinition(component.definition, nameOfPath);
    nameOfPath.set(component.definitionPath, definition.name);
  }
  const definition = await evaluateDefinition(push.appDefinition.definition, nameOfPath);
  const noVersion = { serverVersion: "0.0.0", importPhaseRngSeed: null, importPhaseUnixTimestamp: null };
  return {
    environmentVariables: {},
    externalDepsId: null,
    componentDefinitionPackages: {},
    appAuth: [],
    schemaChange: { allocatedComponentIds: {}, schemaIds: {} },
    analysis: {
      "": {
        definition: {
          childComponents: [],
          httpMounts: {},
          exports: { type: "branch", branch: [] },
          ...definition,
          path: "",
          definitionType: { type: "app" },
        },
        schema: null,
        functions: {},
        udfConfig: noVersion,
      },
    },
    app: {
      definitionPath: "",
      componentPath: "",
      args: {},
      childComponents: {},
      httpRoutes: { httpModuleRoutes: null, mounts: [] },
      exports: {},
    },
  };
}

async function readBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  return request.headers["content-encoding"] === "br" ? brotliDecompressSync(body) : body;
}

async function snapshot() {
  const names = await readdir(generated).catch(() => []);
  const files = await Promise.all(
    names.map(async (name) => [name, await readFile(join(generated, name), "utf8")]),
  );
  return new Map(files);
}

// The API's document is build output, and `api.d.ts` names it.
if (!existsSync(join(root, "convex/ops/reference/bytes.ts")))
  spawnSync(process.execPath, ["--import", "tsx", join(root, "scripts/reference/publication.ts")], {
    cwd: root,
    stdio: "inherit",
  });

const before = await snapshot();
const server = createServer(async (request, response) => {
  try {
    const body = await readBody(request);
    const answers = {
      "/api/get_config_hashes": async () => ({
        config: { functions: "convex/" },
        moduleHashes: [],
        udfServerVersion: "0.0.0",
      }),
      "/api/deploy2/start_push": async () => startPushAnswer(JSON.parse(body.toString("utf8"))),
    };
    const answer = answers[request.url];
    response.writeHead(answer ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ? await answer() : {}));
  } catch (error) {
    console.error("codegen:", error);
    response.writeHead(500, { "content-type": "application/json" });
    response.end("{}");
  }
});

server.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const cli = join(root, "node_modules/convex/bin/main.js");
  const args = [cli, "codegen", "--url", address, "--admin-key", "local|local", "--typecheck", "disable"];
  const quiet = ["ignore", check ? "ignore" : "inherit", "inherit"];
  const env = { ...process.env };
  delete env.CONVEX_DEPLOYMENT;
  const child = spawn(process.execPath, args, { cwd: root, stdio: quiet, env });
  child.on("exit", async (code) => {
    server.close();
    if (code !== 0) process.exit(code ?? 1);
    const after = await snapshot();
    const changed = [...after].filter(([name, text]) => before.get(name) !== text).map(([name]) => name);
    if (check && changed.length > 0) {
      console.error(`convex/_generated was out of date (now written): ${changed.join(", ")}`);
      process.exit(1);
    }
    console.log(changed.length > 0 ? `written: ${changed.join(", ")}` : "convex/_generated is up to date");
  });
});

import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseEnv } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { variableNames } from "../../convex/lib/env";
import { envFile } from "../../scripts/env/plan";
import { repository } from "../stack/processes";
import { ranHere } from "../support/commands";
import { project, useProject } from "./support";

/** A stand-in for the Convex CLI: keeps what it was given, repeats all of it on the terminal, and ends as it is told. */
const CLI = `
import { writeFileSync } from "node:fs";
let input = "";
for await (const chunk of process.stdin) input += chunk;
writeFileSync("given.json", JSON.stringify({ args: process.argv.slice(2), input, deployment: process.env.CONVEX_DEPLOYMENT }));
console.log("setting " + input);
process.exit(Number(process.env.CLI_EXIT ?? 0));
`;

useProject(CLI);

async function push(settings: string | null, args: string[] = [], env: Record<string, string> = {}) {
  if (settings !== null) await writeFile(path.join(project, ".env.local"), settings);
  const { code, output } = await ranHere("scripts/env/push.ts", args, { env, cwd: project });
  const given = await readFile(path.join(project, "given.json"), "utf8").then(JSON.parse, () => null);
  return { code, output, given: given as { args: string[]; input: string; deployment?: string } | null };
}

const SECRET = "bk_super-secret-key";

test("sets what has a value, with placeholders for the identity provider, and shows no value", async () => {
  const file = `LLM_GATEWAY_API_KEY=${SECRET}\nSENTIMENT_API_KEY=\nCONVEX_DEPLOYMENT=dev:some-one\nLLM_GATEWAY_API_KEi=x\n`;
  const { code, output, given } = await push(file, ["--prod"]);
  expect(code).toBe(0);
  expect(given?.args).toEqual(["env", "set", "--force", "--prod"]);
  expect(parseEnv(given?.input ?? "")).toEqual({
    LLM_GATEWAY_API_KEY: SECRET,
    AUTH_ISSUER: "https://auth.invalid",
    AUTH_APPLICATION_ID: "unset",
  });
  expect(output).toMatch(/set +LLM_GATEWAY_API_KEY/);
  expect(output).toMatch(/missing +SENTIMENT_API_KEY: required/);
  expect(output).toMatch(/missing +WALLET_ENCRYPTION_KEY: required/);
  expect(output).toMatch(/kept +CONVEX_DEPLOYMENT/);
  expect(output).toMatch(/unknown +LLM_GATEWAY_API_KEi: did you mean LLM_GATEWAY_API_KEY\?/);
  expect(output).not.toContain(SECRET);
});

test.each([
  [
    ["--prod"],
    "CONVEX_DEPLOYMENT=dev:some-one\n",
    "the production deployment of the project of dev:some-one",
  ],
  [
    ["--prod"],
    "CONVEX_DEPLOYMENT=local:some-one\n",
    "the production deployment of the project of local:some-one (not that one, which runs on this machine)",
  ],
  [[], "CONVEX_DEPLOYMENT=dev:some-one # team: a\n", "the deployment dev:some-one"],
  [["--deployment", "other"], "CONVEX_DEPLOYMENT=dev:some-one\n", "the deployment other"],
  [
    [],
    "CONVEX_SELF_HOSTED_URL=http://127.0.0.1:3210\n",
    "the self-hosted deployment at http://127.0.0.1:3210",
  ],
  [
    [],
    "CONVEX_DEPLOY_KEY=prod:some-one|very-secret\n",
    "the deployment of CONVEX_DEPLOY_KEY (prod:some-one)",
  ],
  [[], "", "no deployment yet: npx convex init makes one"],
])("with %j it names the target before anything is set", async (options, file, named) => {
  const env = { CONVEX_DEPLOYMENT: "", CONVEX_DEPLOY_KEY: "", CONVEX_SELF_HOSTED_URL: "" };
  const { code, output } = await push(file, ["--dry-run", ...options], env);
  expect(code).toBe(0);
  expect(output).toContain(`.env.local → ${named}`);
  expect(output).not.toContain("very-secret");
});

test.each([
  ["CONVEX_DEPLOYMENT=anonymous:anonymous-agent\n", "has no production"],
  ["CONVEX_DEPLOYMENT=anonymous-project\n", "has no production"],
  ["CONVEX_SELF_HOSTED_URL=http://127.0.0.1:3210\n", "leave it out"],
])("with --prod nothing is set where %j names what is not production", async (file, says) => {
  const env = { CONVEX_DEPLOYMENT: "", CONVEX_DEPLOY_KEY: "", CONVEX_SELF_HOSTED_URL: "" };
  const { code, output, given } = await push(`${file}LLM_GATEWAY_API_KEY=${SECRET}\n`, ["--prod"], env);
  expect({ code, given }).toEqual({ code: 1, given: null });
  expect(output).toContain(says);
  expect(output).not.toContain("the production deployment");
});

test("the CLI is told which deployment another settings file names", async () => {
  await writeFile(
    path.join(project, "other.env"),
    "CONVEX_DEPLOYMENT=dev:another\nLLM_GATEWAY_API_KEY=bk_of-another\n",
  );
  const env = { LOCAL_ENV_FILE: "other.env", CONVEX_DEPLOYMENT: "" };
  const { code, output, given } = await push("LLM_GATEWAY_API_KEY=bk_of-this-one\n", [], env);
  expect(code).toBe(0);
  expect(output).toContain("other.env → the deployment dev:another");
  expect(given?.input).toContain("bk_of-another");
  expect(given?.deployment).toBe("dev:another");
});

test("a value that only stands for one, half an identity provider, and an open quote stop everything", async () => {
  const file = "LLM_GATEWAY_API_KEY=<your key here>\nAUTH_ISSUER=https://id.example\n";
  const { code, output, given } = await push(`${file}not a setting\nSWAP_API_KEY="half`);
  expect({ code, given }).toEqual({ code: 1, given: null });
  expect(output).toContain("LLM_GATEWAY_API_KEY: is a placeholder, not a value");
  expect(output).toContain("AUTH_APPLICATION_ID: is needed with AUTH_ISSUER");
  expect(output).toContain("line 3 is neither NAME=value nor a # comment");
  expect(output).toContain("line 4: SWAP_API_KEY has a quote that is never closed");
});

test("a dry run calls nobody", async () => {
  const { code, output, given } = await push(`LLM_GATEWAY_API_KEY=${SECRET}`, ["--dry-run"]);
  expect({ code, given }).toEqual({ code: 0, given: null });
  expect(output).toContain("Nothing was set: this was a dry run.");
  expect(output).not.toContain(SECRET);
  const told = await push(`LLM_GATEWAY_API_KEY=${SECRET}\nSWAP_API_KEY=`, ["--dry-run", "--json"]);
  expect(JSON.parse(told.output)).toMatchObject({
    set: expect.arrayContaining(["LLM_GATEWAY_API_KEY"]),
    missing: expect.arrayContaining(["SWAP_API_KEY"]),
    isSet: false,
    failure: null,
  });
  expect(told.output).not.toContain(SECRET);
});

test("a failing CLI is told without the values it repeats", async () => {
  const { code, output } = await push(`LLM_GATEWAY_API_KEY=${SECRET}`, [], { CLI_EXIT: "3" });
  expect(code).toBe(3);
  expect(output).toContain("setting LLM_GATEWAY_API_KEY=");
  expect(output).not.toContain(SECRET);
});

test("without a file it says which to make", async () => {
  const { code, output } = await push(null);
  expect(code).toBe(1);
  expect(output).toContain("copy .env.local.example");
});

test("the example names every variable the service reads, and no other", async () => {
  await cp(path.join(repository, ".env.local.example"), path.join(project, ".env.local"));
  const example = parseEnv(await readFile(path.join(project, ".env.local"), "utf8"));
  expect(Object.keys(example).toSorted()).toEqual(
    [...variableNames(), "AUTH_ISSUER", "AUTH_APPLICATION_ID"].toSorted(),
  );
  expect(Object.values(example).filter((value) => value !== "")).toEqual([]);
});

test("any value without a line break reads back as it was", () => {
  const value = fc
    .string({ minLength: 1, unit: fc.constantFrom(..."aZ09 #=$'\"\\`{}+/-_:.") })
    .filter((text) => text.trim() === text && !(text.includes('"') && text.includes("'")));
  fc.assert(
    fc.property(value, (text) => {
      expect(parseEnv(envFile(new Map([["NAME", text]])))).toEqual({ NAME: text });
    }),
  );
});

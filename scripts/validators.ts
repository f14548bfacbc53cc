/**
 * Writes what tables store of the shapes that callers see, as validators in code: `npm run codegen`. The shapes are zod's,
 * whose code and whose building of objects every function call would pay for that touches such a table.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { GenericValidator } from "convex/values";
import { STORED } from "./storedShapes";

const LITERALS = `import { literals } from "convex-helpers/validators";`;

const convex = fileURLToPath(new URL("../convex", import.meta.url));
const files = Object.entries(STORED).map(([file, { from, validators }]) => {
  const path = join(convex, `${file}.ts`);
  const named = new Map<string, string>();
  const lines = Object.entries(validators).map(([name, one]) => {
    const code = required(one, named);
    named.set(code, name);
    return `export const ${name} = ${code};`;
  });
  const head = [
    `import { v } from "convex/values";`,
    ...(lines.some((line) => line.includes("literals(")) ? [LITERALS] : []),
    `/** What is stored of the shapes of \`${from}\`. Written by \`npm run codegen\`; a test holds both against one another. */`,
  ];
  writeFileSync(path, [...head, ...lines, ""].join("\n\n"));
  return path;
});
const require = createRequire(import.meta.url);
const formatter = join(dirname(require.resolve("oxfmt/package.json")), "bin/oxfmt");
execFileSync(process.execPath, [formatter, ...files], { stdio: "inherit" });

/** A validator as the code that makes it, or the name of an earlier one that is the same. */
function codeOf(validator: GenericValidator, named: ReadonlyMap<string, string>): string {
  const code = required(validator, named);
  const short = named.get(code) ?? code;
  return validator.isOptional === "optional" ? `v.optional(${short})` : short;
}

function required(validator: GenericValidator, named: ReadonlyMap<string, string>): string {
  const list = (all: readonly GenericValidator[]) => all.map((one) => codeOf(one, named)).join(", ");
  switch (validator.kind) {
    case "object": {
      const fields = Object.entries<GenericValidator>(validator.fields);
      return `v.object({ ${fields.map(([name, one]) => `${name}: ${codeOf(one, named)}`).join(", ")} })`;
    }
    case "union": {
      const members: GenericValidator[] = validator.members;
      const values = members.flatMap((one) => (one.kind === "literal" ? [JSON.stringify(one.value)] : []));
      return values.length === members.length
        ? `literals(${values.join(", ")})`
        : `v.union(${list(members)})`;
    }
    case "array":
      return `v.array(${codeOf(validator.element, named)})`;
    case "record":
      return `v.record(${list([validator.key, validator.value])})`;
    case "literal":
      return `v.literal(${JSON.stringify(validator.value)})`;
    case "float64":
      return "v.number()";
    case "string":
    case "boolean":
    case "null":
      return `v.${validator.kind}()`;
    default:
      throw new Error(`Nothing stored by a shape is of the kind ${validator.kind}`);
  }
}

import convexPlugin from "@convex-dev/eslint-plugin";
import regexp from "eslint-plugin-regexp";
import tseslint from "typescript-eslint";

/** What Oxlint (.oxlintrc.json), which lints everything, has no rules for: the platform, and what texts may cost. */
export default tseslint.config(
  { ignores: ["convex/_generated/"] },
  {
    files: ["convex/**/*.ts"],
    extends: [tseslint.configs.base, ...convexPlugin.configs.recommended],
    languageOptions: {
      parserOptions: { project: ["convex/tsconfig.json"], tsconfigRootDir: import.meta.dirname },
    },
    plugins: { regexp },
    rules: {
      // Texts come from strangers: no regular expression may take more than linear time, wherever it begins to look.
      "regexp/no-super-linear-backtracking": ["error", { report: "potential" }],
      "regexp/no-super-linear-move": ["error", { report: "potential" }],
      "@convex-dev/no-collect-in-query": "error",
      "@convex-dev/import-wrong-runtime": "error",
    },
  },
  {
    // An action inside an action takes a second of the deployment's 64 places while its caller keeps the first: so many
    // requests at once would wait for one another. Work on the schedule, of which few run at once, may.
    files: ["convex/**/*.ts"],
    ignores: ["convex/wallets/driver.ts", "convex/signals/{issuing,outcomes}.ts", "convex/bot/work.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "MemberExpression[property.name='runAction']",
          message: "Call a plain function, loaded by `await import(...)` where it is heavy.",
        },
      ],
    },
  },
);

import convexPlugin from "@convex-dev/eslint-plugin";
import js from "@eslint/js";
import regexp from "eslint-plugin-regexp";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/", "dist/", ".local/", "convex/_generated/", "tests/clients/"] },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  ...convexPlugin.configs.recommended,
  {
    languageOptions: {
      // One program for everything: with a project service, convex/ and its own tsconfig.json would be a second one,
      // and its types, the largest part by far, would be worked out twice.
      parserOptions: { project: ["tsconfig.json"], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
    },
  },
  {
    files: ["convex/**/*.ts"],
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
  {
    // Vitest's asymmetric matchers are typed `any`.
    files: ["tests/**/*.ts"],
    rules: { "@typescript-eslint/no-unsafe-assignment": "off" },
  },
  {
    // Read by every Node there is.
    files: ["scripts/run.cjs"],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      sourceType: "commonjs",
      globals: { process: "readonly", console: "readonly", require: "readonly" },
    },
    rules: { "@typescript-eslint/no-require-imports": "off", "no-var": "off" },
  },
  {
    files: ["**/*.mjs", "eslint.config.js"],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: { process: "readonly", console: "readonly", Buffer: "readonly", URL: "readonly" },
    },
  },
);

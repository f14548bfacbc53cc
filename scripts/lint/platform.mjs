/**
 * Rules of the platform that its own plugin lacks, or checks by types, which would take longer than all other rules
 * together: these check the syntax. `.oxlintrc.platform.json` lists them with the plugin's rules and those that keep
 * every regular expression linear in time, because texts come from anonymous callers.
 */

const SECRET = /secret|signature|hmac|\bmac\b|digest|botToken|password|apiKey|encryptionKey|crc_token/i;
/** A secret's presence, name and length are not secret; neither is a sealed secret or a constant in the code. */
const HARMLESS = /^(?:undefined|null|""|true|false|\d+|[A-Z][A-Z\d_]*)$|\.length$|\.kind$|^typeof |\bsealed/;

const QUERY = "CallExpression[callee.name=/^(query|internalQuery)$/]";
const A_READ = "callee.object.callee.property.name=/^(query|withIndex|withSearchIndex|fullTableScan|order)$/";

export default {
  meta: { name: "platform" },
  rules: {
    "whole-table": forbidding("A table grows: take so many rows, or page through them.", [
      "CallExpression[callee.property.name='collect'][arguments.length=0]",
    ]),
    "filtered-read": forbidding("It reads what it leaves out: use an index.", [
      `CallExpression[callee.property.name='filter'][${A_READ}]`,
    ]),
    "clock-in-query": forbidding(
      "The platform keeps a query's answer while what it has read stays the same: pass the time in, rounded.",
      [
        `${QUERY} CallExpression[callee.object.name='Date'][callee.property.name='now']`,
        `${QUERY} NewExpression[callee.name='Date'][arguments.length=0]`,
      ],
    ),
    "named-table": forbidding("Name the table first.", [
      databaseCall("get|delete", 1),
      databaseCall("patch|replace", 2),
    ]),
    "secret-comparison": {
      create: (context) => ({
        "BinaryExpression[operator=/^[!=]==?$/]": (node) => {
          const sides = [node.left, node.right].map((side) => context.sourceCode.getText(side));
          if (!sides.some((side) => SECRET.test(side)) || sides.some((side) => HARMLESS.test(side))) return;
          context.report({ node, message: "It stops at the first difference: use isEqualBytes." });
        },
      }),
    },
    // An action that calls an action takes two of the deployment's 64 places: under load, requests would wait for each
    // other. Scheduled work may do it, because few pieces run concurrently, and so may the sending of cards: an action
    // of its own draws each picture.
    "action-in-action": forbidding(
      "Call a plain function, loaded by `await import(...)` where it is heavy.",
      ["MemberExpression[property.name='runAction']"],
    ),
  },
};

function databaseCall(names, count) {
  return `CallExpression[callee.object.property.name='db'][callee.property.name=/^(${names})$/][arguments.length=${count}]`;
}

function forbidding(message, selectors) {
  return {
    create: (context) =>
      Object.fromEntries(selectors.map((one) => [one, (node) => context.report({ node, message })])),
  };
}

/**
 * Rules of the platform that the platform's own plugin has not, or tells by types, which would take longer to work out
 * than all the rest: here they are told by their syntax. `.oxlintrc.platform.json` has them, beside the plugin's rules
 * and those that keep every regular expression to linear time, wherever it begins to look: texts come from strangers.
 */

const SECRET = /secret|signature|hmac|\bmac\b|digest|botToken|password|apiKey|encryptionKey|crc_token/i;
/** Whether there is one at all, what it is called and how long it is, is no secret; nor is a sealed one. */
const HARMLESS = /^(?:undefined|null|""|true|false|\d+)$|\.length$|\.kind$|^typeof |\bsealed/;

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
    // What a query calls in other files is caught where it runs: `strictClock` of the host.
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
          context.report({ node, message: "It stops at the first difference: use equalBytes." });
        },
      }),
    },
    // An action inside an action takes a second of the deployment's 64 places while its caller keeps the first: so many
    // requests at once would wait for one another. Work on the schedule, of which few run at once, may; so may what
    // sends cards: a picture is drawn by an action of its own, whose end is not the card's.
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

/**
 * `node scripts/run.cjs FILE [ARGUMENTS]`: runs a TypeScript file of this repository, after a look at Node's version. An
 * older Node would end with an error about some import, so this file is written in what it can read as well.
 */
"use strict";

var path = require("path");
var url = require("url");
var util = require("util");

/** As `engines` in package.json. */
var NEEDED = [20, 19];

var version = process.versions.node.split(".").map(Number);
var isOld = version[0] < NEEDED[0] || (version[0] === NEEDED[0] && version[1] < NEEDED[1]);

if (isOld) {
  console.error(
    "This needs Node " +
      NEEDED.join(".") +
      " or newer, and this is Node " +
      process.versions.node +
      ": install a newer one from https://nodejs.org, then run npm ci again.",
  );
  process.exit(1);
} else {
  var file = path.resolve(process.argv[2]);
  process.argv.splice(1, 2, file);
  import(url.pathToFileURL(path.join(__dirname, "bundle.mjs")).href)
    .then(function (bundled) {
      return bundled.run(file);
    })
    .catch(function (error) {
      var missing = error && error.code === "ERR_MODULE_NOT_FOUND" && /'esbuild'/.test(error.message);
      // A script may have put its own log in the console's place.
      var text = missing ? "Its packages are not installed: run npm ci first." : util.inspect(error);
      process.stderr.write(text + "\n");
      process.exit(1);
    });
}

'use strict';
// Finds the native half for this machine.

const path = require('node:path');
const name = require('./platform.js');

function load() {
  try {
    return require(path.join(__dirname, name));
  } catch (cause) {
    const isMissing = cause.code === 'MODULE_NOT_FOUND';
    const why = isMissing
      ? `this package was built without ${name}, which this machine needs (Node ${process.version})`
      : `${name} cannot be loaded (Node ${process.version}): ${cause.message}`;
    const error = new Error(
      `leasehold: ${why}; build the package on such a machine, from its sources, with \`cargo xtask packages node\``,
      { cause },
    );
    error.code = 'ERR_LEASEHOLD_NATIVE';
    throw error;
  }
}

module.exports = load();

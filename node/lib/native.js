'use strict';
// Finds the native half for this machine.

const path = require('node:path');

/** How this machine is called in the name of the file. */
function platform() {
  const { platform: system, arch } = process;
  if (system !== 'linux') return `${system}-${arch}`;
  // The report says which C library runs, without a look at files. Resolving addresses would take seconds.
  const { header } = process.report.getReport();
  return `linux-${arch}-${header.glibcVersionRuntime ? 'gnu' : 'musl'}`;
}

function load() {
  const name = `leasehold.${platform()}.node`;
  try {
    return require(path.join(__dirname, name));
  } catch (cause) {
    const isMissing = cause.code === 'MODULE_NOT_FOUND';
    const why = isMissing
      ? `this package was built without ${name}, which this machine needs (Node ${process.version})`
      : `${name} cannot be loaded (Node ${process.version}): ${cause.message}`;
    const error = new Error(
      `leasehold: ${why}; build the package on such a machine, from its sources, with \`cargo xtask packages\``,
      { cause },
    );
    error.code = 'ERR_LEASEHOLD_NATIVE';
    throw error;
  }
}

module.exports = load();

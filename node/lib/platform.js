'use strict';
// How this machine is called in the name of the native half.

function name() {
  const { platform: system, arch } = process;
  if (system !== 'linux') return `${system}-${arch}`;
  // The report says which C library runs, without a look at files.
  const { header } = process.report.getReport();
  return `linux-${arch}-${header.glibcVersionRuntime ? 'gnu' : 'musl'}`;
}

module.exports = `leasehold.${name()}.node`;

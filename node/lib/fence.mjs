import fence from './fence.js';

export const {
  Fence,
  FenceTable,
  FencedScript,
  RowFence,
  StaleError,
  checkNewest,
  checkRows,
  setIfNewest,
  staleOf,
} = fence;

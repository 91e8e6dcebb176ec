import type { NodeFault, LossReason } from './errors';
import type { Released } from './lease';

interface OfLock {
  /** The lock's name; several stand in lines. */
  resource: string;
}

interface OfLease extends OfLock {
  owner: string;
}

interface OfNode {
  node: string;
}

/** What a manager does and notices. Durations are milliseconds. */
export type ManagerEvent =
  | ({
      type: 'acquired';
      fencingToken: bigint | null;
      waited: number;
      attempts: number;
      validFor: number;
    } & OfLease)
  | ({ type: 'not-acquired'; obstacle: string; waited: number; attempts: number } & OfLock)
  | ({ type: 'extended'; took: number; left: number; validFor: number } & OfLease)
  | ({ type: 'in-danger'; remaining: number; message: string; faults: NodeFault[] } & OfLease)
  | ({ type: 'lost'; cause: LossReason; message: string; held: number } & OfLease)
  | ({ type: 'released'; outcome: Released; held: number; took: number } & OfLease)
  | ({ type: 'handed-over'; held: number } & OfLease)
  | ({ type: 'asked'; request: string } & OfNode)
  | ({ type: 'answered'; request: string; answer: string; took: number } & OfNode)
  | ({ type: 'abstained'; cause: string; left: number; message: string } & OfNode)
  | ({ type: 'clock-stepped'; direction: 'forward' | 'back'; by: number } & OfNode)
  | ({ type: 'up' } & OfNode)
  | ({ type: 'down'; reason: string } & OfNode)
  /** The node has taken the place of `former`. */
  | ({ type: 'replaced'; former: string } & OfNode)
  /** The event loop was blocked for so long that so many events were left out. */
  | { type: 'missed'; events: number };

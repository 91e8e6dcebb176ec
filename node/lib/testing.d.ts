import type { CommonOptions } from './types/options';
import type { LockManager } from './types/manager';

/**
 * Nodes that can be broken, and a time that stands still until it is told to pass: for tests of what a program
 * does with its locks. Leases extend themselves when the time passes.
 */
export class World {
  /** 1 to 32 nodes; 3 by default. */
  constructor(nodes?: number);
  /** A manager of these nodes. Several exclude each other. */
  manager(options?: CommonOptions): LockManager;
  node(number: number): WorldNode;
  /** Waits until all that is going on without time has happened. */
  settle(): Promise<void>;
  /** Lets so many milliseconds pass. */
  advance(by: number): Promise<void>;
  /** Takes the lock away from whoever holds it, on all nodes. Throws if nobody does. */
  lose(name: string): Promise<void>;
  /** The owner that a quorum names. */
  holder(name: string): string | undefined;
  /** The owners of permits, by slot. */
  permits(name: string): Map<number, string>;
  readers(name: string): string[];
  /** Waits until somebody holds the lock, for `patience` milliseconds of real time (5 000 by default). */
  untilHeld(name: string, options?: { patience?: number }): Promise<string>;
  /** Who waits for what no time can bring fails after so many milliseconds of real time. */
  giveUpAfter(patience: number): void;
}

export class WorldNode {
  private constructor();
  /** Its connections are lost, and new ones refused. */
  down(reason?: string): void;
  up(): void;
  /** It answers nothing. */
  hang(): void;
  resume(): void;
  /** It takes so many milliseconds for each answer. */
  answerAfter(delay: number): void;
  /** It forgets this lock. */
  loseKey(name: string): void;
  loseEverything(): void;
  setClockForward(by: number): void;
}

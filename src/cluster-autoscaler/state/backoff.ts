import type { InstanceError } from '#cluster-autoscaler/provider/node-group.ts'

export type BackoffOptions = { initialMs: number; maxMs: number; resetMs: number }
type Entry = { durationMs: number; untilMs: number; failedMs: number; error: InstanceError }

/** Groups that failed to grow are left alone for a while, longer each time. */
export class GroupBackoff {
  readonly #options: BackoffOptions
  readonly #entries = new Map<string, Entry>()

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  failed(groupId: string, error: InstanceError, nowMs: number): void {
    const known = this.#entries.get(groupId)
    let durationMs = known?.durationMs ?? this.#options.initialMs
    // Requests that fail together count as one.
    if (known !== undefined && known.untilMs < nowMs) durationMs = Math.min(durationMs * 2, this.#options.maxMs)
    this.#entries.set(groupId, { durationMs, untilMs: nowMs + durationMs, failedMs: nowMs, error })
  }

  /** Why the group is left alone now. */
  errorOf(groupId: string, nowMs: number): InstanceError | undefined {
    const entry = this.#entries.get(groupId)
    return entry === undefined || entry.untilMs < nowMs ? undefined : entry.error
  }

  succeeded(groupId: string): void {
    this.#entries.delete(groupId)
  }

  forgetOld(nowMs: number): void {
    for (const [id, { failedMs }] of this.#entries) if (failedMs + this.#options.resetMs < nowMs) this.#entries.delete(id)
  }
}

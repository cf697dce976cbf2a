/** What a plugin answers. Success is `undefined`, so that the common case costs nothing. */

export type StatusCode =
  /** Not now; something may change that, preemption included. */
  | 'Unschedulable'
  /** Not now, and taking pods off the node would not help. */
  | 'UnschedulableAndUnresolvable'
  /** Permit: ask again later. */
  | 'Wait'
  /** Reserve and later: not now, until what the plugin waits for has happened. */
  | 'Pending'
  | 'Error'

export type Status = {
  readonly code: StatusCode
  readonly reasons: readonly string[]
  /** Filled in by whoever called the plugin. */
  plugin: string
  readonly error?: Error
}

export const fits = undefined

export const unschedulable = (...reasons: string[]): Status => ({ code: 'Unschedulable', reasons, plugin: '' })
export const unresolvable = (...reasons: string[]): Status => ({ code: 'UnschedulableAndUnresolvable', reasons, plugin: '' })
export const wait = (): Status => ({ code: 'Wait', reasons: [], plugin: '' })

export function failed(error: unknown): Status {
  const cause = error instanceof Error ? error : new Error(String(error))
  return { code: 'Error', reasons: [cause.message], plugin: '', error: cause }
}

export const isRejected = (status: Status): boolean =>
  status.code === 'Unschedulable' || status.code === 'UnschedulableAndUnresolvable' || status.code === 'Pending'

export const messageOf = (status: Status | undefined): string => status?.reasons.join(', ') ?? ''

export function from(plugin: string, status: Status): Status {
  if (status.plugin === '') status.plugin = plugin
  return status
}

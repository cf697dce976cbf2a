import type { CommandLine } from './flags/parse-command-line.ts'
import type { Host } from './host.ts'
import type { Session } from './session/session.ts'

/** One command line, and all it may use. */
export type Call = CommandLine & { host: Host; session: Session }

/** What a command does; throws what `errorText` prints. */
export type Run = (call: Call) => Promise<void>

/** Any object of the API. */
export type ApiObject = {
  apiVersion?: string
  kind?: string
  metadata?: {
    name?: string
    generateName?: string
    namespace?: string
    uid?: string
    resourceVersion?: string
    generation?: number
    creationTimestamp?: string
    deletionTimestamp?: string
    deletionGracePeriodSeconds?: number
    labels?: Record<string, string>
    annotations?: Record<string, string>
    ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[]
    finalizers?: string[]
    managedFields?: unknown[]
    continue?: string
    remainingItemCount?: number
  }
  [field: string]: unknown
}

export type ApiList = ApiObject & { items: ApiObject[] }

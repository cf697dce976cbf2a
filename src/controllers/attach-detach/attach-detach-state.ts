import type { Counter } from '#base/metrics.ts'
import { NodeReports } from '#controllers/attach-detach/node-reports.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

/** What is remembered of a volume on a node. */
export type Note = {
  /** When it was first found to be wanted by nobody. */
  unwantedSinceMs?: number
  /** What the last event on its pods was about. */
  lastEvent?: string
}

/** What the loops share, and what they would tell or do twice without it. A restart may forget it all. */
export class AttachDetachState {
  readonly reports = new NodeReports()
  readonly forced: Counter
  /** Attachments that we have made for a volume and that the cache may not show yet: the node of each, and its version. */
  readonly made = new Map<string, { nodeName: string; version: string }>()
  readonly #notes = new Map<string, Map<string, Note>>()

  constructor(forced: Counter) {
    this.forced = forced
  }

  note(uniqueName: string, nodeName: string): Note {
    const notes = this.#notes.get(uniqueName) ?? new Map<string, Note>()
    this.#notes.set(uniqueName, notes)
    const note = notes.get(nodeName) ?? {}
    notes.set(nodeName, note)
    return note
  }

  /** Forgets what it knows of the volume on other nodes. */
  keepNotes(uniqueName: string, isConcerned: (nodeName: string) => boolean): void {
    const notes = this.#notes.get(uniqueName)
    for (const nodeName of notes?.keys() ?? []) {
      if (isConcerned(nodeName)) continue
      notes?.delete(nodeName)
      this.reports.restore(nodeName, uniqueName)
    }
    if (notes?.size === 0) this.#notes.delete(uniqueName)
  }
}

export type AttachDetachContext = ReconcileContext & { readonly state: AttachDetachState }

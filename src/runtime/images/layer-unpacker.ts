import { defined } from '#base/defined.ts'
import { startThread, type Thread } from '#base/worker.ts'
import type { UnpackOrder, UnpackReport } from '#runtime/images/unpack-thread.ts'

export type UnpackedLayer = { diffId: string; sizeBytes: number }

/** Unpacks layers on a thread of its own, which is there only while there is something to do. */
export class LayerUnpacker {
  readonly #waiting = new Map<number, PromiseWithResolvers<UnpackedLayer>>()
  #thread: Thread<UnpackOrder, UnpackReport> | undefined
  #count = 0

  async unpack(order: Omit<UnpackOrder, 'id'>): Promise<UnpackedLayer> {
    const id = this.#count++
    const waiting = Promise.withResolvers<UnpackedLayer>()
    this.#waiting.set(id, waiting)
    this.#thread ??= this.#start()
    this.#thread.post({ ...order, id })
    try {
      return await waiting.promise
    } finally {
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) {
        const thread = this.#thread
        this.#thread = undefined
        void thread?.stop()
      }
    }
  }

  #start(): Thread<UnpackOrder, UnpackReport> {
    const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'
    const thread = startThread<UnpackOrder, UnpackReport>(new URL(`./unpack-thread.${extension}`, import.meta.url))
    thread.onMessage((report) => {
      const waiting = this.#waiting.get(report.id)
      if ('error' in report) waiting?.reject(new Error(report.error))
      else waiting?.resolve(report)
    })
    thread.onExit((error) => {
      if (this.#thread !== thread) return
      this.#thread = undefined
      const failure = new Error('the thread that unpacks layers has ended', defined({ cause: error }))
      for (const waiting of this.#waiting.values()) waiting.reject(failure)
    })
    return thread
  }
}

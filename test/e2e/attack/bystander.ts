import { Worker } from 'node:worker_threads'
import type { RunningCluster } from '../../support/running-cluster.ts'

export type Waits = { samples: number[]; failures: number }

/** How long somebody else waits for a GET while the server is attacked. */
export class Bystander implements AsyncDisposable {
  readonly #worker: Worker

  constructor({ url, token }: Pick<RunningCluster, 'url' | 'token'>, path = '/api/v1/namespaces/default', everyMs = 10) {
    this.#worker = new Worker(new URL('./bystander-thread.ts', import.meta.url), { workerData: { url, token, path, everyMs } })
  }

  /** Milliseconds of each read since the last call. */
  waits(): Promise<Waits> {
    return new Promise((resolve) => {
      this.#worker.once('message', resolve)
      this.#worker.postMessage('tell')
    })
  }

  /** A server that is asked all the time does not give memory back. */
  pause(): void {
    this.#worker.postMessage('pause')
  }
  resume(): void {
    this.#worker.postMessage('resume')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate()
  }
}

export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

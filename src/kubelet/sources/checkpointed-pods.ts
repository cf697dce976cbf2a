/** Pods of the API that run again before the API answers, such as those that serve it: kept on the disk while they are bound here. */
import { join } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { PodListener, PodSource } from '#kubelet/sources/pod-source.ts'

const annotation = 'node.kubernetes.io/bootstrap-checkpoint'
const prefix = 'Pod_'
const suffix = '.yaml'

export class CheckpointedPods {
  readonly #directory: string
  readonly #files: Files
  readonly #logger: Logger
  readonly #written = new Map<string, string>()
  /** Those read of which the API has not been heard yet. */
  readonly #restored = new Map<string, V1Pod>()
  #last: Promise<void> = Promise.resolve()

  /** `--bootstrap-checkpoint-path`. */
  constructor(directory: string, { files, logger }: { files: Files; logger: Logger }) {
    this.#directory = directory
    this.#files = files
    this.#logger = logger
  }

  /** Those of an agent before this one. A file that makes no sense is told, and the others do not suffer. */
  async read(): Promise<V1Pod[]> {
    const found: V1Pod[] = []
    for (const name of await this.#files.list(this.#directory)) {
      if (!name.startsWith(prefix) || !name.endsWith(suffix)) continue
      const path = join(this.#directory, name)
      try {
        // JSON is YAML too.
        const pod = JSON.parse(await this.#files.readText(path)) as V1Pod
        if (!pod.metadata?.uid || !pod.spec?.containers) throw new Error('it holds no pod')
        found.push(pod)
        this.#restored.set(pod.metadata.uid, pod)
      } catch (error) {
        this.#logger.warn('failed to load pod checkpoint', { path, error: String(error) })
      }
    }
    return found
  }

  /** The same pods, of which those that ask for it are written down. Those that were read and are there no more are gone. */
  keeping(source: PodSource): PodSource {
    return {
      ...source,
      follow: (node, listener) => {
        const following = source.follow(node, this.#listener(listener))
        for (const pod of this.#restored.values()) {
          this.#forget(pod)
          listener.onPodGone(pod)
        }
        this.#restored.clear()
        return following
      },
    }
  }

  /** Resolves when everything is written. */
  settled(): Promise<void> {
    return this.#last
  }

  #listener({ onPod, onPodGone }: PodListener): PodListener {
    return {
      onPod: (pod) => {
        this.#keep(pod)
        onPod(pod)
      },
      onPodGone: (pod) => {
        if (this.#written.has(pod.metadata.uid ?? '')) this.#forget(pod)
        onPodGone(pod)
      },
    }
  }

  #forget({ metadata: { uid = '' } }: V1Pod): void {
    this.#written.delete(uid)
    this.#next(`remove pod checkpoint ${uid}`, () => this.#files.removeOne(this.#pathOf(uid)))
  }

  #keep(pod: V1Pod): void {
    const { uid = '', annotations = {}, managedFields: _, ...metadata } = pod.metadata
    this.#restored.delete(uid)
    if (annotations[annotation] !== 'true') return
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod, metadata: { ...metadata, uid, annotations } })
    if (this.#written.get(uid) === text) return
    this.#written.set(uid, text)
    this.#next(`write pod checkpoint ${uid}`, async () => {
      await this.#files.makeDirectory(this.#directory, { mode: 0o700 })
      await this.#files.write(this.#pathOf(uid), text, { mode: 0o600, survivesPowerCut: true })
    })
  }

  #pathOf(uid: string): string {
    return join(this.#directory, `${prefix}${uid}${suffix}`)
  }

  #next(what: string, act: () => Promise<void>): void {
    this.#last = this.#last.then(act).catch((error: unknown) => {
      this.#logger.warn(`failed to ${what}`, { error: String(error) })
    })
  }
}
